/* SPDX-License-Identifier: Apache-2.0 */
/* Every CPU nanosecond of the process has one place: sampled + unsampled + pending + lost + own + thread exit +
 * difference = the process clock since Python appeared. Flush thread only. */
#ifndef PP_ACCOUNT_ACCOUNT_H
#define PP_ACCOUNT_ACCOUNT_H

#include "../capture/slot.h"
#include "../log/blocks.h"
#include <stdbool.h>

struct pp_account {
    /* sums since the start */
    uint64_t sampled_ns, unsampled_ns, lost_ns, thread_exit_ns;
    uint64_t estimated_ns;    /* part of sampled_ns: short threads */
    uint64_t uneven_ns;       /* part of sampled_ns: by ticks alone, of threads that wait often */
    int64_t profiler_ns;      /* handlers and profiler_exit_ns; ours as a thread is added when it is written */
    int64_t profiler_exit_ns; /* ends of our threads */
    uint64_t samples, lost_samples;
    uint64_t not_selected_ns, not_selected; /* parts of sampled_ns and samples: [not selected] */
    uint64_t other_labels_ns, other_labels; /* parts of these: label sets that pp_labels_have_other() */
    uint64_t removed_files, removed_bytes;  /* of any process, for PYPROF_MAX_DISK */
    uint64_t exited_threads, exited_cpu_ns; /* clocks of threads that are gone, without what was before us */
    uint64_t reasons[PP_REASON_COUNT];
    uint64_t profiler_exits; /* threads of ours that have ended since the last pp_account_close: only the process's
                              * clock has what that costs */
    /* pp_account_close's: how often it was called with many threads, and exited_threads when it read all clocks last */
    uint64_t rounds, closed_exits;
    uint64_t proven_exits;   /* exited_threads when what their ends cost was last known for certain */
    uint64_t booked_exit_ns; /* thread_exit_ns, and what of it has become lost_ns as it could not be written */
    uint64_t others_ns;      /* of the process's clock, without our threads; */
    bool busy;               /* it was worth something since the close before */
    /* as of the last pp_account_close */
    uint64_t cpu_ns, pending_ns, threads;
    int64_t difference_ns;
    int64_t unregistered_ns; /* part of difference_ns: of threads without a slot */
};

/* A sample weighs all that its thread has used since the sample before, unless it comes too late for that.
 *
 * From the expiry of its timer to the tick that sees it a thread that meets the ticks at random phases uses a tick on
 * average, exponentially distributed: one of 400 samples is later than LATE_TICKS. Where samples are later than that,
 * or have been late on average, the thread works in step with the ticks. Then the excess was spent in code that no tick
 * saw: the function that was hit at last has run half a tick, half a period and half a tick after its last sample, so
 * the sample weighs that much and the rest is [unsampled]. A thread that other programs push off its CPU misses a tick
 * each time, at moments that have nothing to do with its own work, and its samples may be later by what it used up to
 * these.
 *
 * Of a thread that waits often and has ticks alone some work may be met too much and some not at all, with sums that
 * are right (a web service: one endpoint had 75 % for 44, another 0.4 for 12): its time is summed apart, as uneven_ns.
 */
struct pp_ticks {
    uint64_t period_ns; /* between two samples of a thread, the longest that is still in use */
    uint64_t tick_ns;   /* of the kernel */
};

/* Returns the CPU time since a thread's last sample from which on a sample says why it is late. */
uint64_t pp_account_overdue_ns(const struct pp_ticks *ticks);
/* Returns the CPU time that a sample may stand for, where nothing is known of the thread. */
uint64_t pp_account_bound_ns(const struct pp_ticks *ticks);

/* Whether the thread's samples have been so late on average that it works in step with the ticks. */
bool pp_account_in_step(const struct pp_slot *slot, uint64_t tick_ns);

/* Holds what a record, or the end of a thread, adds. */
struct pp_charge {
    uint64_t sampled_ns;   /* weight of the sample */
    uint64_t unsampled_ns; /* beyond the weight's bound */
    uint64_t lost_ns, lost_samples;
};

/* Takes a sample record of the slot's thread into its account: what is due for it. */
struct pp_charge pp_account_sample(struct pp_account *account, struct pp_slot *slot,
                                   const struct pp_record_sample *record, const struct pp_ticks *ticks);
/* Takes the rest of a thread that has ENDED and whose ring is empty. */
struct pp_charge pp_account_end(struct pp_account *account, struct pp_slot *slot);
/* Takes the rest of a live thread at the last flush: nothing is left pending. */
struct pp_charge pp_account_rest(struct pp_account *account, struct pp_slot *slot);

/* Reads all clocks and closes the sum. Threads that have vanished get what the process's clock has of them.
 * profiler_threads_ns: used by threads of ours that have ended; becomes what all of ours have used. waiting_ns: of
 * ended threads, not yet given a place. Returns the CPU newly known to be the cost of threads' exits. */
uint64_t pp_account_close(struct pp_account *account, uint64_t *profiler_threads_ns, uint64_t waiting_ns);
bool pp_account_has_many_threads(const struct pp_account *account);
/* Whether a process of many threads has used next to nothing since the last pp_account_close, which found as little.
 * The kernel visits each thread for that: nothing else should be done then. profiler_threads_ns: as for
 * pp_account_close. */
bool pp_account_is_idle(const struct pp_account *account, uint64_t profiler_threads_ns);
/* All handlers so far, and their CPU time. */
struct pp_handlers {
    uint64_t count, ns;
};
/* Returns the cost of all handlers so far, and marks it as reviewed. */
struct pp_handlers pp_account_handlers(void);
/* Appends the fields of an ACCOUNTING block. */
void pp_account_write(const struct pp_account *account, uint64_t profiler_threads_ns, uint64_t bytes,
                      struct pp_buffer *fields);

#endif
