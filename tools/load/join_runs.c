/* SPDX-License-Identifier: Apache-2.0 */
/* Joins runs: a process that was started without PYPROF_RUN has a run id of its own, but if its parent has a log, both
 * belong to one launch. So do processes that a parent without a log has started, a shell or a server without Python, if
 * they ran at the same time and are of one process group. What a script starts one after the other are launches of
 * their own, and so is each job of an interactive shell and each service of an init, which have a group of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/numbers.h"
#include "files.h"

/* The files with one run id, in the order of their start. */
struct group {
    struct pt_file **files;
    uint32_t count;
    const struct pt_file *sibling; /* of an earlier group; NULL: none */
};

/* Files in the order of pids, those of a pid in the order of their start. */
struct by_pid {
    struct pt_file **files;
    uint32_t count;
};

PT_DEFINE_ORDER(in_order_of_runs, struct pt_file *const,
                strcmp((*x)->own_run, (*y)->own_run) ?: pt_compare((*x)->start_unix_ns, (*y)->start_unix_ns))

PT_DEFINE_ORDER(in_order_of_pids, struct pt_file *const,
                pt_compare((*x)->pid, (*y)->pid) ?: pt_compare((*x)->start_unix_ns, (*y)->start_unix_ns)
                    ?: pt_compare((*x)->segment, (*y)->segment))

PT_DEFINE_ORDER(in_order_of_starts, struct group,
                pt_compare(x->files[0]->start_unix_ns, y->files[0]->start_unix_ns)
                    ?: in_order_of_runs(x->files, y->files))

/* Groups whose first processes may be siblings are together, in the order of their start. */
static int in_order_of_parents(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    const struct pt_file *of_x = x->files[0], *of_y = y->files[0];
    return strcmp(of_x->machine, of_y->machine) ?: pt_compare(of_x->ppid, of_y->ppid)
                                                ?: pt_compare(of_x->group, of_y->group) ?: in_order_of_starts(x, y);
}

static bool may_be_siblings(const struct pt_file *x, const struct pt_file *y)
{
    return *x->machine && x->ppid && x->group && strcmp(x->machine, y->machine) == 0 && x->ppid == y->ppid &&
           x->group == y->group;
}

static void read_ends(struct pt_file *file)
{
    PT_AUTO(pt_segment_free) struct pt_segment segment = {0};
    size_t size = 0;
    PT_AUTO_FREE char *data = pt_read_file(file->path, SIZE_MAX - 1, &size);
    bool read = data && pt_segment_read(data, size, NULL, &segment, NULL) == PT_READ_OK;
    bool ended = read && (segment.end_reason == PP_END_EXIT || segment.end_reason == PP_END_EXEC);
    file->ended_unix_ns = ended && segment.end_unix_ns ? segment.end_unix_ns : UINT64_MAX;
    file->last_unix_ns = read ? segment.accounting.end_unix_ns : 0;
    file->read_size = file->size;
}

/* Returns when the process ended, by its last file; UINT64_MAX if the log does not say: it runs, or was killed. */
static uint64_t end_of(struct pt_file *file)
{
    if (!file->ended_unix_ns || file->read_size != file->size)
        read_ends(file);
    return file->ended_unix_ns;
}

/* Returns the last file of the process that began the run. */
static struct pt_file *last_of_first(const struct group *group)
{
    struct pt_file *last = group->files[0];
    for (uint32_t i = 1; i < group->count; i++)
        if (group->files[i]->pid == last->pid)
            last = group->files[i];
    return last;
}

/* Whether the process that began the run may have been there then, by what the file system says: mostly no log has to
 * be read to know that it was not. */
static bool may_be_there(const struct group *group, uint64_t unix_ns)
{
    const struct pt_file *last = last_of_first(group);
    return last->alive == PT_ALIVE_YES || last->written_unix_ns > unix_ns;
}

/* Returns until when the process that began the run was there, as far as is known. */
static uint64_t seen_until(const struct group *group)
{
    struct pt_file *last = last_of_first(group);
    uint64_t end = end_of(last);
    return end == UINT64_MAX && last->alive != PT_ALIVE_YES ? last->last_unix_ns : end;
}

static void find_siblings(struct group *groups, uint32_t count)
{
    struct group **ordered = pt_alloc((size_t)count + 1, sizeof *ordered), *longest = NULL;
    uint32_t own = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!groups[i].files[0]->foreign)
            ordered[own++] = &groups[i];
    qsort(ordered, own, sizeof *ordered, in_order_of_parents);
    for (uint32_t i = 0; i < own; i++) {
        struct group *group = ordered[i];
        uint64_t start = group->files[0]->start_unix_ns;
        bool beside = longest && may_be_siblings(longest->files[0], group->files[0]) && may_be_there(longest, start) &&
                      seen_until(longest) > start;
        if (beside)
            group->sibling = longest->files[0];
        if (!beside || seen_until(group) > seen_until(longest))
            longest = group;
    }
    free(ordered);
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
    PT_AUTO_FREE struct pt_file **all = pt_alloc((size_t)count + 1, sizeof *all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = &files->items[i];
    PT_AUTO_FREE struct group *groups = group_files(all, count, &runs);
    struct by_pid known = {pt_copy(all, count, sizeof *all), count};
    if (runs > 1)
        qsort(known.files, count, sizeof *known.files, in_order_of_pids);
    pt_run_joins_free(&files->joins);
    find_siblings(groups, runs);
    /* The run of a parent or sibling began earlier: what it is a part of is known. */
    for (uint32_t i = 1; i < runs; i++) {
        const struct pt_file *relative = parent_of(&known, groups[i].files[0]) ?: groups[i].sibling;
        if (relative && strcmp(relative->run, groups[i].files[0]->run) != 0)
            join(files, &groups[i], relative->run);
    }
    free(known.files);
}
