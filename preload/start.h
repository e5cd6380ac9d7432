/* Whether and when to profile. */
#ifndef PP_START_H
#define PP_START_H

#include <stdint.h>

/* The process as it was when Python appeared, or in the child's atfork handler. */
struct pp_process_start {
    uint64_t unix_ns, monotonic_ns;
    uint64_t process_cpu_ns; /* used before: by what exec replaced, by the loader, by a program without Python */
    uint64_t thread_cpu_ns;  /* of the thread in which Python appeared, read along with it */
    /* Of the pid, before Python appeared: exec does not reset them. */
    uint64_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
    uintptr_t main_stack_low, main_stack_top; /* as far down as the kernel keeps other mappings away */
    char python_version[16]; /* of the first interpreter that can be read, else of the first; "" when unknown */
};

extern struct pp_process_start pp_process_start;

/* Looks for interpreters that were not there before: with the first one profiling starts, the others are added. To be
 * called by the code of one that starts, `code` being an address in it. Normal context, any thread; cheap when nothing
 * was loaded since. */
void pp_start(uintptr_t code);

/* The same at any other moment: libraries that are loaded, but not used as interpreters, are passed over. */
void pp_start_if_initialized(void);

#endif
