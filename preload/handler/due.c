/* SPDX-License-Identifier: Apache-2.0 */
#include "due.h"
#include "../capture/capture.h"
#include "../capture/safe_read.h"

#define CORRECT_SHARE 16   /* this part of what is missing is made up for by each sample */
#define PHASES_KEPT   256u /* signals: with 36 a thread whose rounds leave an eighth of the tick free is in step */
/* By chance a thread's phases reach it once in 10,000 times (7 degrees of freedom); 30 signals of a thread that runs
 * in half of the phases do. */
#define IN_STEP_CHI_SQUARE 30u
/* The thread of a tick that comes later than so many times pp_capture.overdue_ns works in step with the ticks. */
#define LATE_TIMES 2
/* Of the calling thread, as the kernel counts ticks: CPUCLOCK_PROF, all; CPUCLOCK_VIRT, in the thread's own code. */
#define THREAD_TICKS_CLOCK      (-4)
#define THREAD_USER_TICKS_CLOCK (-3)
#define PROFILER_SIGNAL_NS      20000u /* from our handler's end to a tick that met the kernel while it signalled */

void pp_ask_for_event(struct pp_slot *slot)
{
    if (!atomic_exchange_explicit(&slot->thread.asked_for_event, true, memory_order_relaxed))
        pp_wake_flush(PP_WAKE_EVENT);
}

/* Returns the thread's CPU clock at the event's last signal, at its beginning before the first. async-signal-safe. */
static uint64_t last_event_ns(const struct pp_slot *slot)
{
    uint64_t begun_ns = atomic_load_explicit(&slot->thread.event_begun_ns, memory_order_relaxed);
    return slot->thread.event_ns > begun_ns ? slot->thread.event_ns : begun_ns;
}

static uint32_t phase_of(uint64_t now_ns)
{
    return (uint32_t)(now_ns % pp_capture.tick_ns * PP_TICK_PHASES / pp_capture.tick_ns);
}

/* Counts an event's signal by the time from the last tick to it. async-signal-safe. */
static void count_phase(struct pp_tick_phases *phases, uint64_t now_ns)
{
    phases->counts[phase_of(now_ns)]++;
    if (++phases->all < PHASES_KEPT)
        return;
    phases->all = 0;
    for (unsigned i = 0; i < PP_TICK_PHASES; i++)
        phases->all += phases->counts[i] /= 2;
}

/* Whether the thread runs at some times between two ticks more often than at others: then what ticks meet is not what
 * it does at other times. chi^2 of the counts: sum((count - mean)^2) / mean. async-signal-safe. */
static bool is_in_step(const struct pp_tick_phases *phases)
{
    uint64_t squares = 0, all = phases->all;
    for (unsigned i = 0; i < PP_TICK_PHASES; i++)
        squares += (uint64_t)phases->counts[i] * phases->counts[i];
    return squares * PP_TICK_PHASES > all * (all + IN_STEP_CHI_SQUARE);
}

/* Takes the event's signal. async-signal-safe. */
static bool event_is_due(struct pp_slot *slot, const struct pp_signal *signal, uint64_t period_ns, uint64_t *due_ns)
{
    struct pp_slot_thread *thread = &slot->thread;
    uint64_t cpu_ns = signal->cpu_ns;
    uint64_t kept_ns = PP_KEPT_TIMES * atomic_load_explicit(&pp_capture.overdue_ns, memory_order_relaxed);
    bool first = thread->event_ns < atomic_load_explicit(&thread->event_begun_ns, memory_order_relaxed);
    bool shortened = atomic_load_explicit(&thread->event_due_ns, memory_order_relaxed) != period_ns;
    if (shortened && !first)
        return false;
    thread->kernel_ns += (int64_t)(cpu_ns - last_event_ns(slot)) - (int64_t)period_ns;
    if (kept_ns && thread->kernel_ns > (int64_t)kept_ns)
        thread->kernel_ns = (int64_t)kept_ns;
    thread->event_ns = cpu_ns;
    count_phase(&thread->phases, signal->now_ns);
    if (first || ++thread->event_signals % PP_EVENT_DRAW_EACH == 0)
        pp_ask_for_event(slot);
    /* our handlers' part of the period is not the program's */
    uint64_t profiler_ns = atomic_load_explicit(&thread->profiler_ns, memory_order_relaxed),
             cost_ns = profiler_ns - thread->event_profiler_ns;
    thread->event_profiler_ns = profiler_ns;
    *due_ns = atomic_load_explicit(&thread->event_due_ns, memory_order_relaxed);
    if (!first && cost_ns < *due_ns)
        *due_ns -= cost_ns;
    return true;
}

/* Whether the tick is to be one of the thread's kernel samples, if the kernel runs. They come at the event's rate, but
 * have nothing to do with what is missing: the next tick after an expiry was lost would mostly meet what runs next.
 * *since_ns: from the last of these ticks. async-signal-safe. */
static bool tick_counts(struct pp_slot_thread *thread, uint64_t cpu_ns, uint64_t *since_ns)
{
    uint64_t period_ns = atomic_load_explicit(&thread->event_due_ns, memory_order_relaxed);
    uint64_t begun_ns = atomic_load_explicit(&thread->event_begun_ns, memory_order_relaxed);
    if (cpu_ns < thread->tick_due_ns)
        return false;
    *since_ns = cpu_ns - (thread->tick_ns > begun_ns ? thread->tick_ns : begun_ns);
    thread->tick_ns = cpu_ns;
    thread->tick_due_ns += ((cpu_ns - thread->tick_due_ns) / period_ns + 1) * period_ns;
    return true;
}

/* Whether the signal has come in a system call. async-signal-safe. */
static bool is_in_call(const ucontext_t *registers)
{
    uint8_t code[PP_CALL_CODE_BYTES + 1];
    bool read =
        PP_CALL_CODE_BYTES &&
        pp_safe_read(pp_sys_getpid(), code, pp_context_pc(registers) - PP_CALL_CODE_BYTES / 2, PP_CALL_CODE_BYTES);
    return pp_context_in_call(registers, read ? code : NULL);
}

/* Whether the kernel has counted the tick as its own work for the thread. What the kernel does for our own signals is
 * in the event's period: at fine rates a part of the ticks meets that. async-signal-safe. */
static bool met_kernel(struct pp_slot_thread *thread, uint64_t cpu_ns)
{
    uint64_t user_ns = pp_sys_clock_ns(THREAD_USER_TICKS_CLOCK),
             system_ns = pp_sys_clock_ns(THREAD_TICKS_CLOCK) - user_ns;
    bool counted = system_ns > thread->system_ns;
    thread->system_ns = system_ns;
    bool signalled = cpu_ns - atomic_load_explicit(&thread->cpu_end_ns, memory_order_relaxed) < PROFILER_SIGNAL_NS;
    return counted && !signalled;
}

/* Returns what a tick in the kernel represents. missing_ns: that the kernel had and no sample represents. Of a thread
 * that works in step with the ticks they meet some functions only, which have not run for all that time: the tick
 * represents what the thread did at its phase. async-signal-safe. */
static int64_t kernel_due_ns(const struct pp_tick_phases *phases, uint64_t now_ns, uint64_t since_ns,
                             int64_t missing_ns, int64_t overdue_ns)
{
    bool late = since_ns > LATE_TIMES * (uint64_t)overdue_ns;
    int64_t due_ns = late ? overdue_ns / 2 : (int64_t)since_ns + missing_ns / CORRECT_SHARE;
    if (is_in_step(phases))
        due_ns = (int64_t)(since_ns * (phases->counts[phase_of(now_ns)] + 1u) / (phases->all + PP_TICK_PHASES));
    return due_ns < missing_ns + overdue_ns ? due_ns : missing_ns + overdue_ns;
}

/* Takes the timer's signal. async-signal-safe. */
static bool tick_is_due(struct pp_slot *slot, const struct pp_signal *signal, uint64_t period_ns, uint64_t *due_ns)
{
    struct pp_slot_thread *thread = &slot->thread;
    uint64_t cpu_ns = signal->cpu_ns;
    uint64_t overdue_ns = atomic_load_explicit(&pp_capture.overdue_ns, memory_order_relaxed), since_ns;
    bool in_kernel = met_kernel(thread, cpu_ns);
    if (!tick_counts(thread, cpu_ns, &since_ns))
        return false;
    uint64_t event_ns = last_event_ns(slot),
             previous_ns = atomic_load_explicit(&thread->cpu_end_ns, memory_order_relaxed);
    int64_t missing_ns = thread->kernel_ns + (int64_t)((cpu_ns - event_ns) / period_ns * period_ns), due;
    if (in_kernel || is_in_call(signal->registers))
        due = kernel_due_ns(&thread->phases, signal->now_ns, since_ns, missing_ns, (int64_t)overdue_ns);
    else
        due = cpu_ns - previous_ns > PP_KEPT_TIMES * overdue_ns ? (int64_t)period_ns : 0;
    if (due <= 0)
        return false;
    thread->kernel_ns -= due;
    *due_ns = (uint64_t)due;
    return true;
}

bool pp_is_due(struct pp_slot *slot, const struct pp_signal *signal, uint64_t *due_ns)
{
    uint64_t period_ns = atomic_load_explicit(&slot->thread.event_period_ns, memory_order_relaxed);
    *due_ns = 0;
    if (period_ns)
        return signal->event ? event_is_due(slot, signal, period_ns, due_ns)
                             : tick_is_due(slot, signal, period_ns, due_ns);
    if (!signal->event && atomic_load_explicit(&pp_capture.events_wanted, memory_order_relaxed))
        pp_ask_for_event(slot);
    return !signal->event;
}
