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
#define ROOM  (2 * (size_t)PP_LOG_MAX_BLOCK + PORTION)
#define LEAST ((size_t)8 << 10)
#define HELD  128 /* descriptors below are kept while the rest of a log is for later: a process may have few */

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

void pt_growing_file_release(struct pt_growing_file *source)
{
    end_segment(source);
    source->released = true;
}

void pt_growing_file_end(struct pt_growing_file *source)
{
    pt_growing_free(source->segment);
    if (source->descriptor)
        close(source->descriptor - 1);
    free(source->path);
}

void pt_growing_file_note(struct pt_growing_file *source, const struct stat *status)
{
    bool there = status && S_ISREG(status->st_mode);
    source->size = there ? (uint64_t)status->st_size : 0;
    source->written_unix_ns =
        there ? (uint64_t)status->st_mtim.tv_sec * PT_SECOND + (uint64_t)status->st_mtim.tv_nsec : 0;
    source->inode_there = there ? status->st_ino : 0;
}

/* Reads the next portion. Returns false if no whole block is left that is to be read now. */
static bool read_portion(struct pt_growing_file *source, struct pt_growing_reader *reader, int descriptor)
{
    uint64_t end = source->end, begin = source->before + source->end;
    const struct pt_growing_part part = {.counts = begin >= source->from,
                                         .timed = source->timed,
                                         .since_unix_ns = source->since_unix_ns,
                                         .until_unix_ns = begin < source->from ? UINT64_MAX : reader->until_unix_ns,
                                         .compacted_until_unix_ns =
                                             begin < source->from ? UINT64_MAX : reader->compacted_until_unix_ns};
    uint64_t limit = source->size < source->limit ? source->size : source->limit;
    if (!part.counts && source->from < limit)
        limit = source->from;
    size_t got = 0, first = part.counts && source->portion ? source->portion : PORTION;
    for (size_t room = first;; room = 2 * room < ROOM ? 2 * room : ROOM) {
        uint64_t at = begin + got, left = limit > at ? limit - at : 0;
        got += read_at(descriptor, reader->data + got, room - got < left ? room - got : (size_t)left, at);
        if (!source->segment)
            source->segment = pt_growing_new(reader->profile, source->path);
        if (pt_growing_read(source->segment, reader->data, got, &end, &part) != PT_READ_OK)
            source->given_up = true;
        source->next_unix_ns = pt_growing_later(source->segment);
        if (end > source->end || got < room || room == ROOM || source->given_up || source->next_unix_ns)
            break;
    }
    size_t used = (size_t)(end - source->end);
    source->end = end;
    bool begins = source->end && pt_segment_begins(reader->data + used, got - used);
    if (begins) {
        pt_growing_add(source->segment);
        end_segment(source);
    } else if (!used && !part.counts) { /* it became shorter, or the place is none between blocks */
        source->from = begin;
        return limit > begin;
    }
    return (begins || used) && !source->given_up && !source->next_unix_ns;
}

/* Opens the file if it has more, and that is to be read now. Another one may have taken its place since directories
 * were read, a shorter one, or a link to what never ends. */
static int open_for(struct pt_growing_file *source, const struct pt_growing_reader *reader)
{
    uint64_t begin = source->before + source->end;
    int descriptor = source->descriptor - 1;
    struct stat status;
    if (source->next_unix_ns && source->next_unix_ns >= reader->until_unix_ns)
        return -1;
    if (descriptor < 0) {
        uint64_t end = source->size < source->limit ? source->size : source->limit;
        /* `pyprof compact` has put another file in its place, which says the same. */
        if (!source->written_unix_ns || (begin && source->inode != source->inode_there))
            return -1;
        /* A writer takes back what a full disk has cut short: sizes may become smaller. */
        if (source->size == source->seen_size || end <= begin)
            return -1;
        descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    source->descriptor = 0;
    if (descriptor < 0)
        return -1;
    pt_growing_file_note(source, fstat(descriptor, &status) == 0 ? &status : NULL);
    if (source->size > begin && (!begin || source->inode == source->inode_there)) {
        source->inode = source->inode_there;
        return descriptor;
    }
    close(descriptor);
    return -1;
}

bool pt_growing_file_read(struct pt_growing_file *source, struct pt_growing_reader *reader)
{
    uint64_t begin = source->before + source->end;
    if (pt_clock_ns(CLOCK_MONOTONIC) >= reader->deadline)
        return source->size == source->seen_size || source->size <= begin || source->limit <= begin;
    int descriptor = open_for(source, reader);
    uint64_t size = source->size, written = source->written_unix_ns;
    uint64_t end = size < source->limit ? size : source->limit;
    bool more = descriptor >= 0, in_time = true;
    if (more && !reader->data)
        reader->data = pt_alloc(ROOM, 1); /* costs nothing until it is written */
    /* A log that was copied, or whose process has ended, shows how it ended. */
    reader->request->timed_from_ns = !reader->request->timed     ? 0
                                     : written > reader->keep_ns ? written - reader->keep_ns
                                                                 : 1;
    while (in_time && more && (more = read_portion(source, reader, descriptor)))
        in_time = pt_clock_ns(CLOCK_MONOTONIC) < reader->deadline;
    if (descriptor >= 0) {
        uint64_t took = source->before + source->end - begin;
        if (source->segment)
            pt_growing_add(source->segment);
        source->seen_size = more || end < size || source->next_unix_ns ? 0 : size;
        if (reader->until_unix_ns < UINT64_MAX)
            source->portion = took < LEAST         ? (uint32_t)LEAST
                              : took < PORTION / 2 ? 2 * (uint32_t)took
                                                   : (uint32_t)PORTION;
        bool held = more || (source->next_unix_ns && descriptor < HELD);
        source->descriptor = held ? descriptor + 1 : 0;
        if (!held)
            close(descriptor);
    }
    if (!more && end == size && !source->next_unix_ns && source->segment && pt_growing_is_over(source->segment))
        end_segment(source);
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
