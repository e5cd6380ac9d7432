/* Whether and when to profile. */
#ifndef PP_START_H
#define PP_START_H

#include <stdint.h>

/* The process as our constructor, or the child's atfork handler, found it. */
struct pp_birth {
    uint64_t unix_ns, monotonic_ns;
    uint64_t process_cpu_ns; /* burned before us: by what exec replaced, and by the loader */
    uint64_t thread_cpu_ns;  /* of the thread that ran the constructor */
    uintptr_t main_stack_top;
    char python_version[16]; /* "" when unknown */
};

extern struct pp_birth pp_birth;

/* Starts profiling if this process holds a Python and it is not yet profiled. Normal context, any thread; cheap when
 * there is nothing to do. */
void pp_start(void);

#endif
