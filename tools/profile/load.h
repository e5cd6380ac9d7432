/* From what is on the command line to a profile. */
#ifndef PT_PROFILE_LOAD_H
#define PT_PROFILE_LOAD_H

#include "../cli/options.h"
#include "model.h"

/*
 * Loads the paths on the command line: files (all of them) and directories (of their *.pyprof files the latest run,
 * or what --run or --all says); none means PYPROF_OUT or ./pyprof.out. Names native functions that the log does not
 * name, and those that are inlined into them, where their files are at hand. Leaves only what the options select
 * (select.h). Says on stderr what was left out. NULL after a line that says why nothing could be loaded. The caller
 * ends it with pt_profile_free.
 */
struct pt_profile *pt_load(const struct pt_cli *cli);

/* The same in steps, for who loads the same files again in another way: what has been added to them meanwhile is left
 * out. pt_inputs_open gives NULL, and pt_inputs_load gives NULL, after a line that says why, or without a line when
 * there were too many samples: *too_many (model.h). */
struct pt_inputs *pt_inputs_open(const struct pt_cli *cli);
struct pt_profile *pt_inputs_load(struct pt_inputs *inputs, const struct pt_cli *cli, bool *too_many);
void pt_inputs_free(struct pt_inputs *inputs);

/* All runs that the paths hold, processes and their accounting only: no samples. Ends and errors as pt_load. */
struct pt_profile *pt_load_sums(const struct pt_cli *cli);

/* As pt_load, of one thing that the user named: a path or, when there is none of this name, the id of a run (or its
 * beginning) in PYPROF_OUT or ./pyprof.out. */
struct pt_profile *pt_load_named(const struct pt_cli *cli, const char *name);

/* Reads a whole file; NULL when that fails (errno says why). The caller frees. An empty file gives size 0. */
void *pt_read_file(const char *path, size_t most, size_t *size);

/* A line that is overwritten by the next one and disappears when text is NULL; nothing unless stderr is a terminal. */
void pt_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pt_progress_end(void);

#endif
