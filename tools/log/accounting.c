/* SPDX-License-Identifier: Apache-2.0 */
#include "accounting.h"

#include <stddef.h>

/* Returns the field of a key that holds one varint; NULL for other keys. */
static uint64_t *field_of(struct pt_accounting *accounting, uint64_t key)
{
    switch (key) {
#define X(key, field)                                                                                                  \
    case PP_ACCOUNT_##key:                                                                                             \
        return &accounting->field;
        PT_ACCOUNT_GROWING(X)
        PT_ACCOUNT_OTHERS(X)
#undef X
    }
    return NULL;
}

static void read_counts(uint64_t *counts, size_t room, struct pt_cursor bytes)
{
    for (size_t i = 0; pt_left(&bytes); i++) {
        uint64_t count = pt_read_varint(&bytes);
        if (i < room && !bytes.bad)
            counts[i] = count;
    }
}

bool pt_accounting_read(struct pt_accounting *accounting, struct pt_cursor payload)
{
    *accounting = (struct pt_accounting){0};
    while (pt_left(&payload)) {
        uint64_t key = pt_read_varint(&payload);
        uint64_t length = pt_read_varint(&payload);
        struct pt_cursor bytes = pt_read_part(&payload, length);
        if (payload.bad)
            break;
        uint64_t *field = field_of(accounting, key);
        if (field)
            *field = pt_read_varint(&bytes);
        else if (key == PP_ACCOUNT_DIFFERENCE_NS)
            accounting->difference_ns = pt_read_svarint(&bytes);
        else if (key == PP_ACCOUNT_HANDLER_HISTOGRAM)
            read_counts(accounting->handler_histogram, PP_HANDLER_BUCKETS, bytes);
        else if (key == PP_ACCOUNT_REASONS)
            read_counts(accounting->reasons, PP_REASON_COUNT, bytes);
    }
    return !payload.bad;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void pt_accounting_add(struct pt_accounting *sum, const struct pt_accounting *more)
{
    uint64_t end = larger(sum->end_unix_ns, more->end_unix_ns), wall = larger(sum->wall_ns, more->wall_ns),
             longest = larger(sum->handler_max_ns, more->handler_max_ns);
#define X(key, field) sum->field += more->field;
    PT_ACCOUNT_GROWING(X)
    PT_ACCOUNT_OTHERS(X)
#undef X
    sum->end_unix_ns = end;
    sum->wall_ns = wall;
    sum->handler_max_ns = longest;
    sum->difference_ns = (int64_t)((uint64_t)sum->difference_ns + (uint64_t)more->difference_ns);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        sum->handler_histogram[i] += more->handler_histogram[i];
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        sum->reasons[i] += more->reasons[i];
}

static void subtract(uint64_t *from, uint64_t what)
{
    *from -= what < *from ? what : *from;
}

struct pt_accounting pt_accounting_between(const struct pt_accounting *earlier, const struct pt_accounting *later)
{
    struct pt_accounting between = *later, before = *earlier;
    subtract(&before.cpu_ns, before.pending_ns);
#define X(key, field) subtract(&between.field, before.field);
    PT_ACCOUNT_GROWING(X)
#undef X
    between.difference_ns = (int64_t)((uint64_t)later->difference_ns - (uint64_t)earlier->difference_ns);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        subtract(&between.handler_histogram[i], before.handler_histogram[i]);
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        subtract(&between.reasons[i], before.reasons[i]);
    return between;
}

uint64_t pt_accounting_handler_quantile(const struct pt_accounting *accounting, double share)
{
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        all += accounting->handler_histogram[i];
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++) {
        below += accounting->handler_histogram[i];
        if (all && (double)below >= share * (double)all) {
            uint64_t limit = pp_handler_bucket_limit(i);
            uint64_t longest = accounting->handler_max_ns;
            return longest && (longest < limit || i + 1 == PP_HANDLER_BUCKETS) ? longest : limit;
        }
    }
    return accounting->handler_max_ns;
}

uint64_t pt_accounting_handler_mean(const struct pt_accounting *accounting)
{
    return accounting->handler_count ? accounting->handler_sum_ns / accounting->handler_count : 0;
}

const char *pt_reason_text(uint32_t reason)
{
    static const char *const texts[] = {
#define X(name, text) [PP_REASON_##name] = text,
        PP_REASONS(X)
#undef X
    };
    return reason < PP_REASON_COUNT ? texts[reason] : "reason unknown to this pyprof";
}
