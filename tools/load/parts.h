/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the reading of files among threads, each of which fills a profile of its own. */
#ifndef PT_LOAD_PARTS_H
#define PT_LOAD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More threads do not read at once, and they read only this many bytes or more. */
#define PT_PARTS      8
#define PT_PARTS_FROM (UINT64_C(32) << 20)

struct pt_part_file {
    const char *path;
    uint64_t size;
};

/* Divides files, in their order, into parts of about the same size; files of one process stay together. Sets ends[i] to
 * the end of part i, which begins where the one before it ends, and returns the number of parts. */
uint32_t pt_parts_divide(const struct pt_part_file *files, uint32_t count, uint32_t ends[PT_PARTS + 1]);

/* Calls read with each of `count` parts, an array of items of this size: with the first one in the calling thread, with
 * the others in threads of their own. Returns when all have returned. */
void pt_parts_read(void *parts, size_t size, uint32_t count, void *(*read)(void *part));

/* Returns whether the paths are of one process: the names of its files begin with the same pid. */
bool pt_are_of_one_process(const char *a, const char *b);

#endif
