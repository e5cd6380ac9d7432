/* The names of code that belongs to no module, by perf_map.h and gdb_jit.h. What has no other time is the flush
 * thread's. */
#ifndef PP_MODULES_JIT_CODE_H
#define PP_MODULES_JIT_CODE_H

#include <stddef.h>
#include <stdint.h>

struct pp_jit_name {
    const char *text; /* UTF-8 without control characters, not NUL-terminated; lives until the next call */
    size_t length;
    uintptr_t start; /* of the code */
};

/* When Python appears, before it makes code: a map that is there for this pid is a dead process'. */
void pp_jit_code_skip_older(void);

/* Before samples are taken out of the rings: what JITs say now is what held when the samples were taken. Costs nothing
 * until an address is asked for. */
void pp_jit_code_begin(void);

enum pp_jit_result {
    PP_JIT_UNKNOWN,
    PP_JIT_CHANGED, /* some JIT's, but whose it was when the samples were taken cannot be told */
    PP_JIT_NAMED,
};

/* What the code at the address was when the samples since the last but one pp_jit_code_begin were taken. *name: when it
 * is NAMED. */
enum pp_jit_result pp_jit_code_find(uintptr_t address, struct pp_jit_name *name);

/* In the child of fork: the code is still there. */
void pp_jit_code_after_fork(void);

/* CPU time that looks have taken so far: it depends on the JIT, not on the samples. */
uint64_t pp_jit_code_refresh_ns(void);

#endif
