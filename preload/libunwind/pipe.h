/* The pipe by which libunwind tries whether memory can be read. */
#ifndef PP_LIBUNWIND_PIPE_H
#define PP_LIBUNWIND_PIPE_H

#include "../capture/libunwind_walk.h"
#include <stdbool.h>

/* Before anything of libunwind's is called: which descriptors there are. */
void pp_libunwind_pipe_before(void);

/* After it has tried memory: sets the pipe's members. function: one of libunwind's. False: it has no pipe, or keeps it
 * where we do not see it, or another thread has opened pipes meanwhile. */
bool pp_libunwind_pipe_find(struct pp_libunwind *library, uintptr_t function);

#endif
