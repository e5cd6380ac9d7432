/* Debug information from the servers that the user has named in DEBUGINFOD_URLS. */
#ifndef PT_PROFILE_DEBUGINFOD_H
#define PT_PROFILE_DEBUGINFOD_H

#include "../profile/model.h"

/* Fetches into libdebuginfod's cache what is not on this machine, of modules in which much of the CPU time was burned;
 * without DEBUGINFOD_URLS nothing goes to the network. Shows the progress on a terminal. It is no error when there is
 * no such library or nobody has the file; when it takes too long, one line on stderr says so. */
void pt_debuginfod_fetch(const struct pt_profile *profile);

#endif
