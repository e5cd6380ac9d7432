/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /tmp/perf-PID.map: the names that JITs write for perf, a line "START SIZE NAME" each, both numbers in
 * hexadecimal. The file only grows, so only what is new is read. Anyone can write to /tmp: the file may be anything.
 * Flush thread only; no descriptor stays open.
 */
#ifndef PP_MODULES_PERF_MAP_H
#define PP_MODULES_PERF_MAP_H

#include "code_ranges.h"

#define PP_PERF_MAP_WITNESS 64

/* The state of reading a file. All zero: not begun. */
struct pp_perf_map {
    uint64_t device, inode, offset;
    char witness[PP_PERF_MAP_WITNESS]; /* the bytes before offset: they differ if the file was replaced or rewritten */
    uint8_t witness_length;
    bool in_long_line; /* the line at offset is longer than the buffer: its rest is skipped */
};

enum pp_perf_map_result {
    PP_PERF_MAP_ABSENT,  /* no file, or no trusted one */
    PP_PERF_MAP_READ,    /* to its end */
    PP_PERF_MAP_PARTLY,  /* more than is read at once: call again */
    PP_PERF_MAP_ANOTHER, /* another file than before: forget its ranges, then call again */
};

/* Adds the ranges of what is new in the file, with this source and refresh. Reads only a regular file of ours or
 * root's, never through a symbolic link. */
enum pp_perf_map_result pp_perf_map_read(struct pp_perf_map *map, const char *path, struct pp_code_ranges *ranges,
                                         uint32_t source, uint32_t refresh);

/* Skips the file's present content: it is from a process that had this pid before. Any context. */
void pp_perf_map_skip(struct pp_perf_map *map, const char *path);

/* Adds the range of a line without its end; false when it is invalid. */
bool pp_perf_map_line(const char *line, size_t length, struct pp_code_ranges *ranges, uint32_t source,
                      uint32_t refresh);

#endif
