/* SPDX-License-Identifier: Apache-2.0 */
#include "zip_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_SIZE        22     /* of the record at the archive's end, without its comment */
#define ENTRY_SIZE      46     /* of the directory, without the name and what follows it */
#define HEADER_SIZE     30     /* of a file, likewise */
#define LONGEST_COMMENT 0xffff /* bytes, as its length has two */
#define STORED          0
#define DEFLATED        8

struct archive {
    const unsigned char *data;
    size_t size;
};

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

/* Returns the record at the end, which a comment may follow; NULL without it. */
static const unsigned char *find_end(const struct archive *archive)
{
    for (size_t comment = 0; comment <= LONGEST_COMMENT && comment + END_SIZE <= archive->size; comment++) {
        const unsigned char *at = archive->data + archive->size - END_SIZE - comment;
        if (is_signature(at, "PK\5\6") && number_at(at + 20, 2) == comment)
            return at;
    }
    return NULL;
}

static char *unpack(const unsigned char *packed, size_t packed_size, unsigned method, size_t size)
{
    char *text = malloc(size + 1);
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

/* Unpacks the file of a directory's entry; `before` is the size of what was put before the archive, as a "#!" line. */
static char *read_entry(const struct archive *archive, const unsigned char *entry, size_t before, size_t most,
                        size_t *size)
{
    size_t packed = number_at(entry + 20, 4), header = before + number_at(entry + 42, 4);
    *size = number_at(entry + 24, 4);
    if (*size > most || header > archive->size || archive->size - header < HEADER_SIZE ||
        !is_signature(archive->data + header, "PK\3\4"))
        return NULL;
    size_t start =
        header + HEADER_SIZE + number_at(archive->data + header + 26, 2) + number_at(archive->data + header + 28, 2);
    if (start > archive->size || archive->size - start < packed)
        return NULL;
    return unpack(archive->data + start, packed, (unsigned)number_at(entry + 10, 2), *size);
}

char *pt_zip_read(const void *data, size_t archive_size, const char *name, size_t most, size_t *size)
{
    const struct archive archive = {data, archive_size};
    const unsigned char *end = find_end(&archive);
    size_t name_length = strlen(name), left = end ? (size_t)(end - archive.data) : 0;
    size_t directory = end ? number_at(end + 12, 4) : 0, offset = end ? number_at(end + 16, 4) : 0;
    if (!end || directory > left || offset > left - directory)
        return NULL;
    const unsigned char *entry = end - directory;
    size_t before = left - directory - offset;
    while ((size_t)(end - entry) >= ENTRY_SIZE && is_signature(entry, "PK\1\2")) {
        size_t length = number_at(entry + 28, 2);
        size_t whole = ENTRY_SIZE + length + number_at(entry + 30, 2) + number_at(entry + 32, 2);
        if (whole > (size_t)(end - entry))
            return NULL;
        if (length == name_length && memcmp(entry + ENTRY_SIZE, name, length) == 0)
            return read_entry(&archive, entry, before, most, size);
        entry += whole;
    }
    return NULL;
}
