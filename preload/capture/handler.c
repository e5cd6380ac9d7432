/*
 * The signal handler: one sample of the thread that it runs on.
 *
 * Rules of this directory: async-signal-safe, bounded, no lock, no allocation, no libc beyond mem*, no TLS and no errno
 * (a thread made by raw clone shares its creator's). `make check` reads the symbol tables of these objects.
 */
#include "capture.h"
#include "code_cache.h"
#include "native_walk.h"
#include "python_walk.h"
#include "safe_read.h"
#include <linux/futex.h>
#include <sys/resource.h>
#include <ucontext.h>

#define WAKE_AT_BYTES (PP_RING_SIZE / 2)

struct pp_capture pp_capture;

void pp_wake_flush(enum pp_wake why)
{
    if (atomic_fetch_or_explicit(&pp_capture.wake, why, memory_order_release) == 0)
        pp_syscall4(SYS_futex, (long)&pp_capture.wake, FUTEX_WAKE_PRIVATE, 1, 0);
}

/* The slot that a timer of ours names, NULL if the signal is late: for a thread that is gone. async-signal-safe. */
static struct pp_slot *slot_of_signal(const siginfo_t *info)
{
    uint64_t value = (uint64_t)info->si_value.sival_ptr;
    if ((uint32_t)value >= PP_MAX_THREADS)
        return NULL;
    struct pp_slot *slot = atomic_load_explicit(&pp_capture.slots[(uint32_t)value], memory_order_acquire);
    if (!slot || atomic_load_explicit(&slot->state, memory_order_acquire) != PP_SLOT_LIVE ||
        atomic_load_explicit(&slot->tid, memory_order_relaxed) != pp_sys_gettid())
        return NULL;
    return slot;
}

/* Turns the frames of the walk into cache entries. async-signal-safe. */
static enum pp_reason resolve_frames(const struct pp_python *python, struct pp_slot *slot,
                                     const struct pp_python_stack *stack)
{
    /* Only the innermost run can be torn, and only while its eval function itself executes (there is no call inside
     * the windows). A torn link stands near its top, and behind it everything else would have to fit by chance: a batch
     * of frames is looked at with care; two in builds without known windows. */
    uint32_t doubtful = 0;
    if (stack->runs && stack->doubtful) {
        uint32_t most = python->layout.torn_windows ? PP_CODE_BATCH : 2;
        doubtful = slot->scratch->runs[0].frames < most ? slot->scratch->runs[0].frames : most;
    }
    switch (pp_code_resolve(python, slot, stack->frames, doubtful)) {
    case PP_CODE_FOUND:
        return PP_REASON_NONE;
    case PP_CODE_NO_ROOM:
        return PP_REASON_LOST_RING_FULL;
    case PP_CODE_NOT_CODE:
    default:
        return PP_REASON_PYTHON_TORN;
    }
}

/* Index of the native frame that holds each run's marker: [its sp, its cfa). async-signal-safe. */
static void pair_runs(const struct pp_scratch *scratch, const struct pp_python_stack *stack, unsigned native,
                      uintptr_t sp, struct pp_record_run *out)
{
    unsigned frame = 0;
    for (uint32_t i = 0; i < stack->runs; i++) {
        uintptr_t marker = scratch->runs[i].marker;
        while (frame < native && marker >= scratch->native[frame].cfa)
            frame++;
        bool inside = frame < native && marker >= (frame ? scratch->native[frame - 1].cfa : sp);
        out[i].native = inside ? (uint16_t)frame : PP_RUN_UNPAIRED;
        out[i].frames = (uint16_t)scratch->runs[i].frames;
    }
}

/* Returns false when the ring has no room. async-signal-safe. */
static bool write_sample(struct pp_slot *slot, const struct pp_record_sample *head, uintptr_t sp,
                         const struct pp_python_stack *stack)
{
    uint32_t run_bytes = (uint32_t)(stack->runs * sizeof(struct pp_record_run) + 7) & ~7u;
    uint32_t size = (uint32_t)(sizeof *head + head->native_frames * sizeof(uint64_t) + run_bytes +
                               stack->frames * sizeof(struct pp_record_frame));
    struct pp_record_sample *sample = pp_ring_reserve(&slot->ring, size, PP_RECORD_SAMPLE);
    if (!sample)
        return false;
    struct pp_record header = sample->header;
    *sample = *head;
    sample->header = header;
    uint64_t *native = (uint64_t *)(sample + 1);
    for (unsigned i = 0; i < head->native_frames; i++)
        native[i] = slot->scratch->native[i].ip;
    uint8_t *runs = (uint8_t *)(native + head->native_frames);
    pair_runs(slot->scratch, stack, head->native_frames, sp, (struct pp_record_run *)runs);
    memcpy(runs + run_bytes, slot->scratch->resolved, stack->frames * sizeof(struct pp_record_frame));
    pp_ring_commit(&slot->ring, sample);
    return true;
}

#define ARCH_GET_FS 0x1003

/* pthread_self() of a thread that was not made through us, 0 if it has no descriptor of glibc's (which points to
 * itself). In a raw-clone thread it may be its creator's: check_native_id finds that out. async-signal-safe. */
static uintptr_t foreign_thread_pointer(void)
{
    uintptr_t fs = 0, self = 0;
    int pid = atomic_load_explicit(&pp_capture.pid, memory_order_relaxed);
    if (pp_syscall4(SYS_arch_prctl, ARCH_GET_FS, (long)&fs, 0, 0) != 0 || !pp_plausible(fs) ||
        !pp_safe_read(pid, &self, fs + 2 * sizeof fs, sizeof self))
        return 0;
    return self == fs ? self : 0;
}

/* Why a sample is late, as far as the kernel tells: a thread that is pushed off its CPU runs into fewer ticks than its
 * CPU time is worth, one that works between the ticks goes to sleep by itself. async-signal-safe. */
static void count_switches(struct pp_slot *slot, struct pp_record_sample *sample)
{
    struct rusage usage;
    if (pp_syscall4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) != 0)
        return;
    sample->voluntary = (uint32_t)((uint64_t)usage.ru_nvcsw - slot->voluntary_switches);
    sample->involuntary = (uint32_t)((uint64_t)usage.ru_nivcsw - slot->involuntary_switches);
    slot->voluntary_switches = (uint64_t)usage.ru_nvcsw;
    slot->involuntary_switches = (uint64_t)usage.ru_nivcsw;
}

/* Both stacks of the calling thread into its ring. cpu_ns: its CPU clock at the handler's start. async-signal-safe. */
static void take_sample(struct pp_slot *slot, const ucontext_t *context, uint64_t cpu_ns)
{
    struct pp_record_sample head = {
        .cpu_previous_ns = atomic_load_explicit(&slot->cpu_end_ns, memory_order_relaxed),
        .cpu_ns = cpu_ns,
        .own_ns = atomic_load_explicit(&slot->own_ns, memory_order_relaxed),
        .lost_ns = atomic_load_explicit(&slot->lost_ns, memory_order_relaxed),
        .lost_samples = atomic_load_explicit(&slot->lost_samples, memory_order_relaxed),
    };
    uint64_t overdue_ns = atomic_load_explicit(&pp_capture.overdue_ns, memory_order_relaxed);
    if (overdue_ns && cpu_ns - head.cpu_previous_ns > overdue_ns)
        count_switches(slot, &head);
    uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    uintptr_t stack_top = atomic_load_explicit(&slot->stack_top, memory_order_relaxed);
    unsigned native = 0;
    struct pp_python_stack stack = {0};
    if (slot->check_native_id && !slot->thread_pointer)
        slot->thread_pointer = foreign_thread_pointer();
    if (!stack_top) {
        /* asked for once: what cannot be found will not be found a second time */
        if (!atomic_exchange_explicit(&slot->unknown_stack_sp, sp, memory_order_release))
            pp_wake_flush(PP_WAKE_STACK);
        head.native_reason = PP_REASON_NATIVE_STACK_UNKNOWN;
        slot->scratch->native[0] = (struct pp_native_frame){pc, sp};
        native = 1;
    } else {
        head.native_reason =
            (uint8_t)pp_native_walk(context, stack_top, slot->scratch->native, PP_MAX_NATIVE_FRAMES, &native);
        if (head.native_reason == PP_REASON_NATIVE_NO_MODULE || head.native_reason == PP_REASON_NATIVE_NO_ROWS) {
            if (!atomic_exchange_explicit(&pp_capture.unknown_module, 1, memory_order_relaxed))
                pp_wake_flush(PP_WAKE_MODULES);
        }
        const struct pp_python *python = pp_python_at(0);
        if (python && slot->thread_pointer && sp < stack_top) {
            struct pp_interrupted interrupted = {pc, sp, native ? slot->scratch->native[0].cfa : 0};
            enum pp_reason reason = pp_python_walk(python, slot, &interrupted, &stack);
            if (reason == PP_REASON_NONE || reason == PP_REASON_PYTHON_TOO_DEEP) {
                enum pp_reason resolved = resolve_frames(python, slot, &stack);
                if (resolved != PP_REASON_NONE)
                    reason = resolved;
            }
            if (reason != PP_REASON_NONE && reason != PP_REASON_PYTHON_TOO_DEEP)
                stack.frames = stack.runs = 0;
            head.python_reason = (uint8_t)reason;
        }
    }
    head.epoch = slot->code_epoch;
    head.native_frames = (uint16_t)native;
    head.runs = (uint16_t)stack.runs;
    head.python_frames = (uint16_t)stack.frames;
    if (head.python_reason == PP_REASON_LOST_RING_FULL || !write_sample(slot, &head, sp, &stack)) {
        atomic_store_explicit(&slot->lost_ns, head.lost_ns + cpu_ns - head.cpu_previous_ns, memory_order_relaxed);
        atomic_store_explicit(&slot->lost_samples, head.lost_samples + 1, memory_order_relaxed);
    }
}

/* Only this thread's handler writes these, so plain read-modify-write is enough. async-signal-safe. */
static void count_cost(struct pp_slot *slot, uint64_t ns)
{
    unsigned low = 0, high = PP_HANDLER_BUCKETS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (ns < pp_handler_bucket_limit(middle))
            high = middle;
        else
            low = middle + 1;
    }
#define ADD(field, n)                                                                                                  \
    atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (n), memory_order_relaxed)
    ADD(slot->handler_histogram[low], 1);
    ADD(slot->handler_count, 1);
    ADD(slot->handler_sum_ns, ns);
    ADD(slot->own_ns, ns);
#undef ADD
    if (ns > atomic_load_explicit(&slot->handler_max_ns, memory_order_relaxed))
        atomic_store_explicit(&slot->handler_max_ns, ns, memory_order_relaxed);
}

static bool is_ours(const siginfo_t *info)
{
    return info->si_code == SI_TIMER && (uint64_t)info->si_value.sival_ptr >> 32 == PP_SIGVAL_MAGIC;
}

/* A signal that the application, or somebody else, sent or armed: it does what it would do without us.
 * async-signal-safe as far as the application's handler is. */
static void forward(int signal, siginfo_t *info, void *context)
{
    uintptr_t handler = atomic_load_explicit(&pp_capture.application_handler, memory_order_acquire);
    if (handler == (uintptr_t)SIG_IGN)
        return;
    if (handler != (uintptr_t)SIG_DFL) {
        if (atomic_load_explicit(&pp_capture.application_siginfo, memory_order_acquire))
            ((void (*)(int, siginfo_t *, void *))handler)(signal, info, context);
        else
            ((void (*)(int))handler)(signal);
        return;
    }
    /* the default action ends the process: it happens when we return and the signal is no longer blocked */
    uint64_t default_action[4] = {0};
    pp_syscall4(SYS_rt_sigaction, signal, (long)default_action, 0, 8);
    pp_syscall4(SYS_tgkill, pp_sys_getpid(), pp_sys_gettid(), signal, 0);
}

void pp_handle_signal(int signal, siginfo_t *info, void *context)
{
    if (!is_ours(info)) {
        forward(signal, info, context);
        return;
    }
    struct pp_slot *slot = slot_of_signal(info);
    if (!slot || !atomic_load_explicit(&pp_capture.enabled, memory_order_acquire))
        return;
    uint64_t start = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    /* sequentially consistent: the flush thread frees unwind tables by what it sees here */
    atomic_store(&slot->in_handler, 1);
    take_sample(slot, context, start);
    atomic_store_explicit(&slot->in_handler, 0, memory_order_release);
    uint64_t end = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    count_cost(slot, end - start);
    atomic_store_explicit(&slot->cpu_end_ns, end, memory_order_relaxed);
    if (pp_ring_used(&slot->ring) >= WAKE_AT_BYTES)
        pp_wake_flush(PP_WAKE_DRAIN);
}
