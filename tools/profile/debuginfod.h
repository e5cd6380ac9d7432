/* Debug information from the servers that the user has named in DEBUGINFOD_URLS. */
#ifndef PP_PROFILE_DEBUGINFOD_H
#define PP_PROFILE_DEBUGINFOD_H

#include "model.h"

/* Fetches into libdebuginfod's cache what is not on this machine, of modules in which much of the CPU time was burned;
 * without DEBUGINFOD_URLS nothing goes to the network. Shows the progress on a terminal. It is no error when there is
 * no such library or nobody has the file; when it takes too long, one line on stderr says so. */
void pp_debuginfod_fetch(const struct pp_profile *profile);

#endif
