/* SPDX-License-Identifier: Apache-2.0 */
/* State shared with the handler: start-up and the flush thread write it, the handler mostly reads it. */
#ifndef PP_CAPTURE_H
#define PP_CAPTURE_H

#include "../base/process.h"
#include "libunwind_walk.h"
#include "python.h"
#include "slot.h"
#include <signal.h>

#define PP_MAX_THREADS      16384
#define PP_EVAL_RANGES      16
#define PP_MAX_PYTHONS      4
#define PP_GREENLET_CALLERS 8

enum pp_modules_state {
    PP_MODULES_KNOWN,  /* it may be a new module's: the handler that meets it sets WANTED, writes its sample and wakes
                        * the flush thread, which so finds it in the ring */
    PP_MODULES_WANTED, /* the flush thread is to check the modules, and sets KNOWN if they have changed, else CHECKED */
    PP_MODULES_CHECKED, /* it is a JIT's, until a flush sets KNOWN */
};

/* Whether the flush thread observes the main thread (flush/waiting.h). */
enum pp_native_threads {
    PP_NATIVE_THREADS_IDLE,    /* no: a handler that samples another thread without Python frames asks it to */
    PP_NATIVE_THREADS_WATCHED, /* yes, and since the last time there was no such sample */
    PP_NATIVE_THREADS_WORK,    /* it is to go on */
};

struct pp_capture {
    _Atomic uint32_t enabled; /* 0: the handler returns at once, our wrappers pass calls through */
    _Atomic uint32_t pauses;  /* by the program; while there are any, samples have no stacks */
    _Atomic uint32_t stopped; /* by `pyprof ctl` or PYPROF_START=paused: threads have no timers (flush/control.h) */
    /* Offset of the tid in glibc's thread descriptor (a raw-clone thread has its creator's descriptor); 0: unknown. */
    _Atomic uint32_t descriptor_tid_offset;
    /* Interpreters of this process in order of discovery; the unused entries are NULL. */
    struct pp_python *_Atomic pythons[PP_MAX_PYTHONS];
    /* A sample is overdue after this much CPU time since the thread's last one: a period and a few ticks. 0: never. */
    _Atomic uint64_t overdue_ns;
    /* Handler time of one thread since the last review of the cost that causes another review. 0: never. */
    _Atomic uint64_t review_ns;

    /* Our timers' signal, 0 before the start. threads/signal.c changes it if the program uses that signal. */
    _Atomic int signal;
    _Atomic uint32_t application_reacts; /* the program believes that our signal's action is not SIG_DFL */

    /* The kernel's tick, 0 if it is not known; PYPROF_MAX_OVERHEAD. Constant since the start. */
    uint64_t tick_ns;
    uint32_t overhead_ppm;

    _Atomic uint32_t events_wanted;  /* every thread is to get a perf event */
    _Atomic uint32_t events_offered; /* threads that wait often may */
    _Atomic uint32_t threads_begun;  /* while they are: since the flush thread has cleared this */

    /* libunwind, if it walks native stacks; unwind rows do if this is NULL or during pauses (libunwind/libunwind.h). */
    const struct pp_libunwind *_Atomic libunwind;
    _Atomic uint32_t libunwind_pauses;

    struct pp_slot *_Atomic slots[PP_MAX_THREADS]; /* NULL from the first unused entry on */

    /* Code ranges of the native eval function; its .cold part has its own range. The flush thread finds them by the
     * function's symbol and jumps, and by native frames that hold an entry marker. Append-only: the count is stored
     * (release) after the range. */
    struct {
        uintptr_t start, end;
    } eval_ranges[PP_EVAL_RANGES];
    _Atomic uint32_t eval_range_count;
    /* Layout of each interpreter's native eval frame: distances to the end of the frame (CFA), constant in one build
     * and learnt by handlers (0: not yet). */
    struct {
        _Atomic uint32_t cframe_to_end; /* from the _PyCFrame (3.11, 3.12) */
        _Atomic uint32_t marker_to_end; /* from the entry marker */
        _Atomic uintptr_t body;         /* an address in its body, whose unwind row applies to these frames */
    } eval[PP_MAX_PYTHONS];
    /* Code of the greenlet extension, set by the flush thread: native frames further out belong to other greenlets. */
    _Atomic uintptr_t greenlet_start, greenlet_end;
    /* Parts of it in which the Python frames may be the next greenlet's already and the running one still the last. */
    struct {
        _Atomic uintptr_t start, end;
    } greenlet_switched[PP_GREENLET_CALLERS];

    _Atomic uint32_t frame_rules;    /* 1 << enum pp_frame_rule of the frames that were met, but PP_FRAME_ANY */
    _Atomic uint32_t native_threads; /* enum pp_native_threads */

    /* What is known of the sources of contexts; NULL: none was found. */
    const struct pp_context_facts *_Atomic contexts;
    /* Says whether a sample was taken in the interpreter that they are of since the flush thread has cleared this; and
     * holds another interpreter in which a sample was taken: its two words may be of different interpreters. */
    _Atomic uint32_t contexts_met;
    struct {
        const struct pp_python *_Atomic python;
        _Atomic uintptr_t interpreter_state;
    } contexts_unread;

    /* PYPROF_TRACES, constant since the start: a trace is selected if the low 64 bits of its id are this or less. */
    bool traces_kept;
    bool traces_only; /* samples of other traces, and of none, are but counted */
    uint64_t traces_highest;
    /* With traces_only: the program has begun so many traces (pyprof_traces_begin), or there was a sample of a selected
     * trace since the flush thread has cleared this; if there was none for long, timers are slow (threads/timers.h). */
    _Atomic uint32_t traces_begun, traces_met, traces_pause;

    /* Incremented when the flush thread drops its code definitions: cache entries of an older epoch are void. */
    _Atomic uint32_t code_epoch;

    /* Number of finalized interpreters: the next one's code objects may reuse their addresses and versions. */
    _Atomic uint32_t ended_pythons;

    /* Futex on which the flush thread sleeps; its value is the pending enum pp_wake bits. */
    _Atomic uint32_t wake;
    /* enum pp_modules_state: what is to be thought of code outside every known module. */
    _Atomic uint32_t modules;
};

extern struct pp_capture pp_capture;

/* Whether this process, or the process that it is a copy of, is being profiled. async-signal-safe. */
static inline bool pp_is_enabled(void)
{
    return atomic_load_explicit(&pp_capture.enabled, memory_order_acquire);
}

/* Whether samples of selected traces are kept one by one. async-signal-safe. */
static inline bool pp_traces_kept(void)
{
    return pp_capture.traces_kept;
}

/* Returns our signal's bit in a kernel signal mask. Only after the start. async-signal-safe. */
static inline uint64_t pp_profiler_signal_bit(void)
{
    return (uint64_t)1 << (atomic_load_explicit(&pp_capture.signal, memory_order_relaxed) - 1);
}

/* Returns NULL past the last slot, else a slot in whatever state. async-signal-safe. */
static inline struct pp_slot *pp_slot_at(uint32_t index)
{
    return index < PP_MAX_THREADS ? atomic_load_explicit(&pp_capture.slots[index], memory_order_acquire) : NULL;
}

/* Returns NULL past the last interpreter. async-signal-safe. */
static inline const struct pp_python *pp_python_at(unsigned index)
{
    return index < PP_MAX_PYTHONS ? atomic_load_explicit(&pp_capture.pythons[index], memory_order_acquire) : NULL;
}

/* Returns the interpreter whose module holds the address, NULL if none does. async-signal-safe. */
static inline const struct pp_python *pp_python_of_code(uintptr_t address)
{
    const struct pp_python *python;
    for (unsigned i = 0; (python = pp_python_at(i)) != NULL; i++)
        if (address >= python->module_start && address < python->module_end)
            return python;
    return NULL;
}

enum pp_wake {
    PP_WAKE_DRAIN = 1u << 0,    /* a ring is half full or lacks room for copies of stacks, or many threads have ended */
    PP_WAKE_MODULES = 1u << 1,  /* PP_MODULES_WANTED was set */
    PP_WAKE_STACK = 1u << 2,    /* a thread's unknown_stack_sp was set */
    PP_WAKE_STOP = 1u << 3,     /* the flush thread must stop */
    PP_WAKE_EXEC = 1u << 4,     /* exec is about to replace the program */
    PP_WAKE_COST = 1u << 5,     /* a thread's handlers have exceeded review_ns */
    PP_WAKE_EVENT = 1u << 6,    /* a thread has asked_for_event, threads_begun was set, all events are to end, or a
                                 * signal of ours is to be the program's */
    PP_WAKE_CONTEXTS = 1u << 7, /* a frame of a source of contexts was met first, or the program says so */
    PP_WAKE_WAITING = 1u << 8,  /* a thread without Python frames was sampled */
    PP_WAKE_TRACES = 1u << 9,   /* traces_pause is to end */
    PP_WAKE_SIGNAL = 1u << 10,  /* others send SIGURG to a program that leaves it alone */
};

/* A slot's perf event has this descriptor in the flush thread's table: the signal carries it. Other descriptors of ours
 * are smaller. */
#define PP_EVENT_FIRST_FD  32
#define PP_EVENT_SLOTS     1024
#define PP_EVENT_DRAW_EACH 100 /* signals: then the thread asks for another period */

/* Returns a live thread's slot, NULL if it has none. async-signal-safe, bounded by the number of slots. */
struct pp_slot *pp_slot_of(int tid);

/* Moves the slot's thread to our new signal. Takes the thread's mask and returns the mask that it should have: with our
 * former signal if the thread believes that it blocks it, and without the new one, even if the thread blocks all
 * signals. In that thread, signals held back. async-signal-safe. */
uint64_t pp_slot_follow_signal(struct pp_slot *slot, uint64_t mask);

/* Wakes the flush thread. async-signal-safe. */
void pp_wake_flush(enum pp_wake why);

#endif
