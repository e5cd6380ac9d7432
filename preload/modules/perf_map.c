/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_map.h"
#include "../base/syscalls.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK       ((size_t)64 << 10)
#define MAX_AT_ONCE ((uint64_t)2 << 20) /* bytes of one call: some 50 ms when the code lies scattered */
#define MAX_DIGITS  16

/* Accepts "0x", which perf does not write but some JITs do. NULL when there is no number before a blank. */
static const char *parse_hex(const char *at, const char *end, uint64_t *number)
{
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        at += 2;
    const char *start = at;
    *number = 0;
    for (; at < end && *at != ' ' && *at != '\t'; at++) {
        unsigned letter = (unsigned char)(*at | 0x20);
        unsigned digit = *at >= '0' && *at <= '9' ? (unsigned)(*at - '0') : letter - 'a' + 10;
        if (digit > 15 || (digit >= 10 && letter < 'a') || at - start == MAX_DIGITS)
            return NULL;
        *number = *number << 4 | digit;
    }
    if (at == start || at == end)
        return NULL;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

bool pp_perf_map_line(const char *line, size_t length, struct pp_code_ranges *ranges, uint32_t source, uint32_t refresh)
{
    const char *end = line + length;
    uint64_t start, size;
    if (length && end[-1] == '\r')
        end--;
    const char *at = parse_hex(line, end, &start);
    at = at ? parse_hex(at, end, &size) : NULL;
    return at && at < end && pp_code_ranges_put(ranges, start, size, at, (size_t)(end - at), source, refresh);
}

static int open_map(const char *path, struct stat *status)
{
    /* O_NONBLOCK: a pipe of that name must not block us */
    int fd = pp_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return -1;
    unsigned uid = (unsigned)pp_syscall4(SYS_geteuid, 0, 0, 0, 0);
    if (pp_syscall4(SYS_fstat, fd, (long)status, 0, 0) == 0 && S_ISREG(status->st_mode) &&
        (status->st_uid == uid || status->st_uid == 0))
        return fd;
    pp_sys_close(fd);
    return -1;
}

void pp_perf_map_skip(struct pp_perf_map *map, const char *path)
{
    struct stat status;
    *map = (struct pp_perf_map){0};
    int fd = open_map(path, &status);
    if (fd < 0)
        return;
    uint64_t size = (uint64_t)status.st_size;
    uint8_t length = size < PP_PERF_MAP_WITNESS ? (uint8_t)size : PP_PERF_MAP_WITNESS;
    if (pp_sys_pread(fd, map->witness, length, size - length) == length) {
        map->device = status.st_dev;
        map->inode = status.st_ino;
        map->offset = size;
        map->witness_length = length;
    }
    pp_sys_close(fd);
}

static bool is_another(const struct pp_perf_map *map, int fd, const struct stat *status)
{
    char before[PP_PERF_MAP_WITNESS];
    if (!map->offset)
        return false;
    return map->device != status->st_dev || map->inode != status->st_ino || map->offset > (uint64_t)status->st_size ||
           pp_sys_pread(fd, before, map->witness_length, map->offset - map->witness_length) != map->witness_length ||
           memcmp(before, map->witness, map->witness_length) != 0;
}

/* Returns how many bytes were used: whole lines, and all of a line that is longer than the buffer. */
static size_t parse_lines(struct pp_perf_map *map, const char *bytes, size_t length, bool full,
                          struct pp_code_ranges *ranges, uint32_t source, uint32_t refresh)
{
    size_t done = 0;
    const char *newline;
    while ((newline = memchr(bytes + done, '\n', length - done))) {
        size_t line = (size_t)(newline - bytes) - done;
        if (!map->in_long_line)
            pp_perf_map_line(bytes + done, line, ranges, source, refresh);
        map->in_long_line = false;
        done += line + 1;
    }
    if (done || !full)
        return map->in_long_line ? length : done;
    if (!map->in_long_line)
        pp_perf_map_line(bytes, length, ranges, source, refresh);
    map->in_long_line = true;
    return length;
}

static void remember(struct pp_perf_map *map, const char *bytes, size_t done)
{
    size_t length = done < PP_PERF_MAP_WITNESS ? done : PP_PERF_MAP_WITNESS;
    memcpy(map->witness, bytes + done - length, length);
    map->witness_length = (uint8_t)length;
    map->offset += done;
}

static enum pp_perf_map_result read_open(struct pp_perf_map *map, int fd, struct pp_code_ranges *ranges,
                                         uint32_t source, uint32_t refresh)
{
    char *buffer = pp_map(CHUNK);
    uint64_t end = map->offset + MAX_AT_ONCE;
    enum pp_perf_map_result result = buffer ? PP_PERF_MAP_READ : PP_PERF_MAP_PARTLY;
    while (buffer) {
        long length = pp_sys_pread(fd, buffer, CHUNK, map->offset);
        if (length <= 0)
            break;
        size_t done = parse_lines(map, buffer, (size_t)length, (size_t)length == CHUNK, ranges, source, refresh);
        if (!done)
            break; /* the last line is being written */
        remember(map, buffer, done);
        if (map->offset >= end) {
            result = PP_PERF_MAP_PARTLY;
            break;
        }
    }
    if (buffer)
        pp_unmap(buffer, CHUNK);
    return result;
}

enum pp_perf_map_result pp_perf_map_read(struct pp_perf_map *map, const char *path, struct pp_code_ranges *ranges,
                                         uint32_t source, uint32_t refresh)
{
    struct stat status;
    int fd = open_map(path, &status);
    if (fd < 0)
        return PP_PERF_MAP_ABSENT;
    enum pp_perf_map_result result;
    if (is_another(map, fd, &status)) {
        *map = (struct pp_perf_map){0};
        result = PP_PERF_MAP_ANOTHER;
    } else {
        map->device = status.st_dev;
        map->inode = status.st_ino;
        result = read_open(map, fd, ranges, source, refresh);
    }
    pp_sys_close(fd);
    return result;
}
