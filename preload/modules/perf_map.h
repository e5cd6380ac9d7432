/*
 * /tmp/perf-PID.map: the names that JITs write for perf, a line "START SIZE NAME" each, both numbers in hexadecimal.
 * The file only grows, so only what is new is read. /tmp is everybody's: the file may be anything. Flush thread only;
 * no descriptor stays open.
 */
#ifndef PP_MODULES_PERF_MAP_H
#define PP_MODULES_PERF_MAP_H

#include "code_ranges.h"

#define PP_PERF_MAP_WITNESS 64

/* How far a file has been read. All zero: not at all. */
struct pp_perf_map {
    uint64_t device, inode, offset;
    char
        witness[PP_PERF_MAP_WITNESS]; /* the bytes before offset: another file, or the same one written anew, differs */
    uint8_t witness_length;
    bool in_long_line; /* the line at offset is longer than we read, and what is left of it is passed over */
};

enum pp_perf_map_result {
    PP_PERF_MAP_ABSENT,  /* no such file, or not one to be trusted */
    PP_PERF_MAP_READ,    /* to its end */
    PP_PERF_MAP_PARTLY,  /* too much at once: call again */
    PP_PERF_MAP_ANOTHER, /* it is not the file that was read before: forget its ranges, then call again */
};

/* Puts the ranges of what has been added to the file, with these for source and look. Only a regular file of ours or of
 * root's is read, never through a symbolic link. */
enum pp_perf_map_result pp_perf_map_read(struct pp_perf_map *map, const char *path, struct pp_code_ranges *ranges,
                                         uint32_t source, uint32_t look);

/* What stands in the file now will be taken for read: it is of a process that had this pid before. Any context. */
void pp_perf_map_skip(struct pp_perf_map *map, const char *path);

/* One line, without its end; false when it is none. */
bool pp_perf_map_line(const char *line, size_t length, struct pp_code_ranges *ranges, uint32_t source, uint32_t look);

#endif
