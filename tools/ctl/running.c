/* SPDX-License-Identifier: Apache-2.0 */
#include "running.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../base/memory.h"
#include "../base/numbers.h"
#include "../doctor/checks.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../load/runs.h"
#include "../model/frame_text.h"

/* A process of another container cannot be asked whether it runs: its log was written to lately. Paused or resting ones
 * write each ten seconds, if they use CPU time at all. */
#define LATELY_NS UINT64_C(60000000000)

static void add_log(void *files, const char *path)
{
    pt_files_add(files, path, false);
}

static bool may_run(const struct pt_file *file, uint64_t now_ns)
{
    return file->alive == PT_ALIVE_YES ||
           (file->alive == PT_ALIVE_UNKNOWN && file->written_unix_ns + LATELY_NS > now_ns);
}

/* Returns whether the file has the process's latest part. */
static bool is_latest(const struct pt_files *files, const struct pt_file *file)
{
    for (uint32_t i = 0; i < files->count; i++)
        if (files->items[i].segment > file->segment && strcmp(files->items[i].instance, file->instance) == 0)
            return false;
    return true;
}

void pt_running_find(struct pt_running *running, const char *directory, uint64_t pid)
{
    PT_AUTO(pt_files_free) struct pt_files files = {0};
    uint64_t now_ns = pt_clock_ns(CLOCK_REALTIME);
    *running = (struct pt_running){0};
    pt_each_log(directory, add_log, &files);
    for (PT_EACH(const struct pt_file, file, &files)) {
        if (!file->foreign && may_run(file, now_ns) && (!pid || file->pid == pid) && is_latest(&files, file)) {
            running->paths =
                pt_grow(running->paths, &running->capacity, (uint64_t)running->count + 1, sizeof *running->paths);
            running->paths[running->count++] = pt_strdup(file->path);
        }
    }
}

bool pt_running_still(const struct pt_running *running, uint32_t process)
{
    enum pt_end end = pt_end_of(running->profile, process);
    return end == PT_END_RUNNING || end == PT_END_UNKNOWN;
}

bool pt_running_read(struct pt_running *running, uint64_t written)
{
    if (running->profile)
        pt_profile_free(running->profile);
    running->request = (struct pt_load_request){
        .paths = running->paths, .path_count = (int)running->count, .all = true, .keep = PT_KEEP_SUMS};
    running->profile = running->count ? pt_load(&running->request) : NULL;
    for (uint32_t i = 0; running->profile && i < running->profile->processes.count; i++)
        if (pt_running_still(running, i) && running->profile->processes.items[i].control_ns < written)
            return true;
    return false;
}

void pt_running_free(struct pt_running *running)
{
    if (running->profile)
        pt_profile_free(running->profile);
    for (uint32_t i = 0; i < running->count; i++)
        free(running->paths[i]);
    free(running->paths);
    *running = (struct pt_running){0};
}

struct search {
    int pid;
    bool found;
};

/* Names of logs begin with the pid. */
static void check_log(void *data, const char *path)
{
    struct search *search = data;
    search->found |= atoi(pt_base_name(path)) == search->pid;
}

bool pt_has_log(const char *directory, int pid)
{
    struct search search = {.pid = pid};
    pt_each_log(directory, check_log, &search);
    return search.found;
}

/* The library's thread is there where Python is. */
static void check_thread(void *data, int tid)
{
    struct search *search = data;
    char name[64];
    snprintf(name, sizeof name, "task/%d/comm", tid);
    PT_AUTO_FREE char *comm = pt_proc_text(search->pid, name, NULL);
    search->found |= comm && strcmp(comm, "pyprof\n") == 0;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Neither need exist, but what they are in does. */
static bool is_same_place(const char *a, const char *b)
{
    PT_AUTO_FREE char *first = pt_strdup(a), *second = pt_strdup(b), *name = pt_strdup(a), *other = pt_strdup(b);
    return is_same_file(a, b) ||
           (strcmp(basename(name), basename(other)) == 0 && is_same_file(dirname(first), dirname(second)));
}

static void check_process(struct pt_starting *starting, const char *directory, int pid)
{
    PT_AUTO(pt_process_info_free) struct pt_process_info process = {0};
    struct search thread = {.pid = pid};
    pt_each_task(pid, check_thread, &thread);
    if (!thread.found || !pt_process_info_read(pid, &process) || !process.environment || !process.maps)
        return;
    const char *at = process.maps;
    PT_AUTO_FREE char *library = pt_next_mapped(&at, "libpyprof"); /* pyprof's own threads have that name, too */
    if (!library)
        return;
    PT_AUTO_FREE char *inside = pt_output_directory(&process);
    PT_AUTO_FREE char *path = pt_process_info_path(&process, inside);
    if (is_same_place(path, directory) && !pt_has_log(directory, process.pid_inside))
        *starting = (struct pt_starting){starting->count + 1, starting->paused + pt_is_paused(&process), pid,
                                         process.uid, process.gid};
}

struct pt_starting pt_starting_find(const char *directory)
{
    struct pt_starting starting = {0};
    DIR *all = opendir("/proc");
    for (const struct dirent *entry; all && (entry = readdir(all));)
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name))
            check_process(&starting, directory, atoi(entry->d_name));
    if (all)
        closedir(all);
    return starting;
}
