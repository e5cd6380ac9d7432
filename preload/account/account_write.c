/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/arena.h"
#include "../base/process.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../capture/slot_memory.h"
#include "../threads/reasons.h"
#include "account.h"
#include <sys/resource.h>

static struct pp_buffer list; /* of the field that is being written */

static void put_list(struct pp_buffer *fields, unsigned key)
{
    fields->failed |= list.failed;
    pp_put_field(fields, key, list.data, list.length);
}

static void put_handler_cost(struct pp_buffer *fields)
{
    uint64_t count = 0, sum = 0, max = 0, histogram[PP_HANDLER_BUCKETS] = {0};
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        count += atomic_load(&slot->cost.count);
        sum += atomic_load(&slot->cost.sum_ns);
        uint64_t slowest = atomic_load(&slot->cost.max_ns);
        max = slowest > max ? slowest : max;
        for (unsigned k = 0; k < PP_HANDLER_BUCKETS; k++)
            histogram[k] += atomic_load(&slot->cost.histogram[k]);
    }
    pp_put_number_field(fields, PP_ACCOUNT_HANDLER_COUNT, count);
    pp_put_number_field(fields, PP_ACCOUNT_HANDLER_SUM_NS, sum);
    pp_put_number_field(fields, PP_ACCOUNT_HANDLER_MAX_NS, max);
    pp_buffer_clear(&list);
    for (unsigned k = 0; k < PP_HANDLER_BUCKETS; k++)
        pp_put_varint(&list, histogram[k]);
    put_list(fields, PP_ACCOUNT_HANDLER_HISTOGRAM);
}

void pp_account_write(const struct pp_account *account, uint64_t profiler_threads_ns, uint64_t bytes,
                      struct pp_buffer *fields)
{
    struct rusage usage;
    size_t most_mapped, mapped = pp_mapped_bytes(&most_mapped), slots_mapped = pp_slot_memory_bytes();
    memset(&usage, 0, sizeof usage);
    pp_syscall4(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0);
    const struct {
        unsigned key;
        uint64_t value;
    } numbers[] = {
        {PP_ACCOUNT_END_UNIX_NS, pp_sys_clock_ns(CLOCK_REALTIME)},
        {PP_ACCOUNT_WALL_NS, pp_sys_clock_ns(CLOCK_MONOTONIC) - pp_process.start.monotonic_ns},
        {PP_ACCOUNT_CPU_NS, account->cpu_ns},
        {PP_ACCOUNT_SAMPLED_NS, account->sampled_ns},
        {PP_ACCOUNT_UNSAMPLED_NS, account->unsampled_ns},
        {PP_ACCOUNT_PENDING_NS, account->pending_ns},
        {PP_ACCOUNT_LOST_SAMPLES, account->lost_samples},
        {PP_ACCOUNT_LOST_NS, account->lost_ns},
        {PP_ACCOUNT_OWN_NS, (uint64_t)account->profiler_ns + profiler_threads_ns},
        {PP_ACCOUNT_THREAD_EXIT_NS, account->thread_exit_ns},
        {PP_ACCOUNT_BEFORE_START_NS, pp_process.start.process_cpu_ns},
        {PP_ACCOUNT_SAMPLES, account->samples},
        {PP_ACCOUNT_THREADS, account->threads},
        {PP_ACCOUNT_EXITED_THREADS, account->exited_threads},
        {PP_ACCOUNT_STACK_BYTES, bytes},
        {PP_ACCOUNT_VOLUNTARY_SWITCHES, (uint64_t)usage.ru_nvcsw - pp_process.start.voluntary_switches},
        {PP_ACCOUNT_INVOLUNTARY_SWITCHES, (uint64_t)usage.ru_nivcsw - pp_process.start.involuntary_switches},
        {PP_ACCOUNT_MINOR_FAULTS, (uint64_t)usage.ru_minflt - pp_process.start.minor_faults},
        {PP_ACCOUNT_MAJOR_FAULTS, (uint64_t)usage.ru_majflt - pp_process.start.major_faults},
        {PP_ACCOUNT_ESTIMATED_NS, account->estimated_ns},
        {PP_ACCOUNT_UNEVEN_NS, account->uneven_ns},
        {PP_ACCOUNT_NOT_SELECTED_NS, account->not_selected_ns},
        {PP_ACCOUNT_NOT_SELECTED, account->not_selected},
        {PP_ACCOUNT_OTHER_LABELS_NS, account->other_labels_ns},
        {PP_ACCOUNT_OTHER_LABELS, account->other_labels},
        {PP_ACCOUNT_CHILDREN_NS, pp_children_cpu_ns() - pp_process.start.children_cpu_ns},
        {PP_ACCOUNT_REMOVED_FILES, account->removed_files},
        {PP_ACCOUNT_REMOVED_BYTES, account->removed_bytes},
        {PP_ACCOUNT_MAPPED_BYTES, mapped + slots_mapped},
        {PP_ACCOUNT_MOST_MAPPED_BYTES, most_mapped + slots_mapped},
    };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pp_put_number_field(fields, numbers[i].key, numbers[i].value);
    pp_buffer_clear(&list);
    pp_put_svarint(&list, account->difference_ns);
    put_list(fields, PP_ACCOUNT_DIFFERENCE_NS);
    pp_buffer_clear(&list);
    for (unsigned i = 0; i < PP_REASON_COUNT; i++)
        pp_put_varint(&list, account->reasons[i] + atomic_load(&pp_thread_reasons[i]));
    put_list(fields, PP_ACCOUNT_REASONS);
    put_handler_cost(fields);
}
