/* /proc/self/stat as it would be without our thread. */
#ifndef PP_OWN_STAT_H
#define PP_OWN_STAT_H

#include <stdio.h>

/* A stream of it, NULL if it cannot be made (the caller then opens the real one). Normal context. */
FILE *pp_open_own_stat(const char *mode);

#endif
