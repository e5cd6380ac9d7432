/*
 * A slot: all that we keep for one thread of the host. Slots are numbered, mapped at first use, used again after their
 * thread has ended, and never unmapped: a signal that was queued for a thread may be delivered late.
 *
 * Life: FREE -> (claimed: creator of the thread, or the scan) CLAIMED -> (armed) LIVE -> (thread's end, or the scan
 * misses its tid) ENDED -> (the flush thread has drained the ring and written the sums) FREE.
 */
#ifndef PP_CAPTURE_SLOT_H
#define PP_CAPTURE_SLOT_H

#include "../common/log_format.h"
#include "libunwind_walk.h"
#include "native_walk.h"
#include "python_layout.h"
#include "ring.h"
#include <stdbool.h>
#include <sys/uio.h>

#define PP_MAX_NATIVE_FRAMES 448
#define PP_OUTER_NATIVE      64 /* of these, of a stack that is deeper: beyond an eval frame that is known otherwise */
#define PP_MAX_PYTHON_FRAMES 512
/* Frames that a walk goes over, what takes longer counted more often. More than the recursion limit of Python. */
#define PP_MAX_STEPS       1200
#define PP_MAX_RUNS        (PP_MAX_STEPS + 2)
#define PP_FRAMES_WINDOW   4096 /* bytes of a data stack, some 40 frames, that are copied at once */
#define PP_CODE_WAYS       4
#define PP_CODE_BATCH      16  /* code objects copied by one system call */
#define PP_CODE_COPY_MAX   256 /* bytes of one */
#define PP_DIGEST_TEXT_MAX 64  /* bytes of a name */
#define PP_DIGEST_COPY_MAX (48 + PP_DIGEST_TEXT_MAX)
#define PP_CODE_READ_MAX   48

#define PP_HANDLER_STACK 2048 /* bytes that the handler may take of a stack beside the kernel's part */
#define PP_LAST_STACKS   8    /* kept of a thread: what it uses after its last sample is credited to them */

enum pp_slot_state {
    PP_SLOT_FREE,
    PP_SLOT_CLAIMED,
    PP_SLOT_LIVE,
    PP_SLOT_ENDED,
};

struct pp_code_entry {
    uintptr_t code; /* 0: entry unused */
    /* Of all that tells it from another at the same address, and from the same one after a change. */
    uint64_t digest;
    uint32_t used; /* by which sample last */
};

struct pp_python_frame {
    uintptr_t code; /* 0: frames are left out here */
    uintptr_t instr;
};

/* The handler's working memory: too large for a thread's stack (16 KiB is legal). */
struct pp_scratch {
    uint8_t code_copies[PP_CODE_BATCH][PP_CODE_COPY_MAX];
    _Alignas(8) uint8_t thread_state[PP_THREAD_STATE_MAX];
    /* code_cache.c's, of types of its own */
    _Alignas(8) uint8_t digest_copies[PP_CODE_BATCH][PP_DIGEST_COPY_MAX];
    _Alignas(8) uint8_t codes_read[PP_CODE_BATCH][PP_CODE_READ_MAX];
    struct iovec copies_to[2 * PP_CODE_BATCH], copies_from[2 * PP_CODE_BATCH];
    struct pp_rule_cache rules; /* lives from sample to sample */
    _Alignas(8) uint8_t frames_window[PP_FRAMES_WINDOW];
    struct pp_native_frame native[PP_MAX_NATIVE_FRAMES];
    uint32_t native_frames; /* that the native walk has found */
    uint64_t libunwind_cursor[PP_LIBUNWIND_CURSOR_WORDS];
    struct pp_python_frame python[PP_MAX_STEPS + 2];
    struct pp_record_frame resolved[PP_MAX_PYTHON_FRAMES];
    struct {
        uintptr_t marker; /* address on the C stack that lies inside the native frame of the run */
        uint32_t frames;
    } runs[PP_MAX_RUNS];
};

struct pp_slot {
    /* Constant since the slot was mapped. */
    uint32_t index;
    /* Of the first thread of the slot that has a sample (slot_memory.h): no buffer before. */
    struct pp_ring ring;
    uint32_t code_sets;
    struct pp_code_entry *codes; /* PP_CODE_WAYS for each set */
    uint8_t *code_next_way;      /* one for each set */
    /* The handler's while it runs, and which of them. */
    struct pp_scratch *scratch;
    uint32_t scratch_index;

    /* Written while the slot is CLAIMED (before its timer exists), then constant for that thread. */
    _Atomic int tid;
    uintptr_t thread_pointer; /* pthread_self(), 0: no TLS of its own known, so no Python */
    /* The thread's own stack; 0: unknown, the flush thread looks it up then. low is written first. What lies between
     * the stack pointer and top is taken to be mapped within two pages of a frame that was found (native_walk.c, load).
     */
    _Atomic uintptr_t stack_low, stack_top;
    bool is_main;
    /* The thread's own (interpose/sigmask.c): the signal that is kept out of its mask, and whether it believes to block
     * it.
     */
    _Atomic int own_signal;
    _Atomic bool believes_blocked;
    _Atomic bool never_armed; /* a signal would do harm in it, or never come; */
    bool small_stack;         /* the former, for want of stack */
    bool scanned; /* found by a scan, made by whoever: thread_pointer is looked up when its first signal comes */
    uint64_t start_unix_ns;
    void *(*start_routine)(void *);
    void *start_argument;
    size_t stack_size; /* that its attributes ask for, 0: unknown */

    /* The handler's; others only read. */
    _Atomic uint32_t in_handler;
    _Atomic uint64_t cpu_end_ns; /* the thread's CPU clock when its last handler ended */
    _Atomic uint64_t own_ns, lost_ns;
    _Atomic uint32_t lost_samples;
    _Atomic uintptr_t unknown_stack_sp; /* asks the flush thread for stack_top */
    /* At its last overdue sample; and the thread's CPU clock then. */
    uint64_t voluntary_switches, involuntary_switches, counted_cpu_ns;
    uintptr_t lent_thread_state, lent_by;    /* one that ran here and that another thread had made; which */
    _Atomic uint32_t ran_python;             /* it has had a thread state */
    uint32_t code_epoch, code_ended_pythons; /* pp_capture's, when the codes were cleared */
    uint32_t code_sample;                    /* counts samples: what an entry is in use by */
    /* Summed over all threads that the slot had. */
    _Atomic uint64_t handler_count, handler_sum_ns, handler_max_ns;
    _Atomic uint64_t judged_ns; /* handler_sum_ns when the flush thread judged the cost last */
    _Atomic uint32_t handler_histogram[PP_HANDLER_BUCKETS];

    /* Shared as timers.h says. */
    _Atomic int timer; /* kernel's id; -1: none */
    _Atomic uint32_t ending;
    uint64_t timer_period_ns;     /* that the timer was set to */
    _Atomic uint32_t unreachable; /* by our signal: counted and said */

    /* Changed as the life above says. */
    _Atomic uint32_t state;        /* enum pp_slot_state */
    _Atomic uint64_t final_cpu_ns; /* the thread's CPU clock at its end; valid when ENDED */
    char final_name[16];
    uint8_t end_rounds; /* how often the thread's end handler has been put off */
    bool pushed_off;    /* its CPU was taken away while it worked: valid when ENDED */
    bool out_of_reach;  /* of our signal, and worth a word: valid when ENDED */
    bool lingers;       /* it has told its end, and is not gone */
    bool vanished;      /* it did not tell its end: final_cpu_ns is what was last seen of its clock */

    /* The flush thread's. */
    struct {
        uint32_t log_thread; /* id in the current segment, 0: not yet written */
        uint32_t log_segment;
        uint64_t before_ns;    /* of the thread's CPU clock, burned before profiling: outside the sums */
        uint64_t accounted_ns; /* of the thread's CPU clock, handed out to samples, losses and own cost */
        uint64_t clock_ns;     /* of the thread, at the last flush; */
        uint64_t clock_at_ns;  /* CLOCK_MONOTONIC of that, of the thread's start before */
        uint64_t watched_ns;   /* clock_ns when the watchdog saw to the timer last */
        uint32_t renewals;     /* of the timer, since the last sample */
        uint64_t mean_late_ns; /* of its samples behind their timer's expiry, the last ones counting most */
        uint64_t seen_own_ns, seen_lost_ns;
        uint32_t seen_lost_samples;
        uint32_t name_age;
        uint32_t nodes[PP_LAST_STACKS]; /* of its last samples, in the call tree of log_segment: a ring */
        uint32_t node_count;            /* put into it so far */
        char name[16];
        uint32_t *code; /* flush code number of each cache entry, 0: none; pp_slot_code_numbers() */
    } flush;
};

static inline uint32_t pp_slot_code_entries(const struct pp_slot *slot)
{
    return slot->code_sets * PP_CODE_WAYS;
}

/* Numbers in samples: the cache's entries, then those for code objects that found their whole set in use by the same
 * sample; these are defined again each time. */
static inline uint32_t pp_slot_code_numbers(const struct pp_slot *slot)
{
    return slot->code_sets ? pp_slot_code_entries(slot) + PP_MAX_PYTHON_FRAMES : 0;
}

/* In a timer's sigval: tells our timers from the application's on the same signal. */
#define PP_SIGVAL_MAGIC 0x70797072u
/* In that of a signal by which a thread is told that our signal is another now (threads/signal.c). */
#define PP_SIGVAL_FOLLOW 0x70797073u
static inline uint64_t pp_slot_sigval(uint32_t index)
{
    return (uint64_t)PP_SIGVAL_MAGIC << 32 | index;
}

#endif
