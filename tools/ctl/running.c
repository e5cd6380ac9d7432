/* SPDX-License-Identifier: Apache-2.0 */
#include "running.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/memory.h"
#include "../base/numbers.h"
#include "../load/files.h"
#include "../load/load.h"
#include "../load/runs.h"

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
    for (uint32_t i = 0; i < files.count; i++) {
        const struct pt_file *file = &files.items[i];
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
