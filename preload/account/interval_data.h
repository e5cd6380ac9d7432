/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what the flush thread has taken in and not yet written, and the sums that it keeps meanwhile. One set for the
 * process; the files of account/, merge/, labels/ and flush/ share it, each field with the file that changes it. Flush
 * thread only. */
#ifndef PP_ACCOUNT_INTERVAL_DATA_H
#define PP_ACCOUNT_INTERVAL_DATA_H

#include "../log/tables.h"
#include "account.h"

struct pp_interval {
    /* flush/interval.c's */
    uint64_t start_ns, start_monotonic_ns; /* 0: no flush thread has begun in this process */
    uint64_t earlier_profiler_ns;          /* used by flush threads that have ended */
    bool said_exec;                        /* what was written last says that the process may end by exec */
    bool anything_new;

    /* flush/write_interval.c's. Lost with a flush that could not be written: becomes a [lost] sample of the next. */
    uint64_t unwritten_ns;

    /* account.c's; flush/drain.c adds to it, flush/write_interval.c takes back what could not be written */
    struct pp_account account;

    /* pp_interval_reset clears all above, and has the rest forget what it holds. */

    /* The log's ids, and the samples that use them: {thread, node, labels, state} -> {count, cpu}. flush/drain.c's
     * and merge/stacks.c's, until flush/write_interval.c has written them. */
    struct pp_tables tables;
    struct pp_arena arena;
    struct pp_intern samples;
    struct pp_buffer trace_records; /* flush/traces.c's: samples of single traces */
};

extern struct pp_interval pp_interval;

struct pp_sample_key {
    uint32_t thread, node, labels, state;
};

/* Adds to a sample. Returns false when there is no memory: the time has then gone from `sum` to the lost. */
bool pp_add_sample(uint64_t *sum, const struct pp_sample_key *key, uint64_t count, uint64_t cpu_ns);
/* Adds to a sample whose only frame is this text, unless there is nothing to add. */
void pp_add_pseudo(uint64_t *sum, uint32_t thread, const char *text, uint64_t count, uint64_t cpu_ns);
/* Forgets the samples: they have been written, or are lost. */
void pp_samples_clear(void);
/* Forgets everything. Runs in the child of fork. */
void pp_interval_reset(void);

#endif
