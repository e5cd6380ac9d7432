/* SPDX-License-Identifier: Apache-2.0 */
#include "starting.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../doctor/checks.h"
#include "../load/files.h"
#include "../model/frame_text.h"

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
        *starting = (struct pt_starting){starting->count + 1, pid, process.uid, process.gid};
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
