/* SPDX-License-Identifier: Apache-2.0 */
#include "zip_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define END_SIZE          22     /* of the record at the archive's end, without its comment */
#define ENTRY_SIZE        46     /* of the directory, without the name and what follows it */
#define HEADER_SIZE       30     /* of a file, likewise */
#define LONGEST_COMMENT   0xffff /* bytes, as its length has two */
#define STORED            0
#define DEFLATED          8
#define LARGEST_DIRECTORY ((size_t)64 << 20) /* of half a million files */

/* Returns a little-endian number of 2 or 4 bytes. */
static size_t number_at(const unsigned char *at, unsigned bytes)
{
    size_t number = 0;
    while (bytes--)
        number = number << 8 | at[bytes];
    return number;
}

static bool is_signature(const unsigned char *at, const char *letters)
{
    return memcmp(at, letters, 4) == 0;
}

/* Reads a part of the archive; NULL if not all of it is there. The caller frees it. */
static unsigned char *read_part(int archive, uint64_t offset, size_t size)
{
    unsigned char *part = malloc(size + 1); /* a size of 0 is no failure */
    size_t done = 0;
    while (part && done < size) {
        ssize_t got = pread(archive, part + done, size - done, (off_t)(offset + done));
        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            free(part);
            part = NULL;
        }
    }
    return part;
}

/* Where the archive's directory of files is. */
struct directory {
    uint64_t start;
    size_t size;
    uint64_t before; /* bytes that were put before the archive, as a "#!" line */
};

/* Finds the directory by the record at the end, which a comment may follow. */
static bool find_directory(int archive, uint64_t archive_size, struct directory *directory)
{
    size_t size = archive_size < END_SIZE + LONGEST_COMMENT ? (size_t)archive_size : END_SIZE + LONGEST_COMMENT;
    unsigned char *tail = read_part(archive, archive_size - size, size);
    bool found = false;
    for (size_t comment = 0; tail && !found && comment + END_SIZE <= size; comment++) {
        const unsigned char *at = tail + size - END_SIZE - comment;
        if (!is_signature(at, "PK\5\6") || number_at(at + 20, 2) != comment)
            continue;
        uint64_t left = archive_size - END_SIZE - comment, offset = number_at(at + 16, 4);
        directory->size = number_at(at + 12, 4);
        if (directory->size > left || directory->size > LARGEST_DIRECTORY || offset > left - directory->size)
            break;
        directory->start = left - directory->size;
        directory->before = directory->start - offset;
        found = true;
    }
    free(tail);
    return found;
}

static char *unpack(const unsigned char *packed, size_t packed_size, unsigned method, size_t size)
{
    char *text = malloc(size + 1); /* a size of 0 is no failure */
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed,
                       .avail_in = (uInt)packed_size,
                       .next_out = (Bytef *)text,
                       .avail_out = (uInt)size};
    bool good = text && method == STORED && packed_size == size;
    if (good) {
        memcpy(text, packed, size);
    } else if (text && method == DEFLATED && inflateInit2(&stream, -MAX_WBITS) == Z_OK) {
        good = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == size;
        inflateEnd(&stream);
    }
    if (good)
        return text;
    free(text);
    return NULL;
}

/* Unpacks the file of a directory's entry. */
static char *read_entry(int archive, const struct directory *directory, const unsigned char *entry, size_t most,
                        size_t *size)
{
    size_t packed = number_at(entry + 20, 4), unpacked = number_at(entry + 24, 4);
    uint64_t start = directory->before + number_at(entry + 42, 4);
    if (unpacked > most || packed > most)
        return NULL;
    unsigned char *header = read_part(archive, start, HEADER_SIZE), *data = NULL;
    if (header && is_signature(header, "PK\3\4"))
        data = read_part(archive, start + HEADER_SIZE + number_at(header + 26, 2) + number_at(header + 28, 2), packed);
    char *text = data ? unpack(data, packed, (unsigned)number_at(entry + 10, 2), unpacked) : NULL;
    if (text)
        *size = unpacked;
    free(header);
    free(data);
    return text;
}

char *pt_zip_read(int archive, const char *name, size_t most, size_t *size)
{
    struct stat status;
    struct directory directory;
    if (fstat(archive, &status) != 0 || !find_directory(archive, (uint64_t)status.st_size, &directory))
        return NULL;
    unsigned char *entries = read_part(archive, directory.start, directory.size);
    char *text = NULL;
    for (size_t at = 0, whole; entries && directory.size - at >= ENTRY_SIZE; at += whole) {
        const unsigned char *entry = entries + at;
        size_t length = number_at(entry + 28, 2);
        whole = ENTRY_SIZE + length + number_at(entry + 30, 2) + number_at(entry + 32, 2);
        if (!is_signature(entry, "PK\1\2") || whole > directory.size - at)
            break;
        if (length == strlen(name) && memcmp(entry + ENTRY_SIZE, name, length) == 0) {
            text = read_entry(archive, &directory, entry, most, size);
            break;
        }
    }
    free(entries);
    return text;
}
