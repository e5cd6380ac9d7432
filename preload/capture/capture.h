/* What the rest of preload/ and the handler share. The handler reads, start-up and the flush thread write. */
#ifndef PP_CAPTURE_CAPTURE_H
#define PP_CAPTURE_CAPTURE_H

#include "../base/process.h"
#include "libunwind_walk.h"
#include "python_layout.h"
#include "slot.h"
#include <signal.h>

#define PP_MAX_THREADS 16384
#define PP_EVAL_RANGES 16
#define PP_MAX_PYTHONS 4

struct pp_capture {
    _Atomic uint32_t enabled; /* 0: the handler returns at once */
    /* Where glibc's thread descriptor holds the tid (a raw-clone thread has its creator's descriptor); 0: unknown. */
    _Atomic uint32_t descriptor_tid_offset;
    /* The interpreters of this process, in the order of their appearance; NULL from the first unused entry on. */
    struct pp_python *_Atomic pythons[PP_MAX_PYTHONS];
    /* CPU time since a thread's last sample from which on a sample is overdue: a period and some ticks. 0: never. */
    _Atomic uint64_t overdue_ns;
    /* Of handlers in one thread, from which on the flush thread is to judge what samples cost. 0: no flush thread yet.
     */
    _Atomic uint64_t dear_ns;

    /* The signal of our timers, 0 before the start. threads/signal.c changes it when the program turns out to use it.
     */
    _Atomic int signal;
    _Atomic uint32_t application_reacts; /* the program has set our signal to something but SIG_DFL, as it believes */

    /* The library that walks native stacks; NULL: unwind rows do. They do also while there are pauses (libunwind.h). */
    const struct pp_libunwind *_Atomic libunwind;
    _Atomic uint32_t libunwind_pauses;

    struct pp_slot *_Atomic slots[PP_MAX_THREADS]; /* NULL from the first unused entry on */

    /* Code ranges of the native eval function (its .cold part is one of its own), found by the flush thread: by the
     * function's symbol and its jumps, and by frames that hold an entry marker. Append-only: count is stored (release)
     * after the range. */
    struct {
        uintptr_t start, end;
    } eval_ranges[PP_EVAL_RANGES];
    _Atomic uint32_t eval_range_count;
    /* How the eval function of each interpreter lays out its native frame: constants of the build, learnt by handlers
     * (0: not yet). Distances from the frame's end (CFA). */
    struct {
        _Atomic uint32_t cframe_to_end; /* 3.11, 3.12 */
        _Atomic uint32_t marker_to_end; /* of the entry marker; */
        _Atomic uintptr_t body;         /* and an address in its body, whose unwind row goes with it */
    } eval[PP_MAX_PYTHONS];
    /* Code of the greenlet extension: native frames beyond it belong to other greenlets. The flush thread's. */
    _Atomic uintptr_t greenlet_start, greenlet_end;

    /* Raised by the flush thread when it forgets what the code caches hold: entries of an older epoch are void. */
    _Atomic uint32_t code_epoch;

    /* Interpreters that have ended: the next one's code objects may have the addresses and the numbers of theirs. */
    _Atomic uint32_t ended_pythons;

    /* Futex on which the flush thread sleeps: enum pp_wake bits, why it should wake up. */
    _Atomic uint32_t wake;
    /* Handlers met code outside every known module. They wake the flush thread once; it clears this when it has read
     * the list of modules, at most once an interval (code that a JIT made stays unknown). */
    _Atomic uint32_t unknown_module;
};

extern struct pp_capture pp_capture;

/* Our signal as a bit of a kernel's signal mask. After the start only. async-signal-safe. */
static inline uint64_t pp_own_signal_bit(void)
{
    return (uint64_t)1 << (atomic_load_explicit(&pp_capture.signal, memory_order_relaxed) - 1);
}

/* NULL beyond the last one: for every slot that exists, whatever its state. async-signal-safe. */
static inline struct pp_slot *pp_slot_at(uint32_t index)
{
    return index < PP_MAX_THREADS ? atomic_load_explicit(&pp_capture.slots[index], memory_order_acquire) : NULL;
}

/* NULL beyond the last one. async-signal-safe. */
static inline const struct pp_python *pp_python_at(unsigned index)
{
    return index < PP_MAX_PYTHONS ? atomic_load_explicit(&pp_capture.pythons[index], memory_order_acquire) : NULL;
}

/* The interpreter whose code holds the address, NULL if none does. async-signal-safe. */
static inline const struct pp_python *pp_python_of_code(uintptr_t address)
{
    const struct pp_python *python;
    for (unsigned i = 0; (python = pp_python_at(i)) != NULL; i++)
        if (address >= python->module_start && address < python->module_end)
            return python;
    return NULL;
}

/* The signal handler. SA_SIGINFO | SA_RESTART, all signals blocked. */
void pp_handle_signal(int signal, siginfo_t *info, void *context);

enum pp_wake {
    PP_WAKE_DRAIN = 1,   /* a ring is half full, or many threads have ended */
    PP_WAKE_MODULES = 2, /* unknown_module was raised */
    PP_WAKE_STACK = 4,   /* a thread's unknown_stack_sp was set */
    PP_WAKE_STOP = 8,    /* the thread is to end (flush/loop.h) */
    PP_WAKE_EXEC = 32,   /* the program may be replaced in a moment */
    PP_WAKE_COST = 64,   /* handlers cost much */
};

/* The slot of a live thread, NULL if it has none. async-signal-safe, bounded by the number of slots. */
struct pp_slot *pp_slot_of(int tid);

/* Our signal has changed: the slot's thread follows. Takes the thread's mask and returns the mask that it is to have:
 * with the signal that was ours if the thread believes to block it, and without the new one, which it may block
 * together with all others. In that thread, signals held back. async-signal-safe. */
uint64_t pp_slot_follow_signal(struct pp_slot *slot, uint64_t mask);

/* Ends the flush thread's sleep. async-signal-safe. */
void pp_wake_flush(enum pp_wake why);

#endif
