/*
 * What has come in since the last write, and what it is counted in. One set for the process; the files of a flush
 * (drain.c, log.c, interval.c) share it. Flush thread only.
 */
#ifndef PP_FLUSH_SAMPLES_H
#define PP_FLUSH_SAMPLES_H

#include "../log/tables.h"
#include "account.h"

struct pp_interval {
    uint64_t start_ns, start_monotonic_ns;
    struct pp_account account;
    struct pp_tables tables;
    /* {thread, node, state} -> {count, cpu} */
    struct pp_arena arena;
    struct pp_intern samples;
    bool anything_new;
    /* Lost with a flush that could not be written: becomes a [lost] sample of the next. */
    uint64_t unwritten_ns;
};

extern struct pp_interval pp_interval;

struct pp_sample_key {
    uint32_t thread, node, state;
};

/* False when there is no memory: the time has then gone from `sum` to the lost. */
bool pp_add_sample(uint64_t *sum, const struct pp_sample_key *key, uint64_t count, uint64_t cpu_ns);
/* A sample whose only frame is this text; none if it is empty. */
void pp_add_pseudo(uint64_t *sum, uint32_t thread, const char *text, uint64_t count, uint64_t cpu_ns);
/* Forgets the samples: they have been written, or are lost. */
void pp_samples_clear(void);

#endif
