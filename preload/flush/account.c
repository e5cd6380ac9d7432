#include "account.h"
#include "../capture/capture.h"
#include "../start.h"
#include "../syscalls.h"
#include "../threads.h"
#include <string.h>
#include <sys/resource.h>

/* A thread's exit costs some 6 µs that no thread clock shows, more when the machine is busy. */
#define THREAD_EXIT_MAX_NS 20000u
#define OWN_EXIT_MAX_NS    500000u
/* Voluntary switches for one involuntary one up to which unseen time is put down to other programs. */
#define PUSHED_OFF_SHARE 4u

/* Own cost and losses are carried as sums; what is new since the last record. */
static struct pp_charge take_sums(struct pp_account *account, struct pp_slot *slot, uint64_t own_ns, uint64_t lost_ns,
                                  uint32_t lost_samples)
{
    struct pp_charge charge = {0};
    int64_t own = (int64_t)(own_ns - slot->flush.seen_own_ns);
    charge.lost_ns = lost_ns - slot->flush.seen_lost_ns;
    charge.lost_samples = lost_samples - slot->flush.seen_lost_samples;
    slot->flush.seen_own_ns = own_ns;
    slot->flush.seen_lost_ns = lost_ns;
    slot->flush.seen_lost_samples = lost_samples;
    slot->flush.accounted_ns += (uint64_t)own + charge.lost_ns;
    account->own_ns += own;
    account->lost_ns += charge.lost_ns;
    account->lost_samples += charge.lost_samples;
    return charge;
}

bool pp_account_pushed_off(uint64_t voluntary, uint64_t involuntary)
{
    return involuntary > 0 && involuntary >= voluntary / PUSHED_OFF_SHARE;
}

struct pp_charge pp_account_sample(struct pp_account *account, struct pp_slot *slot,
                                   const struct pp_record_sample *record, uint64_t bound_ns)
{
    struct pp_charge charge = take_sums(account, slot, record->own_ns, record->lost_ns, record->lost_samples);
    uint64_t burned = record->cpu_ns - record->cpu_previous_ns;
    bool whole = burned < bound_ns || pp_account_pushed_off(record->voluntary, record->involuntary);
    charge.sampled_ns = whole ? burned : bound_ns;
    charge.unsampled_ns = burned - charge.sampled_ns;
    slot->flush.accounted_ns += burned;
    account->sampled_ns += charge.sampled_ns;
    account->unsampled_ns += charge.unsampled_ns;
    account->samples++;
    return charge;
}

static struct pp_charge take_rest(struct pp_account *account, struct pp_slot *slot, uint64_t clock_ns)
{
    struct pp_charge charge = take_sums(account, slot, atomic_load(&slot->own_ns), atomic_load(&slot->lost_ns),
                                        atomic_load(&slot->lost_samples));
    if (clock_ns > slot->flush.accounted_ns)
        charge.unsampled_ns = clock_ns - slot->flush.accounted_ns;
    slot->flush.accounted_ns += charge.unsampled_ns;
    account->unsampled_ns += charge.unsampled_ns;
    return charge;
}

struct pp_charge pp_account_end(struct pp_account *account, struct pp_slot *slot)
{
    uint64_t clock = atomic_load(&slot->final_cpu_ns);
    account->exited_threads++;
    account->exited_cpu_ns += clock - slot->flush.before_ns;
    return take_rest(account, slot, clock);
}

struct pp_charge pp_account_rest(struct pp_account *account, struct pp_slot *slot)
{
    uint64_t clock = pp_sys_clock_ns(pp_thread_cpu_clock(atomic_load(&slot->tid)));
    return take_rest(account, slot, clock);
}

void pp_account_own_exit(struct pp_account *account)
{
    account->own_exits++;
}

/* What the ends of our own threads cost is ours. */
static int64_t take_own_exits(struct pp_account *account, int64_t residue)
{
    int64_t limit = (int64_t)(account->own_exits * OWN_EXIT_MAX_NS);
    int64_t cost = residue < 0 ? 0 : residue < limit ? residue : limit;
    account->own_exits = 0;
    account->own_ns += cost;
    account->own_exit_ns += cost;
    return cost;
}

uint64_t pp_account_close(struct pp_account *account, uint64_t own_thread_ns, uint64_t waiting_ns)
{
    uint64_t threads_ns = own_thread_ns + account->exited_cpu_ns, pending = waiting_ns, threads = 0;
    uint32_t count = atomic_load(&pp_slot_count);
    uint64_t before = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        uint32_t state = slot ? atomic_load(&slot->state) : PP_SLOT_FREE;
        int tid = slot ? atomic_load(&slot->tid) : 0;
        if ((state != PP_SLOT_LIVE && state != PP_SLOT_ENDED) || !tid)
            continue;
        uint64_t clock = state == PP_SLOT_LIVE ? pp_sys_clock_ns(pp_thread_cpu_clock(tid)) : 0;
        if (!clock) /* ended in this moment, its end will be accounted with the next flush */
            clock = atomic_load(&slot->final_cpu_ns);
        if (clock < slot->flush.accounted_ns)
            clock = slot->flush.accounted_ns;
        slot->flush.clock_ns = clock;
        pending += clock - slot->flush.accounted_ns;
        threads_ns += clock - slot->flush.before_ns;
        threads++;
    }
    /* the threads went on while we read their clocks: half of it is the best guess */
    uint64_t after = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    account->cpu_ns = before + (after - before) / 2 - pp_birth.process_cpu_ns;
    account->pending_ns = pending;
    account->threads = threads;
    int64_t residue = (int64_t)(account->cpu_ns - threads_ns) - account->own_exit_ns;
    residue -= take_own_exits(account, residue - (int64_t)account->thread_exit_ns);
    uint64_t exit_ns = account->thread_exit_ns, limit = account->exited_threads * THREAD_EXIT_MAX_NS;
    if (residue > (int64_t)exit_ns)
        exit_ns = (uint64_t)residue < limit ? (uint64_t)residue : limit;
    if (exit_ns < account->thread_exit_ns)
        exit_ns = account->thread_exit_ns;
    uint64_t fresh = exit_ns - account->thread_exit_ns;
    account->thread_exit_ns = exit_ns;
    account->difference_ns = residue - (int64_t)exit_ns;
    return fresh;
}

static void put_handler_cost(struct pp_buffer *fields)
{
    uint64_t count = 0, sum = 0, max = 0, histogram[PP_HANDLER_BUCKETS] = {0};
    uint32_t slots = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < slots; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (!slot)
            continue;
        count += atomic_load(&slot->handler_count);
        sum += atomic_load(&slot->handler_sum_ns);
        uint64_t slowest = atomic_load(&slot->handler_max_ns);
        max = slowest > max ? slowest : max;
        for (unsigned k = 0; k < PP_HANDLER_BUCKETS; k++)
            histogram[k] += atomic_load(&slot->handler_histogram[k]);
    }
    pp_put_number_field(fields, PP_ACCOUNT_HANDLER_COUNT, count);
    pp_put_number_field(fields, PP_ACCOUNT_HANDLER_SUM_NS, sum);
    pp_put_number_field(fields, PP_ACCOUNT_HANDLER_MAX_NS, max);
    static struct pp_buffer list;
    pp_buffer_clear(&list);
    for (unsigned k = 0; k < PP_HANDLER_BUCKETS; k++)
        pp_put_varint(&list, histogram[k]);
    pp_put_field(fields, PP_ACCOUNT_HANDLER_HISTOGRAM, list.data, list.length);
}

void pp_account_write(const struct pp_account *account, uint64_t own_thread_ns, uint64_t bytes,
                      struct pp_buffer *fields)
{
    static struct pp_buffer list;
    struct rusage usage;
    memset(&usage, 0, sizeof usage);
    pp_syscall4(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0);
    const struct {
        unsigned key;
        uint64_t value;
    } numbers[] = {
        {PP_ACCOUNT_END_UNIX_NS, pp_sys_clock_ns(CLOCK_REALTIME)},
        {PP_ACCOUNT_WALL_NS, pp_sys_clock_ns(CLOCK_MONOTONIC) - pp_birth.monotonic_ns},
        {PP_ACCOUNT_CPU_NS, account->cpu_ns},
        {PP_ACCOUNT_SAMPLED_NS, account->sampled_ns},
        {PP_ACCOUNT_UNSAMPLED_NS, account->unsampled_ns},
        {PP_ACCOUNT_PENDING_NS, account->pending_ns},
        {PP_ACCOUNT_LOST_SAMPLES, account->lost_samples},
        {PP_ACCOUNT_LOST_NS, account->lost_ns},
        {PP_ACCOUNT_OWN_NS, (uint64_t)account->own_ns + own_thread_ns},
        {PP_ACCOUNT_THREAD_EXIT_NS, account->thread_exit_ns},
        {PP_ACCOUNT_BEFORE_START_NS, pp_birth.process_cpu_ns},
        {PP_ACCOUNT_SAMPLES, account->samples},
        {PP_ACCOUNT_THREADS, account->threads},
        {PP_ACCOUNT_EXITED_THREADS, account->exited_threads},
        {PP_ACCOUNT_STACK_BYTES, bytes},
        {PP_ACCOUNT_VOLUNTARY_SWITCHES, (uint64_t)usage.ru_nvcsw},
        {PP_ACCOUNT_INVOLUNTARY_SWITCHES, (uint64_t)usage.ru_nivcsw},
        {PP_ACCOUNT_MINOR_FAULTS, (uint64_t)usage.ru_minflt},
        {PP_ACCOUNT_MAJOR_FAULTS, (uint64_t)usage.ru_majflt},
        {PP_ACCOUNT_ESTIMATED_NS, account->estimated_ns},
    };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pp_put_number_field(fields, numbers[i].key, numbers[i].value);
    pp_buffer_clear(&list);
    pp_put_svarint(&list, account->difference_ns);
    pp_put_field(fields, PP_ACCOUNT_DIFFERENCE_NS, list.data, list.length);
    pp_buffer_clear(&list);
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        pp_put_varint(&list, account->reasons[i] + atomic_load(&pp_thread_reasons[i]));
    pp_put_field(fields, PP_ACCOUNT_REASONS, list.data, list.length);
    put_handler_cost(fields);
}
