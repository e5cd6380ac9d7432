/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../doctor/checks.h"
#include "../load/files.h"
#include "../model/selection.h"

#define CLOCKS_APART UINT64_C(2000000000) /* a log is not older than its process, give or take this */
#define LATELY_NS    UINT64_C(1000000000)
#define MAX_DIGITS   9

static bool is_pid(const struct pt_cli *cli)
{
    const char *text = cli->argument_count == 1 ? cli->arguments[0] : "";
    return *text && strlen(text) <= MAX_DIGITS && !text[strspn(text, "0123456789")] && access(text, F_OK) != 0;
}

static bool is_text(struct pt_text text, const char *known)
{
    return known && text.length && strlen(known) == text.length && memcmp(text.data, known, text.length) == 0;
}

static bool has_library(const struct pt_process_info *subject)
{
    const char *at = subject->maps;
    PT_AUTO_FREE char *path = pt_next_mapped(&at, "libpyprof");
    return path != NULL;
}

/* Returns whether the process is in our namespace of that kind. */
static bool shares(int pid, const char *kind)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kind);
    if (stat(path, &theirs) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    return stat(path, &ours) == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* Returns a path that still leads to the same directory when the process has ended and its PID is another's. */
static char *lasting_path(const struct pt_process_info *subject, const char *inside, int *descriptor)
{
    PT_AUTO_FREE char *path = pt_process_info_path(subject, inside), *top = pt_process_info_path(subject, "/");
    struct pt_buffer lasting = {0};
    struct stat theirs, ours;
    bool same_root = shares(subject->pid, "mnt") && stat(top, &theirs) == 0 && stat("/", &ours) == 0 &&
                     theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
    if (same_root && *inside == '/') {
        pt_buffer_text(&lasting, inside);
    } else {
        /* Hold the directory itself if it exists: the volumes of a container are gone when it ends. */
        int held = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        bool whole = held >= 0;
        if (!whole && *inside == '/')
            held = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
        *descriptor = held + 1;
        if (held < 0)
            pt_buffer_text(&lasting, path);
        else
            pt_buffer_format(&lasting, "/proc/self/fd/%d%s", held, whole ? "" : inside);
    }
    return lasting.data;
}

static bool begin_with(struct pt_target *target, const struct pt_process_info *subject)
{
    char *(*const places[])(const struct pt_process_info *) = {pt_output_directory, pt_output_fallback};
    if (!subject->maps || !subject->environment) {
        bool mine = geteuid() == 0 || geteuid() == subject->uid;
        return pt_error(
            mine ? "process %d of user %u may not be inspected: the capability SYS_PTRACE is missing (a container's "
                   "root has it with --cap-add SYS_PTRACE)"
                 : "process %d belongs to user %u: run pyprof as that user or as root",
            subject->pid, (unsigned)subject->uid);
    }
    if (!has_library(subject))
        return pt_error("process %d is not profiled: 'pyprof doctor %d' says why", subject->pid, subject->pid);
    for (size_t i = 0; i < 2; i++) {
        PT_AUTO_FREE char *inside = places[i](subject);
        target->arguments[i] = lasting_path(subject, inside, &target->descriptors[i]);
    }
    target->pids_agree = subject->pid == subject->pid_inside;
    if (subject->age_ns)
        target->since_unix_ns = pt_clock_ns(CLOCK_REALTIME) - subject->age_ns - CLOCKS_APART;
    char text[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(text, sizeof text, file))
        *text = '\0';
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
    target->boot_id = *text ? pt_strdup(text) : NULL;
    struct utsname name;
    *PT_APPEND(&target->family) = (struct pt_relative){
        .pid = (uint64_t)subject->pid_inside,
        .host = shares(subject->pid, "uts") && uname(&name) == 0 ? pt_strdup(name.nodename) : NULL};
    snprintf(target->name, sizeof target->name, "process %d", subject->pid);
    /* A run may have begun after the process that is asked for, and other runs are none of its family. */
    target->request.paths = target->arguments;
    target->request.path_count = 2;
    target->request.all = true;
    return true;
}

/* `pyprof run` and shells are not profiled themselves: the nearest descendant that is takes their place. */
static void find_descendant(struct pt_process_info *subject)
{
    uint32_t count = 0;
    PT_AUTO_FREE int *below = subject->maps && !has_library(subject) ? pt_descendants(subject->pid, &count) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct pt_process_info one;
        if (!pt_process_info_read(below[i], &one))
            continue;
        if (has_library(&one)) {
            pt_process_info_free(subject);
            *subject = one;
            break;
        }
        pt_process_info_free(&one);
    }
}

bool pt_target_begin(struct pt_target *target, const struct pt_cli *cli)
{
    *target =
        (struct pt_target){.pids = cli->request.select.pid, .request = cli->request, .lock = PTHREAD_MUTEX_INITIALIZER};
    PT_AUTO_FREE char *directory = cli->request.path_count ? NULL : pt_default_directory();
    if (!is_pid(cli))
        return pt_can_list(directory ? directory : cli->request.paths[0]);
    struct pt_process_info subject;
    target->pid = atoi(cli->arguments[0]);
    if (!pt_process_info_read(target->pid, &subject))
        return pt_error("%s: no such process, and no such file or directory", cli->arguments[0]);
    find_descendant(&subject);
    bool good = begin_with(target, &subject);
    pt_process_info_free(&subject);
    return good;
}

/* Parents that write no log themselves are known to the kernel, as long as they live. */
static bool is_descendant(struct pt_target *target, uint64_t pid)
{
    uint64_t now = pt_clock_ns(CLOCK_MONOTONIC);
    if (!target->pids_agree)
        return false;
    if (!target->descendants_at_ns || now - target->descendants_at_ns > LATELY_NS) {
        free(target->descendants);
        target->descendants = pt_descendants(target->pid, &target->descendant_count);
        target->descendants_at_ns = now;
    }
    for (uint32_t i = 0; i < target->descendant_count; i++)
        if ((uint64_t)target->descendants[i] == pid)
            return true;
    return false;
}

/* Compares instances, which are unique; without them pids, which containers that write into one directory share. */
static bool is_relative(struct pt_target *target, const struct pt_log_process *process)
{
    bool near = false, taken = false;
    for (PT_EACH(const struct pt_relative, relative, &target->family)) {
        if (is_text(process->instance, relative->instance) || is_text(process->parent_instance, relative->instance))
            return true;
        bool same = (!relative->run || is_text(process->run, relative->run) || !process->run.length) &&
                    (!relative->host || is_text(process->host, relative->host) || !process->host.length);
        near |= same && (relative->pid == process->pid || relative->pid == process->ppid);
        taken |= !same && relative->pid == process->pid;
    }
    return near || (!taken && is_descendant(target, process->pid));
}

static void learn(struct pt_target *target, const struct pt_log_process *process)
{
    struct pt_relative *own = &target->family.items[0];
    for (uint32_t i = 0; i < target->family.count; i++)
        if (target->family.items[i].pid == process->pid && is_text(process->instance, target->family.items[i].instance))
            return;
    const struct pt_relative relative = {process->pid, pt_strndup(process->run.data, process->run.length),
                                         pt_strndup(process->instance.data, process->instance.length),
                                         pt_strndup(process->host.data, process->host.length)};
    if (own->pid == process->pid && !own->instance) {
        free(own->host);
        *own = relative;
    } else {
        *PT_APPEND(&target->family) = relative;
    }
}

static bool wants(struct pt_target *target, const struct pt_log_process *process)
{
    if (target->pids && !pt_pid_is_listed(target->pids, process->pid))
        return false;
    if (!target->pid)
        return true;
    if (process->start_unix_ns < target->since_unix_ns)
        return false;
    if (target->boot_id && process->boot_id.length && !is_text(process->boot_id, target->boot_id))
        return false;
    if (!is_relative(target, process))
        return false;
    learn(target, process);
    return true;
}

bool pt_target_wants(void *data, const struct pt_log_process *process)
{
    struct pt_target *target = data;
    pthread_mutex_lock(&target->lock);
    bool wanted = wants(target, process);
    pthread_mutex_unlock(&target->lock);
    return wanted;
}

void pt_target_free(struct pt_target *target)
{
    for (size_t i = 0; i < sizeof target->arguments / sizeof target->arguments[0]; i++)
        free(target->arguments[i]);
    for (uint32_t i = 0; i < target->family.count; i++) {
        free(target->family.items[i].run);
        free(target->family.items[i].instance);
        free(target->family.items[i].host);
    }
    for (size_t i = 0; i < sizeof target->descriptors / sizeof *target->descriptors; i++)
        if (target->descriptors[i])
            close(target->descriptors[i] - 1);
    free(target->family.items);
    free(target->descendants);
    free(target->boot_id);
    *target = (struct pt_target){0};
}
