/* SPDX-License-Identifier: Apache-2.0 */
/* A slot holds all that we keep for a thread of the host. Slots are numbered, mapped at first use, used again after
 * their thread has ended, and never unmapped: a signal that was queued for a thread may be delivered late.
 *
 * Life:
 *            claimed for a thread        armed                   the thread ends, or
 *            (pp_slot_claim)             (pp_thread_arm)         the scan misses its tid
 *      FREE ------------------> CLAIMED -----------------> LIVE ----------------------> ENDED
 *        ^                         |                                                      |
 *        +-------------------------+------------------------------------------------------+
 *            the thread was not made       the flush thread has drained the ring and written the sums
 *
 * In the child of fork all become FREE, but not the CLAIMED: a signal handler may have forked in the middle of
 * pthread_create, or in a thread before it has begun, and the child comes back to that.
 *
 * Owners, of struct pp_slot from top to bottom:
 *      state, tid, timer   changed as the life says, read by all
 *      thread              written by the thread and its handler      | zeroed for the next thread
 *      flush               the flush thread's                         |
 *      ring                from the handler to the flush thread       | mapped by the first handler,
 *      codes               the handler's cache of code objects        | kept for the next thread
 *      scratch             lent to a handler while it runs
 *      cost                of the handlers of all threads that the slot had */
#ifndef PP_CAPTURE_SLOT_H
#define PP_CAPTURE_SLOT_H

#include "../common/log_format.h"
#include "frame_rules.h"
#include "libunwind_walk.h"
#include "native_walk.h"
#include "objects.h"
#include "python.h"
#include "ring.h"
#include <stdbool.h>
#include <sys/uio.h>

#define PP_MAX_NATIVE_FRAMES 448
#define PP_OUTER_NATIVE      64 /* of these, of a stack that is deeper: beyond an eval frame that is known otherwise */
#define PP_MAX_PYTHON_FRAMES 512
/* Frames that a walk goes over, what takes longer counted more often. More than the recursion limit of Python. */
#define PP_MAX_STEPS        1200
#define PP_MAX_RUNS         (PP_MAX_STEPS + 2)
#define PP_MAX_INNER_RUNS   128  /* of all interpreters of a thread, where it runs several */
#define PP_FRAMES_WINDOW    4096 /* bytes of a data stack, some 40 frames, that are copied at once */
#define PP_CODE_WAYS        4
#define PP_CODE_BATCH       16  /* code objects copied by one system call */
#define PP_CODE_COPY_MAX    256 /* bytes of one */
#define PP_DIGEST_TEXT_MAX  64  /* bytes of a name */
#define PP_DIGEST_TABLE_MAX 64  /* bytes of a line table */
#define PP_DIGEST_COPY_MAX  (40 + PP_DIGEST_TEXT_MAX + PP_DIGEST_TABLE_MAX)
#define PP_CODE_READ_MAX    48

#define PP_WAITING_FUNCTIONS 7 /* context/awaiters.c's: callbacks that it knows */

#define PP_THREAD_NAME_MAX 128 /* bytes, a NUL included */

#define PP_HANDLER_STACK 2048 /* bytes that the handler may take of a stack beside the kernel's part */
#define PP_LAST_STACKS   8    /* kept of a thread: what it uses after its last sample is credited to them */

/* What is known of the GIL when a sample is not selected. */
#define PP_NOT_SELECTED_STATES 4u
static inline unsigned pp_not_selected_index(uint32_t state)
{
    return (state & PP_STATE_HOLDS_GIL ? 1 : 0) | (state & PP_STATE_GIL_KNOWN ? 2 : 0);
}

/* Where a sample is in the log's current segment: its call tree node and label set; and what it weighs. */
struct pp_leaf {
    uint32_t node, labels;
    uint64_t weight_ns;
};

/* Marks what an ordinary sample does not run: kept apart from the code that it does run, most of which is in none of
 * the CPU's caches when a tick comes. */
#define PP_RARE __attribute__((cold, noinline))

enum pp_slot_state {
    PP_SLOT_FREE,
    PP_SLOT_CLAIMED,
    PP_SLOT_LIVE,
    PP_SLOT_ENDED,
};

/* The life of a slot's timer (threads/timers.h). The kernel's id, 0 or more, while it is armed. */
enum pp_timer_life {
    PP_TIMER_NONE = -1, /* not made yet, or it could not be: the watchdog tries again */
    /* No timer is made from here on: */
    PP_TIMER_ENDED = -2,       /* the thread ends */
    PP_TIMER_UNREACHABLE = -3, /* it blocks our signal past libc, or its system calls are dispatched to itself */
    PP_TIMER_SMALL_STACK = -4, /* the thread has no room for a signal */
};

/* What is known of the end of a slot's thread, when the slot has ENDED. */
enum pp_ended {
    PP_ENDED_REPORTED, /* the thread has reported its end (pp_thread_end) */
    PP_ENDED_LINGERS,  /* and runs its last destructors: it may use more CPU */
    PP_ENDED_VANISHED, /* the thread is gone, and what it used since its clock was last read is not known */
    PP_ENDED_WHOLE,    /* no clock will show more of it */
};

/* A set takes the next unused entry for each of its ways when it first needs it: entries in use lie together. */
struct pp_code_set {
    uint16_t entries[PP_CODE_WAYS]; /* 1 and more; 0: none yet */
    uint16_t next_way;
};

struct pp_code_entry {
    uintptr_t code; /* 0: entry unused */
    /* Of all by which it differs from another code object at the same address, and from itself after a change. */
    uint64_t digest;
    uint32_t used;  /* by which sample last */
    uint32_t units; /* of its code */
    struct pp_frame_role role;
};

struct pp_python_frame {
    uintptr_t code; /* 0: frames are left out here */
    uintptr_t instr;
    uintptr_t address;
};

/* Python frames that one native frame runs. */
struct pp_run {
    uintptr_t marker; /* address on the C stack that lies inside that native frame */
    uint32_t frames;
};

/* The handler's working memory: too large for a thread's stack (16 KiB is legal). */
struct pp_scratch {
    uintptr_t pc; /* where the signal hit */
    uint8_t code_copies[PP_CODE_BATCH][PP_CODE_COPY_MAX];
    _Alignas(8) uint8_t thread_state[PP_THREAD_STATE_MAX];
    /* code_cache.c's, of types of its own */
    _Alignas(8) uint8_t digest_copies[PP_CODE_BATCH][PP_DIGEST_COPY_MAX];
    _Alignas(8) uint8_t codes_read[PP_CODE_BATCH][PP_CODE_READ_MAX];
    struct iovec copies_to[2 * PP_CODE_BATCH], copies_from[2 * PP_CODE_BATCH];
    struct pp_rule_cache rules; /* lives from sample to sample */
    _Alignas(8) uint8_t frames_window[PP_FRAMES_WINDOW];
    uint8_t context_text[PP_CONTEXT_TEXT_MAX], endpoint[PP_CONTEXT_TEXT_MAX];
    uintptr_t awaiters[PP_MAX_AWAITERS]; /* the tasks that await the sample's task, each the one before it */
    uint32_t awaiter_count;
    uint16_t context_reasons;              /* as in the sample's record, so far */
    uintptr_t suspended[PP_MAX_SUSPENDED]; /* context/suspended.c's */
    struct pp_python_frame awaiting[PP_MAX_AWAITING];
    struct pp_record_frame awaiting_resolved[PP_MAX_AWAITING];
    uintptr_t task; /* that the interpreter says it runs */
    struct pp_native_frame native[PP_MAX_NATIVE_FRAMES];
    uint64_t libunwind_cursor[PP_LIBUNWIND_CURSOR_WORDS];
    struct pp_python_frame python[PP_MAX_STEPS + 2];
    struct pp_record_frame resolved[PP_MAX_PYTHON_FRAMES];
    struct pp_run runs[PP_MAX_RUNS], inner_runs[PP_MAX_INNER_RUNS];
    struct pp_walk_state stopped;
    struct pp_object_copies copies;
};

/* Where a step of a source (frameworks/sources.h) found its attribute last. */
struct pp_learnt_step {
    uint16_t owner; /* the step that has this place, by its number from 1 on; 0: none */
    struct pp_attribute attribute;
};
#define PP_LEARNT_STEPS 94 /* attributes of today's rows share no places (tests/unit/test_sources.c) */
_Static_assert(PP_LEARNT_STEPS >= PP_WAY_STEPS, "the steps of a source do not share places");

/* Where sources of contexts found their attributes last. */
struct pp_learnt_attributes {
    struct pp_learnt_step steps[PP_LEARNT_STEPS];
    struct pp_attribute task_name, task_coroutine; /* of asyncio's that are made of Python */
    struct pp_attribute trio_parent;               /* of its nurseries */
    uintptr_t no_wrapper; /* context/suspended.c's: a type of awaitables that await nothing themselves */
    struct pp_attribute route_path, fastapi_path, fastapi_original, uvicorn_scope;
    struct pp_attribute scope_type, scope_root, scope_app_root, scope_route, scope_fastapi, fastapi_router,
        fastapi_context; /* keys */
};

/* How often signals have come in each eighth of the time between two of the kernel's ticks. */
#define PP_TICK_PHASES 8u
struct pp_tick_phases {
    uint16_t counts[PP_TICK_PHASES];
    uint16_t all;
};

/* What a slot keeps of its thread alone: zeroed for the next thread. */
struct pp_slot_thread {
    /* Written while the slot is CLAIMED, constant from then on. */
    uint64_t start_unix_ns;
    uintptr_t thread_pointer; /* 0: no TLS of its own known, so no Python */
    void *(*start_routine)(void *);
    void *start_argument;
    size_t stack_size; /* that its attributes ask for, 0: unknown */
    bool is_main;
    bool scanned; /* found by a scan, or made by a bare clone: its first signal finds thread_pointer */

    /* Bounds of the stack; 0: unknown, the flush thread finds them when the handler asks. low is written first. What
     * lies between the stack pointer and top is taken to be mapped within two pages of a frame that was found
     * (native_walk.c, load). */
    _Atomic uintptr_t stack_low, stack_top;

    /* Of its perf event (threads/perf_clock.h): the period that is set, 0: it has none; what a signal of it represents,
     * more than that before the first; and the thread's CPU clock when it began. */
    _Atomic uint64_t event_period_ns, event_due_ns, event_begun_ns;
    _Atomic bool asked_for_event; /* the thread is to get an event, or its event another period */

    /* The thread's own: the signal that is kept out of its mask, and whether it believes to block that signal
     * (interpose/sigmask.c). */
    _Atomic int profiler_signal;
    _Atomic bool believes_blocked;
    /* Under the lock of threads/signal.c: the former signal by which the thread was asked to follow; 0: it was not. */
    int asked_to_follow;

    /* The thread's own at its end; valid when ENDED. */
    _Atomic uint64_t final_cpu_ns; /* its CPU clock */
    char final_name[16];
    uint8_t end_rounds; /* how often its end handler has been put off */
    bool pushed_off;    /* other threads have kept it from its CPU */

    /* The handler's; others only read. */
    _Atomic uint64_t cpu_end_ns; /* the thread's CPU clock when its last handler ended */
    _Atomic uint64_t profiler_ns, lost_ns;
    _Atomic uint32_t lost_samples;
    /* Of the samples that PYPROF_TRACES does not select; by pp_not_selected_index of their states. */
    struct pp_not_selected {
        _Atomic uint64_t cpu_ns, samples;
    } not_selected[PP_NOT_SELECTED_STATES];
    uint64_t event_ns;                  /* the thread's CPU clock at the last signal of its event; */
    uint64_t event_profiler_ns;         /* profiler_ns at that signal */
    uint64_t event_signals;             /* signals of its event so far */
    int64_t kernel_ns;                  /* CPU time up to event_ns that the kernel had and no sample represents */
    struct pp_tick_phases phases;       /* of the signals of its event */
    uint64_t tick_ns, tick_due_ns;      /* the last tick that counted as a sample of the kernel, and the next */
    uint64_t system_ns;                 /* ticks in the kernel, when its timer signalled last */
    _Atomic uintptr_t unknown_stack_sp; /* asks the flush thread for stack_top */
    /* When they were counted last; and the thread's CPU clock then. */
    uint64_t voluntary_switches, involuntary_switches, counted_cpu_ns;
    uint64_t event_switches_ns;                            /* what its event has cost the thread in switches so far */
    struct pp_tls_block interpreter_block, greenlet_block; /* of their modules that are loaded late */
    uintptr_t lent_thread_state, lent_by; /* a thread state that ran here and that another thread had made; which */
    _Atomic uint32_t ran_python;          /* it has had a thread state */
    /* Its PyInterpreterState, which may be gone, and the interpreter of that state; 0: no Python stack was read yet. */
    _Atomic uintptr_t interpreter_state;
    const struct pp_python *_Atomic python;
    _Atomic uintptr_t thread_state;      /* its PyThreadState of interpreter_state, which may be gone */
    uint64_t contexts[PP_CONTEXT_KINDS]; /* digests of the last contexts in the ring; 0: none */
    struct pp_attribute name_attribute;  /* of the last threading.Thread */
    struct pp_attribute loop_attribute;  /* of the thread state's dict: asyncio's running loop */
    struct pp_learnt_awaiters {
        struct pp_attribute parent_task, cancel_scope, host_task, work_future, done_callbacks, callbacks, done, getters;
        uint8_t cells[PP_WAITING_FUNCTIONS]; /* of such a function: the variable that leads to a task */
    } awaiters;                              /* context/awaiters.c's */
    struct pp_learnt_attributes learnt;
    /* What the thread has set by pyprof_labels. It writes the text while the length is 0. */
    struct pp_thread_labels {
        _Atomic uint32_t length;
        bool cut, were_set;
        char text[PP_CONTEXT_TEXT_MAX];
    } labels;
    bool ran_tasks;       /* as far as context/thread_context.c has seen */
    bool context_checked; /* the thread's Context has been found where it is expected */
    bool recalls;         /* slot->recalls are of this thread */
};

/* What the flush thread keeps of a slot's thread: zeroed for the next thread. Its clocks are first set by the thread
 * that makes the slot LIVE. */
struct pp_slot_flush {
    uint32_t log_thread; /* id in the current segment, 0: not yet written */
    uint32_t log_segment;
    uint64_t before_ns;    /* of the thread's CPU clock, used before profiling: outside the sums */
    uint64_t accounted_ns; /* of the thread's CPU clock, handed out to samples, losses and the profiler's cost */
    uint64_t clock_ns;     /* of the thread, at the last flush; */
    uint64_t clock_at_ns;  /* CLOCK_MONOTONIC of that, of the thread's start before */
    uint64_t watched_ns;   /* clock_ns when the watchdog checked the timer last */
    uint32_t renewals;     /* of the timer, since the last sample */
    bool unreachable;      /* no signal of ours reaches it: counted, and a warning given */
    enum pp_ended ended;
    uint64_t mean_late_ns; /* from its timer's expiry to its samples, the last ones counting most */
    uint64_t seen_profiler_ns, seen_lost_ns, seen_switches_ns;
    uint32_t seen_lost_samples;
    struct {
        uint64_t cpu_ns, samples;
    } seen_not_selected[PP_NOT_SELECTED_STATES]; /* flush/not_selected.c's */
    uint64_t traces_pause_end_ns;                /* of the thread's CPU clock: traces_pause ended last */
    uint64_t closed_ns; /* of the thread's CPU clock: handed out by pp_drain_rest, whatever a later sample says */
    /* labels/thread_names.c's: the name that log_thread has, a string of log_segment, and its source */
    uint32_t log_name, name_source, name_age;
    uint32_t log_named;                    /* id of the name below, 0: not found yet */
    uint64_t name_identity;                /* of the last thread that a handler has read, */
    bool several_names;                    /* and whether there were others */
    struct pp_leaf leaves[PP_LAST_STACKS]; /* of its last samples, in log_segment: a ring */
    uint32_t leaf_count;                   /* put into it so far */
    /* labels/contexts.c's: bits of the kinds that the thread is in at this place of the ring; the label set of those of
     * them that a sample knows, in that segment. */
    uint32_t contexts, labels_known, labels_segment, labels;
    /* Names that a handler has read, UTF-8; "": none. The last one, and the first one, by which the thread is named in
     * all segments. */
    char name[PP_THREAD_NAME_MAX], stack_name[PP_THREAD_NAME_MAX];
};

struct pp_slot {
    uint32_t index; /* constant */

    /* Read by any thread at any time. */
    _Atomic uint32_t state; /* enum pp_slot_state: changed as the life above says */
    _Atomic int tid;        /* written while the slot is CLAIMED */
    _Atomic int timer;      /* the kernel's id, or enum pp_timer_life: changed as threads/timers.h says */
    _Atomic uint32_t in_handler;

    struct pp_slot_thread thread;
    struct pp_slot_flush flush;
    /* labels/contexts.c's, kept for every thread of the slot; NULL: not needed so far */
    struct pp_context_texts *texts;
    struct pp_awaiting *awaiting; /* a part of these */
    uint64_t timer_period_ns;     /* that the timer was set to: of the thread that sets it */

    /* Mapped by the first handler of the slot (slot_memory.h), kept for every thread that the slot will have. */
    struct pp_ring ring;
    uint32_t code_set_count;
    struct pp_code_set *code_sets;
    struct pp_code_entry *codes; /* PP_CODE_WAYS for each set */
    uint32_t *code_numbers;      /* the flush thread's: its number of each entry, 0: none; pp_slot_code_numbers() */

    /* The handler's. */
    struct pp_scratch *scratch;              /* while it runs, */
    uint32_t scratch_index;                  /* and which of them */
    struct pp_recalls *recalls;              /* context/recall.c's; NULL: not needed so far */
    uint32_t code_epoch, code_ended_pythons; /* pp_capture's, when the codes were cleared */
    uint64_t code_interpreter;               /* code_cache.c's: the number of the interpreter of this sample */
    uint32_t codes_used;                     /* entries that sets have taken */
    uint32_t code_sample;                    /* counts samples: what an entry is in use by */

    /* The cost of handlers, summed over all threads that the slot had. The handler's. */
    struct pp_slot_cost {
        _Atomic uint64_t count, sum_ns, max_ns;
        _Atomic uint64_t reviewed_ns; /* the flush thread's: sum_ns when it reviewed the cost last */
        _Atomic uint32_t histogram[PP_HANDLER_BUCKETS];
    } cost;
};

/* Whether the life of a slot may go on from one state to the other, except in the child of fork. */
static inline bool pp_slot_may_become(uint32_t from, uint32_t to)
{
    return to == PP_SLOT_FREE      ? from == PP_SLOT_CLAIMED || from == PP_SLOT_ENDED
           : to == PP_SLOT_CLAIMED ? from == PP_SLOT_FREE
           : to == PP_SLOT_LIVE    ? from == PP_SLOT_CLAIMED
                                   : from == PP_SLOT_LIVE;
}

static inline void pp_slot_become(struct pp_slot *slot, enum pp_slot_state state)
{
    PP_CHECK(pp_slot_may_become(atomic_load(&slot->state), state));
    atomic_store(&slot->state, state);
}

static inline uint32_t pp_slot_code_entries(const struct pp_slot *slot)
{
    return slot->code_set_count * PP_CODE_WAYS;
}

/* Returns what is known of the function of a frame that was resolved to this entry. async-signal-safe. */
static inline struct pp_frame_role pp_slot_role(const struct pp_slot *slot, uint32_t entry)
{
    return entry < pp_slot_code_entries(slot) ? slot->codes[entry].role
                                              : (struct pp_frame_role){PP_FRAME_ANY, PP_NO_LOCAL, PP_NO_LOCAL};
}

/* Numbers in samples: the cache's entries, then those for code objects that found their whole set in use by the same
 * sample; these are defined again each time. */
static inline uint32_t pp_slot_code_numbers(const struct pp_slot *slot)
{
    return slot->code_set_count ? pp_slot_code_entries(slot) + PP_MAX_PYTHON_FRAMES : 0;
}

/* In the sigval of our timers: the application may have timers on the same signal. */
#define PP_SIGVAL_MAGIC 0x70797072u
/* In the sigval of a signal that asks a thread to follow our signal, which has changed (threads/signal.c). */
#define PP_SIGVAL_FOLLOW 0x70797073u
static inline uint64_t pp_slot_sigval(uint32_t index)
{
    return (uint64_t)PP_SIGVAL_MAGIC << 32 | index;
}

#endif
