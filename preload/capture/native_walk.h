/*
 * The native walk: from a signal's context to the list of return addresses, by the unwind rows that flush/ compiled.
 * Everything here is async-signal-safe, takes no lock, allocates nothing and reads only the row tables and [SP - red
 * zone, stack_top); another stack than the thread's own by copies that the kernel makes.
 */
#ifndef PP_CAPTURE_NATIVE_WALK_H
#define PP_CAPTURE_NATIVE_WALK_H

#include "../common/log_format.h"
#include "unwind_table.h"
#include <stdalign.h>
#include <stdint.h>
#include <ucontext.h>

struct pp_native_frame {
    uintptr_t ip;  /* where to look names up: an interrupted pc or a signal's restorer; else return address - 1 */
    uintptr_t cfa; /* end of this frame, the next one's sp: it occupies [its sp, cfa), nothing if its end is unknown */
};

/* Rules that walks of one thread have found before. From one sample to the next most return addresses on its stack stay
 * the same, and at 100 samples per second nothing else of ours is in the processor's caches: one cache line per frame
 * instead of the five to ten that a search touches. Only one walk at a time may use it. */
#define PP_RULE_CACHE_SIZE 256 /* a power of two */
struct pp_rule_cache {
    uint32_t walked;           /* frames of the last walk, which are still in its pp_native_stack.frames */
    uint32_t range_generation; /* of the table in which `range` was found; 0: unused */
    struct pp_module_range *range;
    struct {
        alignas(64) uintptr_t address;
        uint32_t generation; /* of the table; 0: unused */
        struct pp_unwind_rule rule;
    } entries[PP_RULE_CACHE_SIZE];
};

struct pp_native_stack {
    struct pp_native_frame *frames; /* innermost first; the caller's memory, with a cache the same for all its walks */
    struct pp_rule_cache *cache;    /* the caller's, zeroed once; NULL: none */
    unsigned max, count;            /* where there are more than max, the outer ones are left out */
    uintptr_t stack_low;            /* the caller's: lowest address of the thread's own stack, 0 if that is not known */
    enum pp_reason reason;   /* NONE: the outermost frame was reached; else why it ended, what was found stays valid */
    uintptr_t frame_pointer; /* rbp in the code where it ended, 0 if unknown */
};

#define PP_MAX_FRAME_SIZE                                                                                              \
    ((uintptr_t)64 << 20)     /* no C function has more; a larger one is a wrong rule or a torn stack */
#define PP_STACK_TOP_MAX 8192 /* bytes above the outermost frame: thread descriptor and TLS, arguments */

/* Walks outward from the context of a signal. stack_top: first address above the thread's stack; max, frames, cache and
 * stack_low: set by the caller, the rest is the answer. async-signal-safe, reentrant; works on any thread. */
void pp_native_walk(const ucontext_t *context, uintptr_t stack_top, struct pp_native_stack *stack);

/* Goes on where a walk has ended early, from a frame that is known by other means: an address in its code that stands
 * at a call, and the frame's end. Appends that frame and those further out. The same contract. */
void pp_native_resume(uintptr_t ip, uintptr_t cfa, uintptr_t stack_top, struct pp_native_stack *stack);

/* The same from a frame that ends right above the return address at frame_pointer + 8 (push %rbp; mov %rsp, %rbp). */
void pp_native_resume_at_frame_pointer(uintptr_t ip, uintptr_t stack_top, struct pp_native_stack *stack);
#endif
