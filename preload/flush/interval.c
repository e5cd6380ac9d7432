#include "interval.h"
#include "../capture/capture.h"
#include "../capture/unwind_table.h"
#include "../say.h"
#include "../start.h"
#include "../syscalls.h"
#include "../threads.h"
#include "account.h"
#include "codes.h"
#include "flush.h"
#include "segment.h"
#include "short_threads.h"
#include "stack_bounds.h"
#include "stacks.h"
#include <fcntl.h>
#include <string.h>

#define WEIGHT_BOUND_TICKS 10       /* a sample weighs at most a period and so many ticks */
#define WORTH_A_FILE_NS    1000000u /* of a process that ends without a sample */
#define NAME_REFRESH       10       /* flushes between two looks at a thread's name */

static struct pp_tables tables;
static struct pp_segment segment;
static struct pp_account account, written_account; /* now, and as of the last write */
static uint64_t weight_bound_ns, tick_ns;
static uint64_t interval_start_ns, interval_start_monotonic_ns;
static uint64_t earlier_own_ns; /* burned by flush threads that have ended */
/* Lost with a flush that could not be written: becomes a [lost] sample of the next. And what it was as of the last
 * write: when that failed as well, the sample went with it. */
static uint64_t unwritten_ns, written_unwritten_ns;

/* The interval's samples: {thread, node, state} -> {count, cpu} */
static struct pp_arena interval_arena;
static struct pp_intern interval_samples;
static bool anything_new;
static uint32_t written_notices; /* bits by enum pp_cause, of the current segment */

struct sample_key {
    uint32_t thread, node, state;
};

/* False when there is no memory: the time has then gone from `sum` to the lost. */
static bool add_sample(uint64_t *sum, const struct sample_key *key, uint64_t count, uint64_t cpu_ns)
{
    bool fresh;
    uint32_t id = key->node ? pp_intern(&interval_samples, key, sizeof *key, &fresh) : 0;
    anything_new = true;
    if (!id) {
        account.reasons[PP_REASON_LOST_NO_MEMORY]++;
        *sum -= cpu_ns;
        account.lost_ns += cpu_ns;
        unwritten_ns += cpu_ns;
        return false;
    }
    struct pp_intern_entry *entry = pp_intern_entry(&interval_samples, id);
    entry->value[0] += count;
    entry->value[1] += cpu_ns;
    return true;
}

static void add_pseudo(uint64_t *sum, uint32_t thread, const char *text, uint64_t count, uint64_t cpu_ns)
{
    struct sample_key key = {thread, pp_node_id(&tables, 0, pp_frame_pseudo(&tables, text)), 0};
    if (count || cpu_ns)
        add_sample(sum, &key, count, cpu_ns);
}

static void add_charge(uint32_t thread, const struct pp_charge *charge)
{
    add_pseudo(&account.unsampled_ns, thread, "[unsampled]", 0, charge->unsampled_ns);
    add_pseudo(&account.lost_ns, thread, "[lost]", charge->lost_samples, charge->lost_ns);
}

/* The kernel's name of a thread (/proc/self/task/TID/comm), or the one that it had at its end. */
static void read_name(struct pp_slot *slot, bool ended, char name[16])
{
    memset(name, 0, 16);
    if (ended && slot->final_name[0]) {
        memcpy(name, slot->final_name, 15);
        return;
    }
    char path[64];
    struct pp_text text;
    pp_text_init(&text, path, sizeof path);
    pp_text_add(&text, "/proc/self/task/");
    pp_text_add_number(&text, (unsigned)atomic_load(&slot->tid));
    pp_text_add(&text, "/comm");
    int fd = pp_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    long n = pp_sys_read(fd, name, 15);
    pp_sys_close(fd);
    if (n > 0 && name[n - 1] == '\n')
        name[n - 1] = 0;
}

/* The log's id of the slot's thread, defined at need, again when its name has changed. */
static uint32_t thread_id(struct pp_slot *slot, bool ended)
{
    bool known = slot->flush.log_thread && slot->flush.log_segment == tables.segment;
    if (known && !ended && slot->flush.name_age++ < NAME_REFRESH)
        return slot->flush.log_thread;
    char name[16];
    read_name(slot, ended, name);
    slot->flush.name_age = 0;
    if (!known || (name[0] && strcmp(name, slot->flush.name) != 0)) {
        memcpy(slot->flush.name, name, sizeof name);
        slot->flush.log_thread = pp_thread_id(&tables, known ? slot->flush.log_thread : 0, atomic_load(&slot->tid),
                                              name, slot->start_unix_ns, slot->is_main);
        if (!known)
            slot->flush.node_count = 0;
        slot->flush.log_segment = tables.segment;
    }
    return slot->flush.log_thread;
}

static void take_sample(struct pp_slot *slot, uint32_t thread, const struct pp_record_sample *record)
{
    struct pp_charge charge = pp_account_sample(&account, slot, record, weight_bound_ns);
    uint32_t node = pp_stack_node(&tables, slot, record, account.reasons);
    struct sample_key key = {thread, node, record->state};
    add_sample(&account.sampled_ns, &key, 1, charge.sampled_ns);
    add_charge(thread, &charge);
    if (node && slot->flush.node_count < PP_SHORT_SAMPLES)
        slot->flush.nodes[slot->flush.node_count++] = node;
    if (charge.lost_samples)
        account.reasons[PP_REASON_LOST_RING_FULL] += charge.lost_samples;
}

static void credit_estimate(uint32_t thread, uint32_t node, uint64_t cpu_ns)
{
    account.sampled_ns += cpu_ns;
    account.estimated_ns += cpu_ns;
    struct sample_key key = {thread, node, PP_STATE_ESTIMATED};
    if (!add_sample(&account.sampled_ns, &key, 0, cpu_ns))
        account.estimated_ns -= cpu_ns;
}

static void give_up_estimate(uint32_t thread, uint64_t cpu_ns)
{
    account.unsampled_ns += cpu_ns;
    add_pseudo(&account.unsampled_ns, thread, "[unsampled]", 0, cpu_ns);
}

/* The last of a thread: its tail is estimated if it was short, [unsampled] otherwise. */
static void take_end(struct pp_slot *slot)
{
    struct pp_charge charge = pp_account_end(&account, slot);
    anything_new = true;
    if (!charge.unsampled_ns && !charge.lost_ns)
        return;
    uint32_t thread = thread_id(slot, true);
    struct pp_ended_thread ended = {
        .kind = (uintptr_t)slot->start_routine,
        .cpu_ns = atomic_load(&slot->final_cpu_ns),
        .tail_ns = charge.unsampled_ns,
        .thread = thread,
        .pushed_off = pp_account_pushed_off(slot->voluntary_switches, slot->involuntary_switches),
        .samples = slot->flush.node_count,
        .nodes = slot->flush.nodes,
    };
    if (ended.kind && pp_short_threads_end(&ended, pp_config.period_ns, tick_ns)) {
        account.unsampled_ns -= charge.unsampled_ns;
        charge.unsampled_ns = 0;
    }
    add_charge(thread, &charge);
}

static void drain(struct pp_slot *slot)
{
    /* looked at before the ring: what has ended writes no more */
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    if (state != PP_SLOT_LIVE && state != PP_SLOT_ENDED)
        return;
    bool ended = state == PP_SLOT_ENDED;
    uint32_t thread = 0;
    const struct pp_record *record;
    while ((record = pp_ring_peek(&slot->ring))) {
        if (record->type == PP_RECORD_CODE) {
            pp_codes_define(slot, (const struct pp_record_code *)record);
        } else if (record->type == PP_RECORD_SAMPLE) {
            if (!thread)
                thread = thread_id(slot, ended);
            take_sample(slot, thread, (const struct pp_record_sample *)record);
        }
        pp_ring_release(&slot->ring, record);
    }
    if (!ended)
        return;
    take_end(slot);
    pp_slot_release(slot);
}

static void each_slot(void (*visit)(struct pp_slot *slot))
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot)
            visit(slot);
    }
}

static void find_stack(struct pp_slot *slot)
{
    uintptr_t sp = atomic_load_explicit(&slot->unknown_stack_sp, memory_order_acquire);
    if (sp && !atomic_load(&slot->stack_top))
        atomic_store(&slot->stack_top, pp_mapping_end(sp));
}

static void take_rest(struct pp_slot *slot)
{
    if (atomic_load(&slot->state) != PP_SLOT_LIVE || !atomic_load(&slot->tid))
        return;
    struct pp_charge charge = pp_account_rest(&account, slot);
    if (charge.unsampled_ns || charge.lost_ns)
        add_charge(thread_id(slot, false), &charge);
}

static bool handlers_quiet(void)
{
    uint32_t count = atomic_load(&pp_slot_count);
    for (uint32_t i = 0; i < count; i++) {
        struct pp_slot *slot = atomic_load(&pp_capture.slots[i]);
        if (slot && atomic_load(&slot->in_handler))
            return false;
    }
    return true;
}

static void write_samples(struct pp_buffer *out, uint64_t now_monotonic_ns)
{
    static struct pp_buffer payload;
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, interval_start_ns);
    pp_put_varint(&payload, now_monotonic_ns - interval_start_monotonic_ns);
    for (uint32_t id = 1; id <= interval_samples.count; id++) {
        const struct pp_intern_entry *entry = pp_intern_entry(&interval_samples, id);
        struct sample_key key;
        memcpy(&key, entry->key, sizeof key);
        size_t record = pp_record_begin(&payload);
        pp_put_varint(&payload, key.thread);
        pp_put_varint(&payload, key.node);
        pp_put_varint(&payload, 0);
        pp_put_varint(&payload, key.state);
        pp_put_varint(&payload, entry->value[0]);
        pp_put_varint(&payload, entry->value[1]);
        pp_record_end(&payload, record);
    }
    if (interval_samples.count)
        pp_put_block(out, PP_BLOCK_SAMPLES, &payload, &segment.sequence);
}

static void write_end(struct pp_buffer *out, enum pp_end_reason reason)
{
    static struct pp_buffer payload;
    pp_buffer_clear(&payload);
    pp_put_varint(&payload, pp_sys_clock_ns(CLOCK_REALTIME));
    pp_put_varint(&payload, reason);
    pp_put_block(out, PP_BLOCK_END, &payload, &segment.sequence);
}

/* What this flush would have written is lost, and says so; the definitions with it, so a new segment must begin. */
static void count_as_lost(const struct pp_account *before)
{
    uint64_t sampled = account.sampled_ns - before->sampled_ns, unsampled = account.unsampled_ns - before->unsampled_ns;
    uint64_t exits = account.thread_exit_ns - before->thread_exit_ns;
    account.sampled_ns = before->sampled_ns;
    account.unsampled_ns = before->unsampled_ns;
    account.estimated_ns = before->estimated_ns;
    account.lost_samples += account.samples - before->samples;
    account.samples = before->samples;
    account.lost_ns += sampled + unsampled + exits;
    account.thread_exit_ns = before->thread_exit_ns;
    unwritten_ns = written_unwritten_ns + account.lost_ns - before->lost_ns;
    account.reasons[PP_REASON_WRITE_FAILED]++;
}

static bool segment_is_full(void)
{
    return pp_tables_full(&tables);
}

/* What was said on stderr belongs into the log as well: files outlive terminals. */
static void write_notices(struct pp_buffer *out)
{
    static struct pp_buffer payload;
    for (unsigned cause = 0; cause < PP_CAUSE_COUNT; cause++) {
        const char *text = pp_said((enum pp_cause)cause);
        if (!text || cause == PP_CAUSE_START || written_notices >> cause & 1)
            continue;
        pp_buffer_clear(&payload);
        pp_put_varint(&payload, pp_sys_clock_ns(CLOCK_REALTIME));
        pp_put_varint(&payload, 1);
        pp_put_bytes(&payload, text, strlen(text));
        pp_put_block(out, PP_BLOCK_NOTICE, &payload, &segment.sequence);
        written_notices |= 1u << cause;
    }
}

static void write_log(uint64_t own_ns, uint64_t now_monotonic_ns, bool final)
{
    static struct pp_buffer out, fields;
    pp_buffer_clear(&out);
    pp_buffer_clear(&fields);
    if (!segment.open) {
        pp_segment_begin(&segment, &out);
        written_notices = 0;
    }
    pp_segment_renew(&segment, &out);
    pp_tables_write(&tables, &out, &segment.sequence);
    write_samples(&out, now_monotonic_ns);
    write_notices(&out);
    pp_account_write(&account, own_ns, segment.bytes + out.length, &fields);
    pp_put_block(&out, PP_BLOCK_ACCOUNTING, &fields, &segment.sequence);
    bool full = segment_is_full();
    if (final || full)
        write_end(&out, final ? PP_END_EXIT : PP_END_SEGMENT);
    bool written = !out.failed && pp_segment_append(&segment, &out);
    if (!written)
        count_as_lost(&written_account);
    if (!written || full) {
        segment.open = false;
        pp_tables_reset(&tables);
        /* nothing waits any more when the segment was full; after a failed write its ids mean nothing */
        unwritten_ns += pp_short_threads_waiting_ns();
        account.lost_ns += pp_short_threads_waiting_ns();
        pp_short_threads_reset();
    }
    written_account = account;
    written_unwritten_ns = unwritten_ns;
}

void pp_interval_start(void)
{
    tick_ns = pp_tick_ns();
    weight_bound_ns = pp_config.period_ns + WEIGHT_BOUND_TICKS * tick_ns;
    atomic_store(&pp_capture.overdue_ns, weight_bound_ns);
    if (!tables.segment)
        pp_tables_reset(&tables);
    if (!interval_start_ns) {
        interval_start_ns = pp_birth.unix_ns;
        interval_start_monotonic_ns = pp_birth.monotonic_ns;
    }
}

void pp_interval_modules(void)
{
    if (pp_modules_refresh(PP_ROWS_WANTED)) {
        pp_stacks_modules_changed(&tables);
        /* what was unknown may be known now: handlers may call again */
        atomic_store(&pp_capture.unknown_module, 0);
    }
    pp_modules_reclaim(handlers_quiet);
}

void pp_interval_stacks(void)
{
    each_slot(find_stack);
}

void pp_interval_drain(void)
{
    if (!interval_samples.arena)
        pp_intern_init(&interval_samples, &interval_arena);
    each_slot(drain);
}

/* A process that sleeps leaves the disk alone; so does one that came to its end before a sample fell into it, unless it
 * burned something. */
static bool worth_writing(bool final)
{
    if (!anything_new)
        return false;
    if (segment.number || account.samples || account.lost_samples)
        return true;
    return final && account.cpu_ns >= WORTH_A_FILE_NS;
}

void pp_interval_flush(int own_tid, bool final)
{
    /* a process of which no sample was taken yet costs nothing */
    if (atomic_load(&pp_module_table) || atomic_load(&pp_capture.unknown_module))
        pp_interval_modules();
    atomic_store(&pp_capture.unknown_module, 0);
    /* the start of one that was loaded with RTLD_DEEPBIND went unseen */
    pp_flush_gate_enter();
    pp_start_if_initialized();
    pp_flush_gate_leave();
    /* its PLT slots are resolved before handlers need them: at start, without a thread state, it returned early */
    const struct pp_python *python;
    for (unsigned i = 0; (python = pp_python_at(i)) != NULL; i++)
        if (python->this_thread_state)
            python->this_thread_state();
    pp_interval_drain();
    pp_threads_scan(own_tid);
    /* ids of a full segment end with it */
    pp_short_threads_settle(credit_estimate, give_up_estimate, final || segment_is_full());
    if (final)
        each_slot(take_rest);
    uint64_t own_ns = earlier_own_ns + pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t exit_ns = pp_account_close(&account, own_ns, pp_short_threads_waiting_ns());
    uint64_t now_ns = pp_sys_clock_ns(CLOCK_REALTIME), now_monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    add_pseudo(&account.thread_exit_ns, 0, "[thread exit]", 0, exit_ns);
    uint64_t unwritten = unwritten_ns;
    unwritten_ns = 0;
    add_pseudo(&account.lost_ns, 0, "[lost]", 0, unwritten);
    if (worth_writing(final)) {
        write_log(own_ns, now_monotonic_ns, final);
        anything_new = false;
        interval_start_ns = now_ns;
        interval_start_monotonic_ns = now_monotonic_ns;
        memset(&interval_samples, 0, sizeof interval_samples);
        pp_arena_reset(&interval_arena);
    }
    pp_codes_limit();
}

void pp_interval_stop(void)
{
    pp_account_own_exit(&account);
    earlier_own_ns += pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void pp_interval_after_fork(void)
{
    earlier_own_ns = 0;
    memset(&account, 0, sizeof account);
    memset(&written_account, 0, sizeof written_account);
    memset(&interval_samples, 0, sizeof interval_samples);
    anything_new = false;
    unwritten_ns = written_unwritten_ns = interval_start_ns = 0;
    pp_short_threads_reset();
    pp_segment_after_fork(&segment);
    pp_arena_reset(&interval_arena);
    pp_tables_reset(&tables);
    pp_codes_reset();
    pp_modules_after_fork();
}
