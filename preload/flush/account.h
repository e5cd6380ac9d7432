/*
 * Every CPU nanosecond of the process has one place: sampled + unsampled + pending + lost + own + thread exit +
 * difference = the process clock since our constructor (design D2). Flush thread only.
 */
#ifndef PP_FLUSH_ACCOUNT_H
#define PP_FLUSH_ACCOUNT_H

#include "../capture/slot.h"
#include "blocks.h"

struct pp_account {
    /* sums since the start */
    uint64_t sampled_ns, unsampled_ns, lost_ns, thread_exit_ns;
    uint64_t estimated_ns; /* part of sampled_ns: short threads */
    int64_t own_ns;        /* handlers and own_exit_ns; ours as a thread is added when it is written */
    int64_t own_exit_ns;   /* ends of our threads */
    uint64_t samples, lost_samples;
    uint64_t exited_threads, exited_cpu_ns; /* clocks of threads that are gone, without what was before us */
    uint64_t reasons[PP_REASON_COUNT];
    uint64_t own_exits; /* since the last pp_account_close */
    /* as of the last pp_account_close */
    uint64_t cpu_ns, pending_ns, threads;
    int64_t difference_ns;
};

/* What a record, or the end of a thread, adds. */
struct pp_charge {
    uint64_t sampled_ns;   /* weight of the sample */
    uint64_t unsampled_ns; /* beyond the weight's bound */
    uint64_t lost_ns, lost_samples;
};

/* Whether a thread that was switched off its CPU so often was so by others. One that others push off is met at fewer
 * ticks, at moments that have nothing to do with its own work (three busy programs on two CPUs: a quarter of the
 * ticks): all that it burned is its samples'. One that sleeps between its bursts may be in step with the ticks: see
 * design D2. */
bool pp_account_pushed_off(uint64_t voluntary, uint64_t involuntary);

/* Takes a sample record of the slot's thread into its account: what is due for it. */
struct pp_charge pp_account_sample(struct pp_account *account, struct pp_slot *slot,
                                   const struct pp_record_sample *record, uint64_t bound_ns);
/* The rest of a thread that has ENDED and whose ring is empty. */
struct pp_charge pp_account_end(struct pp_account *account, struct pp_slot *slot);
/* The same for a live thread, at the last flush: nothing is left pending. */
struct pp_charge pp_account_rest(struct pp_account *account, struct pp_slot *slot);

/* A thread of ours has ended: what that cost shows in no clock but the process's. */
void pp_account_own_exit(struct pp_account *account);

/* Reads all clocks and closes the sum. waiting_ns: of ended threads, not yet given a place. Returns the CPU newly known
 * to be the cost of threads' exits. */
uint64_t pp_account_close(struct pp_account *account, uint64_t own_thread_ns, uint64_t waiting_ns);
/* Appends the fields of an ACCOUNTING block. */
void pp_account_write(const struct pp_account *account, uint64_t own_thread_ns, uint64_t bytes,
                      struct pp_buffer *fields);

#endif
