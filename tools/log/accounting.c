#include "accounting.h"

#include <stddef.h>
#include <string.h>

#define FIELD(key, member) [PP_ACCOUNT_##key] = {offsetof(struct pt_accounting, member), true}

/* The keys that hold one varint. */
static const struct {
    size_t offset;
    bool known;
} fields[] = {
    FIELD(END_UNIX_NS, end_unix_ns),
    FIELD(WALL_NS, wall_ns),
    FIELD(CPU_NS, cpu_ns),
    FIELD(SAMPLED_NS, sampled_ns),
    FIELD(UNSAMPLED_NS, unsampled_ns),
    FIELD(PENDING_NS, pending_ns),
    FIELD(LOST_SAMPLES, lost_samples),
    FIELD(LOST_NS, lost_ns),
    FIELD(OWN_NS, own_ns),
    FIELD(THREAD_EXIT_NS, thread_exit_ns),
    FIELD(BEFORE_START_NS, before_start_ns),
    FIELD(SAMPLES, samples),
    FIELD(THREADS, threads),
    FIELD(EXITED_THREADS, exited_threads),
    FIELD(HANDLER_COUNT, handler_count),
    FIELD(HANDLER_SUM_NS, handler_sum_ns),
    FIELD(HANDLER_MAX_NS, handler_max_ns),
    FIELD(STACK_BYTES, stack_bytes),
    FIELD(VOLUNTARY_SWITCHES, voluntary_switches),
    FIELD(INVOLUNTARY_SWITCHES, involuntary_switches),
    FIELD(MINOR_FAULTS, minor_faults),
    FIELD(MAJOR_FAULTS, major_faults),
    FIELD(ESTIMATED_NS, estimated_ns),
    FIELD(REMOVED_FILES, removed_files),
    FIELD(REMOVED_BYTES, removed_bytes),
    FIELD(MAPPED_BYTES, mapped_bytes),
    FIELD(MOST_MAPPED_BYTES, most_mapped_bytes),
};
#define FIELDS (sizeof fields / sizeof fields[0])

static bool is_single(uint64_t key)
{
    return key < FIELDS && fields[key].known;
}

static uint64_t *single(struct pt_accounting *accounting, uint64_t key)
{
    return (uint64_t *)((char *)accounting + fields[key].offset);
}

static void read_counts(uint64_t *counts, size_t room, struct pt_cursor bytes)
{
    for (size_t i = 0; pt_left(&bytes); i++) {
        uint64_t count = pt_take_varint(&bytes);
        if (i < room && !bytes.bad)
            counts[i] = count;
    }
}

bool pt_accounting_read(struct pt_accounting *accounting, struct pt_cursor payload)
{
    *accounting = (struct pt_accounting){0};
    while (pt_left(&payload)) {
        uint64_t key = pt_take_varint(&payload);
        uint64_t length = pt_take_varint(&payload);
        struct pt_cursor bytes = pt_take(&payload, length);
        if (payload.bad)
            break;
        if (is_single(key))
            *single(accounting, key) = pt_take_varint(&bytes);
        else if (key == PP_ACCOUNT_DIFFERENCE_NS)
            accounting->difference_ns = pt_take_svarint(&bytes);
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

void pt_accounting_add(struct pt_accounting *sum, const struct pt_accounting *one)
{
    uint64_t end = larger(sum->end_unix_ns, one->end_unix_ns), wall = larger(sum->wall_ns, one->wall_ns),
             longest = larger(sum->handler_max_ns, one->handler_max_ns);
    struct pt_accounting added = *one;
    for (uint64_t key = 0; key < FIELDS; key++)
        if (is_single(key))
            *single(sum, key) += *single(&added, key);
    sum->end_unix_ns = end;
    sum->wall_ns = wall;
    sum->handler_max_ns = longest;
    sum->difference_ns = (int64_t)((uint64_t)sum->difference_ns + (uint64_t)one->difference_ns);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        sum->handler_histogram[i] += one->handler_histogram[i];
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        sum->reasons[i] += one->reasons[i];
}

static void take_off(uint64_t *from, uint64_t what)
{
    *from -= what < *from ? what : *from;
}

struct pt_accounting pt_accounting_between(const struct pt_accounting *earlier, const struct pt_accounting *later)
{
    static const unsigned parts[] = {PP_ACCOUNT_CPU_NS,
                                     PP_ACCOUNT_SAMPLED_NS,
                                     PP_ACCOUNT_UNSAMPLED_NS,
                                     PP_ACCOUNT_LOST_SAMPLES,
                                     PP_ACCOUNT_LOST_NS,
                                     PP_ACCOUNT_OWN_NS,
                                     PP_ACCOUNT_THREAD_EXIT_NS,
                                     PP_ACCOUNT_SAMPLES,
                                     PP_ACCOUNT_HANDLER_COUNT,
                                     PP_ACCOUNT_HANDLER_SUM_NS,
                                     PP_ACCOUNT_VOLUNTARY_SWITCHES,
                                     PP_ACCOUNT_INVOLUNTARY_SWITCHES,
                                     PP_ACCOUNT_MINOR_FAULTS,
                                     PP_ACCOUNT_MAJOR_FAULTS,
                                     PP_ACCOUNT_ESTIMATED_NS};
    struct pt_accounting between = *later, before = *earlier;
    take_off(&before.cpu_ns, before.pending_ns);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        take_off(single(&between, parts[i]), *single(&before, parts[i]));
    between.difference_ns = (int64_t)((uint64_t)later->difference_ns - (uint64_t)earlier->difference_ns);
    for (unsigned i = 0; i < PP_HANDLER_BUCKETS; i++)
        take_off(&between.handler_histogram[i], before.handler_histogram[i]);
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        take_off(&between.reasons[i], before.reasons[i]);
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
