/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native walk: from a signal's context to the list of return addresses, by the unwind rows that unwind/ compiles.
 * Everything here is async-signal-safe, takes no lock, allocates nothing and reads only the row tables and [SP - red
 * zone, stack_top); a stack other than the thread's own is read through kernel copies.
 */
#ifndef PP_CAPTURE_NATIVE_WALK_H
#define PP_CAPTURE_NATIVE_WALK_H

#include "../common/log_format.h"
#include "native_links.h"
#include "unwind_table.h"
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* In place of an address that belonged to another module than now: no module and no JIT has code there. */
#define PP_UNLOADED_CODE 1u

struct pp_native_frame {
    uintptr_t ip;  /* the address to symbolize: an interrupted pc, a signal's restorer, else the return address - 1 */
    uintptr_t cfa; /* end of this frame and sp of its caller: the frame is [its sp, cfa), empty if its end is unknown */
};

/* Rows in which code was interrupted last: mostly some loops. */
#define PP_RECENT_ROWS 8
struct pp_recent_rows {
    uint32_t generation; /* of the table */
    uint32_t next;       /* to be replaced */
    uint32_t range;      /* index in the table, of the last row that was searched */
    struct {
        uintptr_t start, size; /* size 0: unused */
    } places[PP_RECENT_ROWS];
    struct pp_unwind_rule rules[PP_RECENT_ROWS];
};

/* Rules that earlier walks have found. Most return addresses on a stack stay the same between samples, and at 100
 * samples per second none of our other data stays in the CPU's caches: a hit touches one cache line, a search five to
 * ten. Only one walk at a time may use it. */
#define PP_RULE_CACHE_SIZE 256 /* a power of two */
struct pp_rule_cache {
    uint32_t walked; /* frames of the last walk before it joined the one before it; still in pp_native_stack.frames */
    struct pp_recent_rows recent;
    struct pp_native_links last;
    struct {
        alignas(64) uintptr_t address;
        uint32_t generation; /* of the table; 0: unused */
        struct pp_unwind_rule rule;
    } entries[PP_RULE_CACHE_SIZE];
};

/* Where a walk is. */
struct pp_walk_state {
    uintptr_t registers[PP_REG_COUNT];
    uintptr_t pc;
    uintptr_t thread_low, thread_top; /* the thread's own stack; thread_low 0: its lower end is unknown */
    uintptr_t low, top;               /* bounds of what may be read */
    uint32_t valid;                   /* registers whose values are known, bits by DWARF number */
    bool exact;                       /* pc is the interrupted instruction; else a return address, after its call */
    bool interrupted;                 /* caller-saved registers still have the values of the interrupted code */
    bool readable;                    /* there is something to read between low and top */
    bool replaced;                    /* pc is in code of another module than the one that is known there */
    /* sp is on a stack other than the thread's own (a coroutine's, Go's, a signal stack). The end of that stack is
     * unknown, and memory above it may be unmapped at any moment. */
    bool other_stack;
};

/* A part of a stack, as it was. */
struct pp_stack_copy {
    uintptr_t start;
    size_t size;
    const uint8_t *bytes; /* 8-aligned as start is */
    bool exceeded;        /* set when more was wanted */
};

struct pp_native_stack {
    struct pp_native_frame *frames; /* innermost first; the caller's memory, always the same array with one cache */
    struct pp_rule_cache *cache;    /* the caller's, zeroed once; NULL: no cache */
    struct pp_walk_state *stopped;  /* the caller's; NULL: walks are not continued */
    bool modules_checked;           /* walks that end outside all modules are not continued: it is a JIT's code */
    /* What pp_native_continue walks by, NULL otherwise: handlers use the published table and the stack itself. */
    const struct pp_module_table *table;
    struct pp_module_time time; /* of the sample */
    bool settled;               /* nothing was unloaded since: all modules of the table hold */
    struct pp_stack_copy *copy;
    unsigned max, count;     /* of a stack deeper than max the outer frames are left out */
    uintptr_t stack_low;     /* set by the caller: lowest address of the thread's own stack, 0 if unknown */
    enum pp_reason reason;   /* NONE: the outermost frame was reached; else why the walk ended early */
    bool continuable;        /* it ended for want of rows or of a module, and *stopped is its state */
    uintptr_t frame_pointer; /* where the walk ended, 0 if unknown */
};

#define PP_MAX_FRAME_SIZE                                                                                              \
    ((uintptr_t)64 << 20)     /* no C function has a larger frame: a larger one is a wrong rule or a torn stack */
#define PP_STACK_NEAR    8192 /* bytes above sp that are read directly: list.sort's frame is larger than a page */
#define PP_STACK_TOP_MAX 8192 /* bytes above the outermost frame: thread descriptor and TLS, arguments */

/* Walks outward from the context of a signal. stack_top: first address above the thread's stack. The caller sets max,
 * frames, cache and stack_low; the walk sets the rest. async-signal-safe, reentrant; works on any thread. */
void pp_native_walk(const ucontext_t *registers, uintptr_t stack_top, struct pp_native_stack *stack);

/* Continues a walk that is continuable, by `table` and on `copy`. Flush thread. */
void pp_native_continue(struct pp_native_stack *stack);

/* Whether a frame at this address has saved its caller's frame pointer, as far as the rows say. async-signal-safe. */
bool pp_native_saves_frame_pointer(const struct pp_native_stack *stack, uintptr_t ip);

/* Reads the stack, or the copy; false if not all of it can be. async-signal-safe. */
bool pp_native_read(const struct pp_native_stack *stack, void *to, uintptr_t from, size_t size);

/* Resumes a walk that ended early, at a frame known by other means: by its CFA and `ip`, an address at a call in its
 * code. Appends that frame and its callers. async-signal-safe, reentrant. */
void pp_native_resume(uintptr_t ip, uintptr_t cfa, uintptr_t stack_top, struct pp_native_stack *stack);

/* Does what pp_native_resume does, at a frame whose frame pointer leads to its caller's, with the return address
 * after it. */
void pp_native_resume_at_frame_pointer(uintptr_t ip, uintptr_t stack_top, struct pp_native_stack *stack);
#endif
