/* SPDX-License-Identifier: Apache-2.0 */
#include "handover.h"
#include "../base/fd_table.h"
#include "../base/libc.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../handler/handler.h"
#include "perf_clock.h"
#include <signal.h>
#include <string.h>

#define TURN_NS       100000
#define TURNS_MAX     10000u /* more than a second where nothing else runs */
#define ASK_EACH      100u   /* turns */
#define ANSWER_MAX    500u   /* turns, for the flush thread to answer */
#define LOWEST_QUEUED 32     /* signals below are pending once at most */
#define STAT_MAX      511    /* bytes of /proc/self/task/TID/stat: its third word is what is wanted */
#define STATUS_MAX    16383  /* bytes of /proc/self/task/TID/status: its signals come after a list of groups */

static _Atomic int former;      /* the signal that the flush thread is to answer for; 0: none, or it has none pending */
static _Atomic int waiting_tid; /* the thread in pp_handover_wait */

/* Threads that believe to block every signal in truth do not block our former signal. */
static bool has_to_follow(const struct pp_slot *slot)
{
    return atomic_load(&slot->state) == PP_SLOT_LIVE && slot->thread.believes_blocked &&
           slot->thread.profiler_signal != atomic_load(&pp_capture.signal) &&
           atomic_load(&slot->tid) != pp_sys_gettid();
}

/* The thread handles the signal on its way back to the program; a call that is never restarted may end with EINTR. Of
 * real-time signals each is queued: it is asked once. Under the lock of threads/signal.c. */
static void ask_to_follow(struct pp_slot *slot)
{
    int signal = slot->thread.profiler_signal;
    siginfo_t info = {.si_signo = signal, .si_code = SI_TIMER};
    info.si_value.sival_ptr = (void *)((uint64_t)PP_SIGVAL_FOLLOW << 32);
    struct sigaction now;
    if (slot->thread.asked_to_follow == signal && signal >= LOWEST_QUEUED)
        return;
    if (pp_real()->sigaction(signal, NULL, &now) != 0 || now.sa_sigaction != pp_handle_signal)
        return; /* it is the program's by now: the wait was in vain */
    slot->thread.asked_to_follow = signal;
    pp_syscall4(SYS_rt_tgsigqueueinfo, pp_sys_getpid(), atomic_load(&slot->tid), signal, (long)&info);
}

static bool is_running(const struct pp_slot *slot)
{
    char stat[STAT_MAX + 1];
    size_t length = pp_read_task_file(atomic_load(&slot->tid), "stat", stat, STAT_MAX);
    stat[length] = 0;
    const char *name_end = strrchr(stat, ')');
    return name_end && strncmp(name_end, ") R", 3) == 0;
}

enum ask { ASK_NONE, ASK_RUNNING, ASK_ALL };

/* Returns how many threads have still to follow. */
static unsigned count_followers(enum ask ask)
{
    unsigned count = 0;
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (!has_to_follow(slot)) {
            slot->thread.asked_to_follow = 0;
        } else {
            count++;
            if (ask == ASK_ALL || (ask == ASK_RUNNING && is_running(slot)))
                ask_to_follow(slot);
        }
    return count;
}

void pp_handover_ask_running(void)
{
    count_followers(ASK_RUNNING);
}

static bool has_other_threads(void)
{
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE && atomic_load(&slot->tid) != pp_sys_gettid())
            return true;
    return false;
}

/* Returns whether a thread has a signal of that number pending, but for the thread that waits. A thread may hold its
 * signals back for a moment, as libc does while it makes a thread. */
static bool is_pending(int signal, char status[STATUS_MAX + 1])
{
    for (const struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        int tid = atomic_load(&slot->tid);
        if (atomic_load(&slot->state) != PP_SLOT_LIVE || tid == atomic_load(&waiting_tid))
            continue;
        status[pp_read_task_file(tid, "status", status, STATUS_MAX)] = 0;
        if (*status && (!strstr(status, "\nSigPnd:") || pp_status_mask(status, "SigPnd") >> (signal - 1) & 1))
            return true;
    }
    return false;
}

void pp_handover_answer(void)
{
    static char status[STATUS_MAX + 1];
    int signal = atomic_load(&former);
    if (signal && !is_pending(signal, status))
        atomic_compare_exchange_strong(&former, &signal, 0);
}

bool pp_handover_wait(int signal)
{
    static const struct timespec turn = {0, TURN_NS};
    static char status[STATUS_MAX + 1]; /* one thread at a time waits */
    bool quiet = false;
    unsigned followed_at = 0; /* the turn in which all had followed, plus 1 */
    atomic_store(&waiting_tid, pp_sys_gettid());
    pp_events_tell_end(pp_events_need_sigurg);
    for (unsigned i = 0; i < TURNS_MAX; i++) {
        bool here = pp_fd_table_here() || i + 1 > followed_at + ANSWER_MAX;
        if (!followed_at && !count_followers(i % ASK_EACH ? ASK_NONE : ASK_ALL) && !pp_events_are_open()) {
            followed_at = i + 1;
            atomic_store(&former, has_other_threads() ? signal : 0);
        }
        quiet = followed_at && (!atomic_load(&former) || (here && !is_pending(signal, status)));
        if (quiet)
            break;
        pp_wake_flush(PP_WAKE_EVENT);
        pp_syscall4(SYS_nanosleep, (long)&turn, 0, 0, 0);
    }
    atomic_store(&former, 0);
    return quiet;
}
