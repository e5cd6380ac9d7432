/* SPDX-License-Identifier: Apache-2.0 */
/* Joins runs: a process that was started without PYPROF_RUN has a run id of its own, but if its parent has a log, both
 * belong to one launch. */
#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "files.h"

/* The files with one run id, in the order of their start. */
struct group {
    struct pt_file **files;
    uint32_t count;
};

/* Files in the order of pids, those of a pid in the order of their start. */
struct by_pid {
    struct pt_file **files;
    uint32_t count;
};

static int in_order_of_runs(const void *a, const void *b)
{
    const struct pt_file *x = *(struct pt_file *const *)a, *y = *(struct pt_file *const *)b;
    return strcmp(x->own_run, y->own_run) ?: pt_compare(x->start_unix_ns, y->start_unix_ns);
}

static int in_order_of_pids(const void *a, const void *b)
{
    const struct pt_file *x = *(struct pt_file *const *)a, *y = *(struct pt_file *const *)b;
    return pt_compare(x->pid, y->pid) ?: pt_compare(x->start_unix_ns, y->start_unix_ns)
                                      ?: pt_compare(x->segment, y->segment);
}

static int in_order_of_starts(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return pt_compare(x->files[0]->start_unix_ns, y->files[0]->start_unix_ns) ?: in_order_of_runs(x->files, y->files);
}

/* Returns when the process ended, by its last file; UINT64_MAX if the log does not say: it runs, or was killed. */
static uint64_t end_of(struct pt_file *file)
{
    struct pt_segment segment = {0};
    size_t size = 0;
    if (file->ended_unix_ns)
        return file->ended_unix_ns;
    char *data = pt_read_file(file->path, SIZE_MAX - 1, &size);
    bool ended = data && pt_segment_read(data, size, NULL, &segment, NULL) == PT_READ_OK &&
                 (segment.end_reason == PP_END_EXIT || segment.end_reason == PP_END_EXEC);
    file->ended_unix_ns = ended && segment.end_unix_ns ? segment.end_unix_ns : UINT64_MAX;
    pt_segment_free(&segment);
    free(data);
    return file->ended_unix_ns;
}

/* Returns the last file of the process that had the child's parent's pid, on the same machine and in the same pid
 * namespace, when the child started. NULL: it has no log, or had ended, so that another process had the pid. */
static struct pt_file *parent_of(const struct by_pid *known, const struct pt_file *child)
{
    uint32_t low = 0, high = known->count;
    if (!child->ppid || !*child->machine || child->foreign)
        return NULL;
    while (low < high) { /* to the first file that comes after all possible parents */
        uint32_t middle = low + (high - low) / 2;
        const struct pt_file *file = known->files[middle];
        if (file->pid < child->ppid || (file->pid == child->ppid && file->start_unix_ns <= child->start_unix_ns))
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- && known->files[low]->pid == child->ppid) {
        struct pt_file *file = known->files[low];
        if (strcmp(file->machine, child->machine) == 0 && !file->foreign)
            return end_of(file) > child->start_unix_ns ? file : NULL;
    }
    return NULL;
}

static void join(struct pt_files *files, const struct group *part, const char *run)
{
    *PT_APPEND(&files->joins) = (struct pt_run_join){.own = pt_strdup(part->files[0]->own_run), .run = pt_strdup(run)};
    for (uint32_t i = 0; i < part->count; i++) {
        free(part->files[i]->run);
        part->files[i]->run = pt_strdup(run);
    }
}

/* Returns the files by run id, *count groups in the order of their start. The caller frees them; the files of all are
 * at *all. */
static struct group *group_files(struct pt_file **all, uint32_t files, uint32_t *count)
{
    struct group *groups = pt_alloc(files, sizeof *groups);
    qsort(all, files, sizeof *all, in_order_of_runs);
    *count = 0;
    for (uint32_t i = 0; i < files; i++) {
        if (!i || strcmp(all[i - 1]->own_run, all[i]->own_run) != 0)
            groups[(*count)++].files = &all[i];
        groups[*count - 1].count++;
    }
    qsort(groups, *count, sizeof *groups, in_order_of_starts);
    return groups;
}

void pt_files_join_runs(struct pt_files *files)
{
    uint32_t count = files->count, runs;
    struct pt_file **all = pt_alloc((size_t)count + 1, sizeof *all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = &files->items[i];
    struct group *groups = group_files(all, count, &runs);
    struct by_pid known = {pt_copy(all, count, sizeof *all), count};
    if (runs > 1)
        qsort(known.files, count, sizeof *known.files, in_order_of_pids);
    pt_run_joins_free(&files->joins);
    for (uint32_t i = 0; i < count; i++)
        files->items[i].ended_unix_ns = 0;
    /* A parent's run began earlier: what it is a part of is known. */
    for (uint32_t i = 1; i < runs; i++) {
        const struct pt_file *parent = parent_of(&known, groups[i].files[0]);
        if (parent && strcmp(parent->run, groups[i].files[0]->run) != 0)
            join(files, &groups[i], parent->run);
    }
    free(known.files);
    free(groups);
    free(all);
}
