/* SPDX-License-Identifier: Apache-2.0 */
#include "jit_code.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../common/pseudo_frames.h"
#include "code_ranges.h"
#include "gdb_jit.h"
#include "perf_map.h"
#include <stdatomic.h>
#include <string.h>

#define SOURCE_PERF_MAP 1u
#define PATH_SIZE       64

static struct pp_code_ranges ranges;
static struct pp_perf_map perf_map;
static struct pp_gdb_jit gdb_jit;
static uint32_t refreshes; /* so far */
static bool refreshed;     /* since the last begin */
static bool partly_read;   /* there is more in the perf map than was read, or may have been */
static bool outdated;      /* the parent had not read all of its map, which has nothing about this process */
/* Set during a change: a fork in the middle leaves the child with half of it. */
static _Atomic bool changing;

static bool is_of_perf_map(uint32_t source, void *arg)
{
    (void)arg;
    return source == SOURCE_PERF_MAP;
}

static const char *perf_map_path(char path[PATH_SIZE])
{
    return pp_format(path, PATH_SIZE, "/tmp/perf-%u.map", (unsigned)pp_sys_getpid());
}

void pp_jit_code_skip_older(void)
{
    char path[PATH_SIZE];
    pp_perf_map_skip(&perf_map, perf_map_path(path));
}

static void read_perf_map(void)
{
    char path[PATH_SIZE];
    perf_map_path(path);
    enum pp_perf_map_result result = pp_perf_map_read(&perf_map, path, &ranges, SOURCE_PERF_MAP, refreshes);
    if (result == PP_PERF_MAP_ANOTHER) {
        pp_code_ranges_remove(&ranges, is_of_perf_map, NULL);
        result = pp_perf_map_read(&perf_map, path, &ranges, SOURCE_PERF_MAP, refreshes);
    }
    /* of a map that has been removed, what was added since the last refresh is unknown */
    partly_read = result == PP_PERF_MAP_PARTLY || (result == PP_PERF_MAP_ABSENT && perf_map.offset);
}

static void refresh(void)
{
    atomic_store(&changing, true);
    refreshes++;
    if (outdated)
        pp_code_ranges_remove(&ranges, is_of_perf_map, NULL);
    outdated = false;
    read_perf_map();
    pp_gdb_jit_refresh(&gdb_jit, &ranges, refreshes);
    atomic_store(&changing, false);
    refreshed = true;
    if (ranges.dropped)
        pp_warn_once(
            PP_CAUSE_JIT_NAMES,
            "more than %u functions made by a JIT: those beyond have no name, they are shown as " PP_PSEUDO_JIT,
            ranges.count);
}

void pp_jit_code_begin(void)
{
    refreshed = false;
}

bool pp_jit_code_find(uintptr_t address, struct pp_jit_name *name)
{
    if (!refreshed)
        refresh();
    const struct pp_code_range *range = pp_code_ranges_find(&ranges, address);
    if (!range || range->refresh == refreshes || (partly_read && range->source == SOURCE_PERF_MAP))
        return false;
    name->text = pp_code_ranges_name(&ranges, range, &name->length);
    name->start = range->start;
    return true;
}

void pp_jit_code_after_fork(void)
{
    outdated |= partly_read;
    refreshed = partly_read = false;
    /* the child's map is a file of its own; the names from the parent's hold for the inherited code */
    pp_jit_code_skip_older();
    if (!atomic_load(&changing))
        return;
    memset(&ranges, 0, sizeof ranges);
    memset(&gdb_jit, 0, sizeof gdb_jit);
    atomic_store(&changing, false);
}
