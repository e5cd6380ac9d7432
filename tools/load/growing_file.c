/* SPDX-License-Identifier: Apache-2.0 */
#include "growing_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/numbers.h"

/* Read in one go, more when a block is longer: it stays in the processor's cache until it is decoded. */
#define PORTION ((size_t)1 << 20)
/* The reader may need this much at once: it gives up on bytes that stay unreadable for twice the longest block. */
#define ROOM (2 * (size_t)PP_LOG_MAX_BLOCK + PORTION)
#define NS   1000000000u

void pt_growing_file_rewind(struct pt_growing_file *source)
{
    pt_growing_free(source->segment);
    source->segment = NULL;
    source->before = source->end = 0;
    source->seen_size = 0;
    source->given_up = false;
}

static size_t read_at(int descriptor, char *data, size_t room, uint64_t at)
{
    size_t length = 0;
    while (length < room) {
        ssize_t got = pread(descriptor, data + length, room - length, (off_t)(at + length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length;
}

static void end_segment(struct pt_growing_file *source)
{
    pt_growing_free(source->segment);
    source->segment = NULL;
    source->before += source->end;
    source->end = 0;
}

/* Reads the next portion. Returns false if no whole block is left. */
static bool read_portion(struct pt_growing_file *source, struct pt_growing_reader *reader, int descriptor)
{
    uint64_t end = source->end;
    size_t got = 0;
    for (size_t room = PORTION;; room = 2 * room < ROOM ? 2 * room : ROOM) {
        uint64_t at = source->before + source->end + got, left = source->limit > at ? source->limit - at : 0;
        got += read_at(descriptor, reader->data + got, room - got < left ? room - got : (size_t)left, at);
        if (!source->segment)
            source->segment = pt_growing_new(reader->profile, source->path);
        if (pt_growing_read(source->segment, reader->data, got, &end, NULL) != PT_READ_OK)
            source->given_up = true;
        if (end > source->end || got < room || room == ROOM || source->given_up)
            break;
    }
    size_t used = (size_t)(end - source->end);
    source->end = end;
    if (!source->end || !pt_segment_begins(reader->data + used, got - used))
        return used && !source->given_up;
    pt_growing_add(source->segment);
    end_segment(source);
    return true;
}

bool pt_growing_file_read(struct pt_growing_file *source, struct pt_growing_reader *reader)
{
    struct stat status;
    source->size = source->written_unix_ns = 0;
    if (stat(source->path, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    /* `pyprof compact` has put another file in its place, which says the same. What was not read of the old one by
     * then, if it was being read at that moment for the first time, is not shown. */
    if (source->before + source->end && source->inode != status.st_ino)
        return true;
    source->inode = status.st_ino;
    uint64_t size = (uint64_t)status.st_size, written = (uint64_t)status.st_mtim.tv_sec * NS;
    source->written_unix_ns = written + (uint64_t)status.st_mtim.tv_nsec;
    /* A writer takes back what a full disk has cut short: sizes may become smaller. */
    uint64_t end = size < source->limit ? size : source->limit;
    bool more = size != source->seen_size && end > source->before + source->end;
    bool in_time = pt_clock_ns(CLOCK_MONOTONIC) < reader->deadline;
    int descriptor = more && in_time ? open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (descriptor >= 0 && !reader->data)
        reader->data = pt_alloc(ROOM, 1); /* costs nothing until it is written */
    /* A log that was copied, or whose process has ended, shows how it ended. */
    reader->request->timed_from_ns = written > reader->keep_ns ? written - reader->keep_ns : 1;
    while (descriptor >= 0 && in_time && (more = read_portion(source, reader, descriptor)))
        in_time = pt_clock_ns(CLOCK_MONOTONIC) < reader->deadline;
    if (descriptor >= 0) {
        if (source->segment)
            pt_growing_add(source->segment);
        close(descriptor);
        source->seen_size = more || end < size ? 0 : size;
    }
    if (!more && end == size && source->segment && pt_growing_is_over(source->segment))
        end_segment(source);
    source->size = size;
    return !more || in_time;
}

uint64_t pt_growing_file_blocks(const struct pt_growing_file *source)
{
    return source->before + source->end;
}

uint64_t pt_growing_file_done(const struct pt_growing_file *source)
{
    uint64_t read = source->before + source->end;
    return source->seen_size == source->size || read > source->size ? source->size : read;
}
