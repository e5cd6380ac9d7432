#include "proto.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW_BITS (15 + 16) /* + 16: a gzip header, not zlib's */
#define MEMORY_LEVEL     8
#define CHUNK            (64u << 10)

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

static void append_varint(struct pp_buffer *message, uint64_t value)
{
    unsigned char bytes[10];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (unsigned char)(value | 0x80);
    bytes[length++] = (unsigned char)value;
    pp_buffer_append(message, bytes, length);
}

static void append_key(struct pp_buffer *message, unsigned field, enum wire wire)
{
    append_varint(message, (uint64_t)field << 3 | wire);
}

void pp_proto_number(struct pp_buffer *message, unsigned field, uint64_t value)
{
    if (!value)
        return;
    append_key(message, field, WIRE_VARINT);
    append_varint(message, value);
}

void pp_proto_fixed64(struct pp_buffer *message, unsigned field, uint64_t value)
{
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < sizeof bytes; i++, value >>= 8)
        bytes[i] = (unsigned char)value;
    append_key(message, field, WIRE_FIXED64);
    pp_buffer_append(message, bytes, sizeof bytes);
}

void pp_proto_bytes(struct pp_buffer *message, unsigned field, const void *data, size_t length)
{
    append_key(message, field, WIRE_LENGTH);
    append_varint(message, length);
    pp_buffer_append(message, data, length);
}

void pp_proto_numbers(struct pp_buffer *message, unsigned field, const uint64_t *values, size_t count)
{
    struct pp_buffer packed = {0};
    for (size_t i = 0; i < count; i++)
        append_varint(&packed, values[i]);
    pp_proto_bytes(message, field, packed.data, packed.length);
    pp_buffer_free(&packed);
}

struct pp_gzip {
    FILE *out;
    z_stream stream;
    struct pp_buffer waiting; /* zlib is asked for large pieces: its calls cost */
    unsigned char chunk[CHUNK];
};

struct pp_gzip *pp_gzip_new(FILE *out, bool large)
{
    struct pp_gzip *gzip = pp_alloc(1, sizeof *gzip);
    gzip->out = out;
    if (deflateInit2(&gzip->stream, large ? Z_BEST_SPEED : Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        fputs("pyprof: zlib cannot start\n", stderr);
        exit(1);
    }
    return gzip;
}

static void compress_bytes(struct pp_gzip *gzip, const void *data, size_t length, int flush)
{
    gzip->stream.next_in = (unsigned char *)(uintptr_t)data;
    gzip->stream.avail_in = (uInt)length;
    do {
        gzip->stream.next_out = gzip->chunk;
        gzip->stream.avail_out = sizeof gzip->chunk;
        deflate(&gzip->stream, flush);
        fwrite(gzip->chunk, 1, sizeof gzip->chunk - gzip->stream.avail_out, gzip->out);
    } while (!gzip->stream.avail_out);
}

void pp_gzip_fields(struct pp_gzip *gzip, struct pp_buffer *fields)
{
    pp_buffer_append(&gzip->waiting, fields->data, fields->length);
    pp_buffer_clear(fields);
    if (gzip->waiting.length < CHUNK)
        return;
    compress_bytes(gzip, gzip->waiting.data, gzip->waiting.length, Z_NO_FLUSH);
    pp_buffer_clear(&gzip->waiting);
}

void pp_gzip_message(struct pp_gzip *gzip, unsigned field, struct pp_buffer *message)
{
    append_key(&gzip->waiting, field, WIRE_LENGTH);
    append_varint(&gzip->waiting, message->length);
    pp_gzip_fields(gzip, message);
}

void pp_gzip_end(struct pp_gzip *gzip)
{
    compress_bytes(gzip, gzip->waiting.data, gzip->waiting.length, Z_FINISH);
    pp_buffer_free(&gzip->waiting);
    deflateEnd(&gzip->stream);
    free(gzip);
}
