/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether samples can be taken: what the kernel permits here, which a child tries; of a process the library's
 * thread, its timers, its signal, and the limits on all three. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../preload/common/pseudo_frames.h"
#include "../../preload/common/settings.h"
#include "../base/memory.h"
#include "../load/control_file.h"
#include "checks.h"

#define OUR_THREAD    "pyprof"
#define OUR_SIGVAL    0x70797072u /* upper half of the timers' values: pt_slot_sigval */
#define LOOK_AGAIN_US 50000       /* signals are blocked for a moment at fork and at the end of threads */
#define NEARLY_ALL    0.95
#define FEW_TIMERS    64 /* left of RLIMIT_SIGPENDING */
#define TOPIC         "machine"
#define KILLED        (-1)

/* Returns 0, an errno, or KILLED if a signal killed the child, as a seccomp filter does. */
static int try_in_child(int (*attempt)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(attempt());
    if (child < 0 || waitpid(child, &status, 0) != child)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

static const char *reason_of(int result)
{
    return result == KILLED ? "a seccomp filter kills processes that try" : strerror(result);
}

static int try_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    struct itimerspec later = {.it_value = {.tv_sec = 3600}};
    int id;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id) != 0 ||
        syscall(SYS_timer_settime, id, 0, &later, NULL) != 0)
        return errno;
    return 0;
}

static int try_copy(void)
{
    char from = 'x', to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

static int try_file(void)
{
    char from = 'x', to = 0;
    int file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    return file >= 0 && pread(file, &to, 1, (off_t)(uintptr_t)&from) == 1 && to == from ? 0 : errno;
}

void pt_check_machine(const struct pt_process_info *subject, struct pt_findings *findings)
{
    int timer = try_in_child(try_timer), copy = try_in_child(try_copy), file = copy ? try_in_child(try_file) : 0;
    if (timer) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "a timer cannot be made here: %s", reason_of(timer));
        pt_remedy(findings, timer == EAGAIN ? "raise 'ulimit -i'"
                                            : "have the seccomp profile permit timer_create, timer_settime and "
                                              "timer_delete, as Docker's does");
    }
    if (copy && !file)
        pt_find(findings, PT_LEVEL_OK, TOPIC,
                "process_vm_readv is not permitted here (%s): memory is read by /proc/self/mem, which costs more",
                reason_of(copy));
    if (file) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC,
                "neither process_vm_readv (%s) nor /proc/self/mem can be used here: native frames only",
                reason_of(copy));
        pt_remedy(findings, "have the seccomp profile permit it: it is used on the own process only");
    }
    if (!timer && !copy)
        pt_find(findings, PT_LEVEL_OK, TOPIC, "timer_create and process_vm_readv work");
    pt_check_limit(subject, PT_LEVEL_WARN, findings);
}

struct timers {
    bool seen;
    int count, signal;
};

struct threads {
    int pid, count, blocked, a_blocked, signal;
    bool ours, stopped; /* stopped: perhaps within the handler, where the signal is blocked */
};

/* The file has the lines "ID: n", "signal: n/value", "notify: …" and "ClockID: …" for each timer. */
static struct timers read_timers(int pid)
{
    struct timers timers = {0};
    PT_AUTO_FREE char *text = pt_proc_text(pid, "timers", NULL);
    timers.seen = text;
    for (const char *line = text; line && (line = strstr(line, "signal: ")); line++) {
        unsigned long long value;
        int number;
        if (sscanf(line, "signal: %d/%llx", &number, &value) != 2 || value >> 32 != OUR_SIGVAL)
            continue;
        timers.count++;
        timers.signal = number;
    }
    return timers;
}

static bool is_blocked(int pid, int tid, int signal)
{
    char name[64];
    snprintf(name, sizeof name, "task/%d/status", tid);
    PT_AUTO_FREE char *status = pt_proc_text(pid, name, NULL);
    return status && pt_status_number(status, "SigBlk", 16) >> (signal - 1) & 1;
}

static void check_task(void *data, int tid)
{
    struct threads *threads = data;
    char name[64];
    snprintf(name, sizeof name, "task/%d/comm", tid);
    PT_AUTO_FREE char *comm = pt_proc_text(threads->pid, name, NULL);
    if (!comm)
        return;
    comm[strcspn(comm, "\n")] = '\0';
    /* the main thread may have this name as well: of a program that is called so */
    if (strcmp(comm, OUR_THREAD) == 0 && tid != threads->pid) {
        threads->ours = true;
    } else {
        threads->count++;
        if (!threads->stopped && is_blocked(threads->pid, tid, threads->signal) &&
            (usleep(LOOK_AGAIN_US), is_blocked(threads->pid, tid, threads->signal))) {
            threads->blocked++;
            threads->a_blocked = tid;
        }
    }
}

void pt_check_limit(const struct pt_process_info *subject, enum pt_level level, struct pt_findings *findings)
{
    const char *queued = strstr(subject->status, "\nSigQ:");
    unsigned long used, limit;
    if (!queued || sscanf(queued + 6, "%lu/%lu", &used, &limit) != 2 ||
        (used + FEW_TIMERS < limit && (double)used < NEARLY_ALL * (double)limit))
        return;
    pt_find(findings, level, "limits",
            "%lu of %lu timers and pending signals are in use, by all processes of user %u together; each thread takes "
            "one",
            used, limit, (unsigned)subject->real_uid);
    pt_remedy(findings, "raise the limit before the start: ulimit -i, LimitSIGPENDING= of systemd");
}

bool pt_is_paused(const struct pt_process_info *subject)
{
    const char *start = pt_process_info_variable(subject, pp_setting_names[PP_SETTING_START]);
    const struct pp_control_scope own = {(uint64_t)subject->pid_inside, subject->start_ticks};
    PT_AUTO_FREE char *inside = pt_output_directory(subject), *directory = pt_process_info_path(subject, inside);
    return pt_control_pauses(directory, &own, start && strcmp(start, "paused") == 0) &&
           !read_timers(subject->pid).count; /* it may not obey the file */
}

void pt_remedy_pause(const struct pt_process_info *subject, struct pt_findings *findings)
{
    PT_AUTO_FREE char *inside = pt_output_directory(subject), *directory = pt_process_info_path(subject, inside);
    PT_AUTO_BUFFER command = {0};
    if (pt_control_pauses(directory, NULL, false))
        pt_append_resume(&command, inside);
    else
        pt_buffer_format(&command, "pyprof ctl %d resume", subject->pid);
    pt_remedy(findings, "%s", command.data);
}

static void check_timers(const struct pt_process_info *subject, const struct timers *timers,
                         const struct threads *threads, struct pt_findings *findings)
{
    if (!timers->seen) {
        pt_find(findings, PT_LEVEL_WARN, "timers",
                "this kernel does not list timers (CONFIG_CHECKPOINT_RESTORE), or not to you");
        pt_remedy(findings, "check below whether the profile grows");
        return;
    }
    if (timers->count && timers->count >= threads->count) {
        pt_find(findings, PT_LEVEL_OK, "timers", "armed: %d for %d thread%s", timers->count, threads->count,
                pt_plural((uint64_t)threads->count, "s"));
    } else if (timers->count) {
        pt_find(findings, PT_LEVEL_WARN, "timers", "%d for %d threads: some are not sampled", timers->count,
                threads->count);
        pt_remedy(findings, "threads that have just begun get one within a second: ask again");
    } else if (pt_is_paused(subject)) {
        PT_AUTO_FREE char *directory = pt_output_directory(subject);
        pt_find(findings, PT_LEVEL_WARN, "timers",
                "none is armed: the process is paused, by PYPROF_START or by pyprof ctl in %s", directory);
        pt_remedy_pause(subject, findings);
        return;
    } else {
        pt_find(findings, PT_LEVEL_FAIL, "timers", "none is armed: no thread is sampled");
        if (pt_status_number(subject->status, "Seccomp", 10))
            pt_remedy(findings, "a seccomp filter is active: have it permit timer_create, timer_settime and "
                                "timer_delete");
        else
            pt_remedy(findings,
                      "if it was resumed just now, ask again in ten seconds; else read the first lines of the process "
                      "on stderr");
    }
    pt_check_limit(subject, timers->count ? PT_LEVEL_WARN : PT_LEVEL_FAIL, findings);
}

static void check_signal(const struct pt_process_info *subject, const struct threads *threads,
                         struct pt_findings *findings)
{
    const char *name = pp_setting_signal_name(threads->signal);
    PT_AUTO_BUFFER text = {0};
    if (name)
        pt_buffer_format(&text, "SIG%s", name);
    else
        pt_buffer_format(&text, "signal %d", threads->signal);
    if (!(pt_status_number(subject->status, "SigCgt", 16) >> (threads->signal - 1) & 1)) {
        pt_find(findings, PT_LEVEL_FAIL, "signal", "%s has no handler: something took the library's away", text.data);
        pt_remedy(findings, "PYPROF_SIGNAL names another signal, 34 to 64 for instance");
    } else if (threads->blocked) {
        bool all = threads->blocked == threads->count;
        pt_find(findings, all ? PT_LEVEL_FAIL : PT_LEVEL_WARN, "signal",
                "%s is blocked in %d of %d thread%s (%d) by a system call of their own: not sampled, "
                "in " PP_PSEUDO_UNSAMPLED,
                text.data, threads->blocked, threads->count, pt_plural((uint64_t)threads->count, "s"),
                threads->a_blocked);
        pt_remedy(findings, "PYPROF_SIGNAL names another signal, if they do not block them all");
    } else {
        pt_find(findings, PT_LEVEL_OK, "signal", "%s is handled, and blocked in no thread", text.data);
    }
}

void pt_check_sampling(const struct pt_process_info *subject, struct pt_findings *findings)
{
    struct timers timers = read_timers(subject->pid);
    struct threads threads = {.stopped = strstr(subject->status, "\nState:\tT"),
                              .pid = subject->pid,
                              .signal = timers.count ? timers.signal : pt_setting_signal(subject)};
    pt_each_task(subject->pid, check_task, &threads);
    if (!threads.ours && !subject->maps) {
        pt_find(findings, PT_LEVEL_FAIL, "thread", "no thread of the library is in it: it is not profiled");
        pt_remedy(findings, "a user who may see more of it can ask why");
        return;
    }
    if (threads.ours) {
        pt_find(findings, PT_LEVEL_OK, "thread", "the library's own thread is there");
    } else if (pt_status_number(subject->status, "Seccomp", 10)) {
        pt_find(findings, PT_LEVEL_FAIL, "thread", "the library's own thread is not there: a seccomp filter is active");
        pt_remedy(findings, "profiling ends before a program installs a filter, and does not begin under a filter that "
                            "kills for its system calls; the process's stderr says which");
        return;
    } else {
        pt_find(findings, PT_LEVEL_FAIL, "thread", "the library's own thread is not there: nothing is written");
        pt_remedy(findings, "it could not be made (limits on processes or memory?), or the program has just begun or "
                            "is ending: ask again");
    }
    check_timers(subject, &timers, &threads, findings);
    check_signal(subject, &threads, findings);
}
