/* Compares our walk with libunwind's on the same signal context, frame by frame, and what becomes of the sample when no
 * function of the stack has rows yet: the flush thread's walk on the handler's copy of the stack must find exactly the
 * frames of ours. For test programs only: libunwind is not async-signal-safe enough for anything else. */
#ifndef PP_TEST_UNWIND_ORACLE_H
#define PP_TEST_UNWIND_ORACLE_H

#define UNW_LOCAL_ONLY
#include "../../preload/capture/capture.h"
#include "../../preload/capture/slot_memory.h"
#include "../../preload/merge/finish_sample.h"
#include "../../preload/modules/modules.h"
#include "context_registers.h"
#include "preload/handler/handler.h"
#include <libunwind.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ORACLE_FRAMES   512
#define ORACLE_EXAMPLES 12
#define ORACLE_KINDS    4096
#define ORACLE_WINDOW   20

struct oracle_frame {
    uintptr_t ip, sp;
};

struct oracle_example {
    enum pp_reason reason;
    unsigned at, ours, theirs;
    const char *kind;
    struct pp_native_frame our_frames[ORACLE_WINDOW];
    struct oracle_frame their_frames[ORACLE_WINDOW];
};

static const char oracle_other_ip[] = "ip differs";
static const char oracle_finished[] = "the finished sample differs";
static const char oracle_both_stop[] = "both stop, we with a name"; /* too many for examples */

/* All comparisons that ended alike: ip is in the frame whose caller was found differently, or not at all. */
struct oracle_kind {
    const char *kind;
    enum pp_reason reason;
    uintptr_t innermost, ip;
    unsigned long count;
};

struct oracle {
    uintptr_t stack_top;
    unsigned long samples, complete, frames, agree, differ;
    unsigned long unnamed_stops;  /* we said "complete", libunwind has more */
    unsigned long oracle_stopped; /* libunwind has fewer frames than we */
    unsigned long crashed;        /* SIGSEGV in libunwind */
    unsigned long missing;        /* libunwind's frames behind the one where we stopped with a name */
    unsigned long finished;       /* samples that the flush thread's code has finished */
    unsigned long finished_cut;   /* their stack was larger than the copy */
    unsigned long finished_wrong; /* they are not what our walk finds */
    unsigned long reasons[PP_REASON_COUNT];
    unsigned example_count;
    struct oracle_example examples[ORACLE_EXAMPLES];
    unsigned long kinds_dropped;
    struct oracle_kind kinds[ORACLE_KINDS];
};

/* libunwind follows wrong CFI into unmapped memory: see crashed. */
static sigjmp_buf oracle_crash;
static volatile sig_atomic_t oracle_walking;

static inline void oracle_on_segv(int number)
{
    if (oracle_walking)
        siglongjmp(oracle_crash, 1);
    signal(number, SIG_DFL);
}

static inline void oracle_guard(void)
{
    struct sigaction action = {.sa_handler = oracle_on_segv, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
}

/* libunwind takes the CFA for the caller's stack pointer even where the CFI says that that is in a register, as it is
 * in longjmp, whose CFA is the jmp_buf. What it finds from there on is nothing to compare with. */
static inline bool oracle_lost_sp(unw_cursor_t *cursor, const ucontext_t *context)
{
    unw_save_loc_t location;
    const uintptr_t saved = (uintptr_t)context->uc_mcontext.SAVED_REGISTERS;
    return unw_get_save_loc(cursor, UNWIND_SP, &location) == 0 && location.type == UNW_SLT_MEMORY &&
           location.u.addr - saved < sizeof context->uc_mcontext.SAVED_REGISTERS &&
           location.u.addr != saved + PP_SAVED_WORD_SP * sizeof(uintptr_t);
}

static inline unsigned oracle_walk(const ucontext_t *context, struct oracle_frame *frames, unsigned max, bool *crashed)
{
    unw_cursor_t cursor;
    unw_context_t *copy = (unw_context_t *)context;
    static volatile unsigned count;
    count = 0;
    oracle_walking = 1;
    if (sigsetjmp(oracle_crash, 0)) {
        oracle_walking = 0;
        *crashed = true;
        return count;
    }
    if (unw_init_local2(&cursor, copy, UNW_INIT_SIGNAL_FRAME) != 0) {
        oracle_walking = 0;
        return 0;
    }
    do {
        unw_word_t ip, sp;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0 || ip == 0 ||
            ip > PP_HIGHEST_ADDRESS /* signed, which libunwind 1.6 does not know */)
            break;
        frames[count++] = (struct oracle_frame){ip, sp};
    } while (count < max && unw_step(&cursor) > 0 && !oracle_lost_sp(&cursor, context));
    oracle_walking = 0;
    return count;
}

/* Where there is no CFI libunwind guesses by the frame pointer or x30, and may well come to where no code is: nothing
 * to compare with either. */
static inline bool oracle_has_cfi(unw_cursor_t *cursor)
{
    unw_proc_info_t info;
    return unw_get_proc_info(cursor, &info) == 0 && info.end_ip > info.start_ip + 1 /* else made up */;
}

/* Whether all frames up to this one have CFI. */
static inline bool oracle_has_cfi_up_to(const ucontext_t *context, unsigned frame)
{
    unw_cursor_t cursor;
    oracle_walking = 1;
    bool found =
        unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME) == 0 && oracle_has_cfi(&cursor);
    for (; frame && found; frame--)
        found = unw_step(&cursor) > 0 && oracle_has_cfi(&cursor);
    oracle_walking = 0;
    return found;
}

static inline void oracle_count(struct oracle *o, const char *kind, enum pp_reason reason, uintptr_t innermost,
                                uintptr_t ip)
{
    unsigned first = (unsigned)((uint64_t)(innermost ^ ip) * 0x9E3779B97F4A7C15u >> 32);
    for (unsigned i = 0; i < ORACLE_KINDS; i++) {
        struct oracle_kind *k = &o->kinds[(first + i) % ORACLE_KINDS];
        if (!k->count)
            *k = (struct oracle_kind){kind, reason, innermost, ip, 0};
        if (k->kind == kind && k->reason == reason && k->innermost == innermost && k->ip == ip) {
            k->count++;
            return;
        }
    }
    o->kinds_dropped++;
}

static inline void oracle_keep(struct oracle *o, const char *kind, enum pp_reason reason, unsigned at,
                               const struct pp_native_frame *ours, unsigned our_count,
                               const struct oracle_frame *theirs, unsigned their_count)
{
    unsigned culprit = at < our_count ? at : our_count - 1;
    if (culprit && (kind == oracle_other_ip || reason == PP_REASON_NATIVE_NO_MODULE))
        culprit--; /* the frame itself is the result of the one before it */
    oracle_count(o, kind, reason, ours[0].ip, ours[culprit].ip);
    if (o->example_count == ORACLE_EXAMPLES || kind == oracle_both_stop)
        return;
    struct oracle_example *e = &o->examples[o->example_count++];
    *e = (struct oracle_example){.kind = kind, .reason = reason, .at = at, .ours = our_count, .theirs = their_count};
    unsigned from = at < ORACLE_WINDOW / 2 ? 0 : at - ORACLE_WINDOW / 2;
    for (unsigned i = 0; i < ORACLE_WINDOW && from + i < our_count; i++)
        e->our_frames[i] = ours[from + i];
    for (unsigned i = 0; i < ORACLE_WINDOW && from + i < their_count; i++)
        e->their_frames[i] = theirs[from + i];
}

/* What calls modules/ has this; also a handler, which waits while the list of modules is replaced. */
static atomic_flag oracle_modules_busy = ATOMIC_FLAG_INIT;

static inline void oracle_lock_modules(void)
{
    while (atomic_flag_test_and_set_explicit(&oracle_modules_busy, memory_order_acquire))
        sched_yield();
}

static inline void oracle_unlock_modules(void)
{
    atomic_flag_clear_explicit(&oracle_modules_busy, memory_order_release);
}

/* Walks the stack itself, with all rows: those of functions that are met are compiled at once. */
static inline void oracle_walk_by_rows(const struct oracle *o, const ucontext_t *context, struct pp_native_stack *stack)
{
    struct pp_walk_state stopped;
    const struct pp_module_table *published = atomic_load(&pp_module_table), *draft = pp_modules_draft();
    stack->stopped = &stopped;
    if (draft)
        atomic_store(&pp_module_table, draft);
    do
        pp_native_walk(context, o->stack_top, stack);
    while (stack->continuable && pp_module_add_sampled(stack->frames[stack->count - 1].ip));
    atomic_store(&pp_module_table, published);
}

#define ORACLE_OBJECTS 1024

/* Takes a sample as the profiler's handler and flush thread do when no function has been met, and compares it. */
static inline void oracle_finish(struct oracle *o, const ucontext_t *context, const struct pp_native_stack *ours)
{
    static _Alignas(struct pp_module_table)
        uint8_t memory[sizeof(struct pp_module_table) + ORACLE_OBJECTS * sizeof(struct pp_module_range)];
    struct pp_module_table *unmet = (struct pp_module_table *)memory;
    static struct pp_slot slot;
    const struct pp_module_table *published = atomic_load(&pp_module_table);
    if (published->count > ORACLE_OBJECTS || !pp_slot_memory_begin(&slot))
        return;
    memcpy(unmet, published, sizeof *published + published->count * sizeof *published->ranges);
    for (uint32_t i = 0; i < published->count; i++)
        unmet->ranges[i].row_count = 0;
    atomic_store(&slot.thread.stack_top, o->stack_top);
    atomic_store(&pp_module_table, unmet);
    pp_take_sample(&slot, context, 0, 0);
    atomic_store(&pp_module_table, published);
    pp_slot_memory_end(&slot);
    const struct pp_record *record = pp_ring_peek(&slot.ring);
    if (!record)
        return;
    const struct pp_record_sample *sample = (const struct pp_record_sample *)record;
    if (record->type == PP_RECORD_UNFINISHED) {
        sample = pp_sample_finish((const struct pp_record_unfinished *)record);
        o->finished++;
    }
    const uint64_t *ips = (const uint64_t *)(sample + 1);
    unsigned same = 0;
    while (same < sample->native_frames && same < ours->count && ips[same] == ours->frames[same].ip)
        same++;
    bool cut = record->type == PP_RECORD_UNFINISHED && sample->native_reason == PP_REASON_NATIVE_NO_ROWS,
         deep = sample->native_reason == PP_REASON_NATIVE_TOO_DEEP;
    o->finished_cut += cut;
    if (same < sample->native_frames ||
        !(cut || deep || (same == ours->count && sample->native_reason == (uint8_t)ours->reason))) {
        o->finished_wrong++;
        struct oracle_frame finished[ORACLE_FRAMES];
        for (unsigned i = 0; i < sample->native_frames; i++)
            finished[i] = (struct oracle_frame){ips[i], 0};
        oracle_keep(o, oracle_finished, sample->native_reason, same, ours->frames, ours->count, finished,
                    sample->native_frames);
    }
    pp_ring_release(&slot.ring, record);
}

/* One sample: call in the handler. */
static inline void oracle_compare(struct oracle *o, const ucontext_t *context)
{
    static struct pp_native_frame ours[ORACLE_FRAMES];
    static struct oracle_frame theirs[ORACLE_FRAMES + 1];
    static struct pp_rule_cache cache;
    struct pp_native_stack stack = {.frames = ours, .cache = &cache, .max = ORACLE_FRAMES};
    unsigned their_count, i;
    bool crashed = false;
    oracle_lock_modules();
    oracle_walk_by_rows(o, context, &stack);
    oracle_finish(o, context, &stack);
    oracle_unlock_modules();
    enum pp_reason reason = stack.reason;
    unsigned our_count = stack.count;
    their_count = oracle_walk(context, theirs, ORACLE_FRAMES + 1, &crashed);
    o->crashed += crashed;
    o->samples++;
    o->reasons[reason]++;
    o->complete += reason == PP_REASON_NONE;
    for (i = 0; i < our_count && i < their_count; i++) {
        uintptr_t ip = theirs[i].ip;
        bool same_ip = ours[i].ip == ip || (i > 0 && ours[i].ip == ip - 1);
        bool same_cfa =
            i + 1 >= their_count || (i + 1 == our_count && reason != PP_REASON_NONE) || ours[i].cfa == theirs[i + 1].sp;
        o->frames++;
        if (!same_ip || !same_cfa) {
            if (!oracle_has_cfi_up_to(context, same_ip ? i : i - 1)) {
                o->frames--;
                their_count = i;
                break;
            }
            o->differ++;
            oracle_keep(o, same_ip ? "cfa differs" : oracle_other_ip, reason, i, ours, our_count, theirs, their_count);
            return; /* what follows differs because of this */
        }
        o->agree++;
    }
    if (their_count > our_count && reason != PP_REASON_NONE && !oracle_has_cfi_up_to(context, our_count - 1))
        their_count = our_count;
    const char *kind = NULL;
    if (their_count > our_count && reason == PP_REASON_NONE) {
        o->unnamed_stops++;
        kind = "we stop without a name";
    } else if (their_count > our_count) {
        o->missing += their_count - our_count;
        kind = "we stop with a name";
    } else if (our_count > their_count) {
        o->oracle_stopped++;
        kind = crashed ? "libunwind crashes" : "libunwind stops";
    } else if (reason != PP_REASON_NONE) {
        kind = oracle_both_stop;
    }
    if (kind)
        oracle_keep(o, kind, reason, i, ours, our_count, theirs, their_count);
}

static inline void oracle_print_address(FILE *to, uintptr_t address)
{
    uintptr_t start = 0;
    struct pp_module *module = pp_module_find(address);
    const char *name = module ? pp_module_symbol(module, address, &start) : NULL;
    const char *path = module ? module->path : "?";
    fprintf(to, "%s+%#lx %s+%#lx", path, module ? address - module->bias : address, name ? name : "?",
            name ? address - start : 0);
}

static const char *const oracle_reasons[] = {
#define X(name, text) #name,
    PP_REASONS(X)
#undef X
};

/* Prints where walks ended most often: what ended both has no examples. */
static inline void oracle_print_kinds(const struct oracle *o, FILE *to)
{
    bool printed[ORACLE_KINDS] = {false};
    for (unsigned n = 0; n < ORACLE_EXAMPLES; n++) {
        unsigned most = ORACLE_KINDS;
        for (unsigned i = 0; i < ORACLE_KINDS; i++)
            if (o->kinds[i].count && !printed[i] && (most == ORACLE_KINDS || o->kinds[i].count > o->kinds[most].count))
                most = i;
        if (most == ORACLE_KINDS)
            return;
        printed[most] = true;
        const struct oracle_kind *k = &o->kinds[most];
        fprintf(to, "  %lu times %s (%s) at ", k->count, k->kind, oracle_reasons[k->reason]);
        oracle_print_address(to, k->ip);
        fprintf(to, ", interrupted at ");
        oracle_print_address(to, k->innermost);
        fprintf(to, "\n");
    }
}

static inline void oracle_print(const struct oracle *o, FILE *to, const char *title)
{
    fprintf(to,
            "%s: %lu samples, %lu complete, %lu frames, %lu agree (%.4f %%), %lu differ, %lu unnamed stops, "
            "libunwind stopped first %lu, crashed %lu; %lu finished, %lu cut, %lu wrong\n",
            title, o->samples, o->complete, o->frames, o->agree,
            o->frames ? 100.0 * (double)o->agree / (double)o->frames : 0.0, o->differ, o->unnamed_stops,
            o->oracle_stopped, o->crashed, o->finished, o->finished_cut, o->finished_wrong);
    for (unsigned i = 1; i < PP_REASON_COUNT; i++)
        if (o->reasons[i])
            fprintf(to, "  %s: %lu\n", oracle_reasons[i], o->reasons[i]);
    oracle_print_kinds(o, to);
    for (unsigned i = 0; i < o->example_count; i++) {
        const struct oracle_example *e = &o->examples[i];
        fprintf(to, "  %s at frame %u (ours %u, libunwind's %u, %s)\n", e->kind, e->at, e->ours, e->theirs,
                oracle_reasons[e->reason]);
        for (unsigned k = 0; k < ORACLE_WINDOW && e->our_frames[k].ip; k++) {
            fprintf(to, "    ours   cfa %#lx ", e->our_frames[k].cfa);
            oracle_print_address(to, e->our_frames[k].ip);
            fprintf(to, "\n");
        }
        for (unsigned k = 0; k < ORACLE_WINDOW && e->their_frames[k].ip; k++) {
            fprintf(to, "    theirs sp  %#lx ", e->their_frames[k].sp);
            oracle_print_address(to, e->their_frames[k].ip);
            fprintf(to, "\n");
        }
    }
}

#endif
