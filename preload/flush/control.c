/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"
#include "../account/interval_data.h"
#include "../base/config.h"
#include "../base/message.h"
#include "../base/proc_file.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../common/control.h"
#include "../log/directory.h"
#include "../log/notes.h"
#include "../log/segment.h"
#include "../threads/perf_clock.h"
#include "../threads/timers.h"
#include "drain.h"
#include "interval.h"
#include "rate.h"
#include "write_interval.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_SECOND 1000000000u
#define START_FIELD   22 /* of /proc/self/stat */
#define STAT_BYTES    1024

static struct {
    struct pp_control_orders orders;
    struct pp_control_obeyed obeyed;
    uint64_t device, inode, size; /* of the file as it was read last; all 0: there was none */
    int64_t changed_s, changed_ns;
    bool unread; /* it could not be read, or not by this process */
} control;

static uint64_t own_start_ticks(void)
{
    char stat[STAT_BYTES];
    uint64_t ticks = 0;
    stat[pp_read_file("/proc/self/stat", stat, sizeof stat - 1)] = 0;
    const char *at = pp_stat_field(stat, START_FIELD);
    for (; at && *at >= '0' && *at <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(*at - '0');
    return ticks;
}

/* Returns why the file is not trusted, NULL if it is. */
static const char *distrust(const struct stat *file)
{
    if (!S_ISREG(file->st_mode))
        return "it is no regular file";
    if (file->st_uid != 0 && file->st_uid != (uid_t)pp_syscall4(SYS_geteuid, 0, 0, 0, 0))
        return "it belongs to another user than this process's and root";
    if (file->st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it";
    return (uint64_t)file->st_size > PP_CONTROL_MAX ? "it is too long" : NULL;
}

/* Reads the file in the directory. Returns why it is not obeyed, NULL if it is, or has gone. */
static const char *read_file(int directory)
{
    static char text[PP_CONTROL_MAX + 1];
    struct stat file;
    int fd = pp_sys_openat(directory, PP_CONTROL_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    control.unread = fd == -EMFILE || fd == -ENFILE || fd == -ENOENT; /* the next time it may be otherwise */
    if (fd < 0)
        return control.unread ? NULL : "it cannot be read";
    bool there = pp_syscall4(SYS_fstat, fd, (long)&file, 0, 0) == 0;
    const char *why = there ? distrust(&file) : "it cannot be read";
    long length = why ? 0 : pp_sys_read(fd, text, PP_CONTROL_MAX);
    pp_sys_close(fd);
    if (why)
        return why;
    text[length > 0 ? length : 0] = 0;
    const struct pp_control_scope own = {(uint64_t)pp_sys_getpid(), own_start_ticks()};
    bool good = pp_control_read(text, &own, pp_config.starts_paused, &control.orders);
    return good ? NULL : "it is damaged, or of another version of pyprof";
}

/* Notes which file is there; returns whether it is another than before. */
static bool is_another(const char *path)
{
    struct stat file = {0};
    pp_sys_stat(path, &file, AT_SYMLINK_NOFOLLOW); /* all 0 if there is none */
    bool same = !control.unread && control.device == file.st_dev && control.inode == file.st_ino &&
                control.size == (uint64_t)file.st_size && control.changed_s == file.st_ctim.tv_sec &&
                control.changed_ns == file.st_ctim.tv_nsec;
    control.device = file.st_dev;
    control.inode = file.st_ino;
    control.size = (uint64_t)file.st_size;
    control.changed_s = file.st_ctim.tv_sec;
    control.changed_ns = file.st_ctim.tv_nsec;
    control.unread = false;
    return !same;
}

static void refresh_orders(void)
{
    static char path[PP_PATH_MAX + sizeof "/" PP_CONTROL_NAME];
    const char *directory = pp_write_directory();
    if (!is_another(pp_format(path, sizeof path, "%s/" PP_CONTROL_NAME, directory)))
        return;
    if (!control.inode) {
        control.orders = pp_control_default(pp_config.starts_paused);
        return;
    }
    int opened = pp_directory_open(directory, false);
    control.unread = opened < 0; /* as in another root: what is there is not for us */
    if (opened < 0)
        return;
    const char *why = read_file(opened);
    pp_sys_close(opened);
    if (why)
        pp_warn_once(PP_CAUSE_CONTROL, "%s is not obeyed: %s", path, why);
}

static void pause_here(void)
{
    pp_interval_drain(false);
    pp_drain_rest();
    atomic_store(&pp_capture.stopped, 1);
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1))
        if (atomic_load(&slot->state) == PP_SLOT_LIVE) {
            pp_event_close(slot);
            pp_timer_disarm(slot, PP_TIMER_NONE);
        }
}

static void resume_here(void)
{
    pp_interval_drain(false);
    pp_drain_rest();
    atomic_store(&pp_capture.stopped, 0);
    for (struct pp_slot *slot = pp_slot_at(0); slot; slot = pp_slot_at(slot->index + 1)) {
        if (atomic_load(&slot->state) != PP_SLOT_LIVE || !atomic_load(&slot->tid))
            continue;
        slot->flush.watched_ns = slot->flush.closed_ns; /* the watchdog waits for a sample from here on */
        if (atomic_load(&slot->timer) == PP_TIMER_NONE)
            pp_timer_arm(slot, PP_FIRST_RANDOM); /* if this fails, the watchdog tries again, and says so */
    }
}

/* Does what is ordered; returns whether that is anything else than before. */
static bool obey(uint64_t now_unix_ns)
{
    struct pp_control_obeyed *obeyed = &control.obeyed;
    bool paused = pp_control_is_paused(&control.orders, now_unix_ns / NS_PER_SECOND),
         changed = obeyed->written != control.orders.written;
    if (paused != (atomic_load(&pp_capture.stopped) != 0)) {
        if (paused)
            pause_here();
        else
            resume_here();
        pp_note(0, paused ? "paused by pyprof ctl: what the program uses from here on is [paused]"
                          : "resumed by pyprof ctl: samples are taken from here on");
        obeyed->since_unix_ns = now_unix_ns;
        changed = true;
    }
    uint64_t hz = control.orders.hz;
    if (hz != obeyed->hz) {
        char line[80];
        pp_interval_drain(false);
        pp_rate_want(hz ? NS_PER_SECOND / hz : 0);
        pp_note(0, pp_format(line, sizeof line, "asked by pyprof ctl for %lu samples per CPU second",
                             NS_PER_SECOND / pp_timers_wanted_ns()));
        changed = true;
    }
    if (changed && !obeyed->since_unix_ns)
        obeyed->since_unix_ns = now_unix_ns;
    *obeyed = (struct pp_control_obeyed){paused, obeyed->since_unix_ns, hz, control.orders.written};
    pp_segment_set_control(obeyed);
    return changed;
}

void pp_control_begin(void)
{
    control.orders = pp_control_default(pp_config.starts_paused);
    refresh_orders();
    uint64_t now_unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    bool paused = pp_control_is_paused(&control.orders, now_unix_ns / NS_PER_SECOND);
    atomic_store(&pp_capture.stopped, paused);
    if (paused || control.orders.written)
        control.obeyed = (struct pp_control_obeyed){paused, now_unix_ns, 0, control.orders.written};
    pp_segment_set_control(&control.obeyed);
}

uint64_t pp_control_poll(uint64_t now_monotonic_ns, bool *changed)
{
    refresh_orders();
    uint64_t now_unix_ns = pp_sys_clock_ns(CLOCK_REALTIME), until_unix_s = control.orders.until_unix_s;
    *changed = obey(now_unix_ns);
    uint64_t until_ns = until_unix_s < UINT64_MAX / NS_PER_SECOND ? until_unix_s * NS_PER_SECOND : UINT64_MAX;
    uint64_t next_ns = atomic_load(&pp_capture.stopped) ? now_monotonic_ns + NS_PER_SECOND : UINT64_MAX;
    pp_interval.anything_new |= *changed;
    if (until_ns > now_unix_ns && until_ns != UINT64_MAX && now_monotonic_ns + until_ns - now_unix_ns < next_ns)
        next_ns = now_monotonic_ns + until_ns - now_unix_ns;
    return next_ns;
}

void pp_control_after_fork(void)
{
    control.unread = true;
}
