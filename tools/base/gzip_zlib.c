/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <zlib.h>

#include "gzip.h"

#define LEVEL     1         /* of 9 */
#define GZIP_BITS (15 + 16) /* the largest window, and gzip's header */
#define PIECE     (512u << 10)

struct pt_gzip_stream {
    z_stream zlib;
};

void pt_gzip_begin(struct pt_gzip *gzip, FILE *out)
{
    *gzip = (struct pt_gzip){.out = out, .stream = pt_alloc(1, sizeof *gzip->stream)};
    if (deflateInit2(&gzip->stream->zlib, LEVEL, Z_DEFLATED, GZIP_BITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        pt_out_of_memory();
}

static void compress_text(struct pt_gzip *gzip, int flush)
{
    unsigned char *compressed = pt_alloc(1, PIECE);
    z_stream *stream = &gzip->stream->zlib;
    stream->next_in = (unsigned char *)gzip->text.data;
    stream->avail_in = (uint32_t)gzip->text.length;
    do {
        stream->next_out = compressed;
        stream->avail_out = PIECE;
        deflate(stream, flush);
        fwrite(compressed, 1, PIECE - stream->avail_out, gzip->out);
    } while (!stream->avail_out);
    free(compressed);
    pt_buffer_clear(&gzip->text);
}

void pt_gzip_flush(struct pt_gzip *gzip)
{
    if (gzip->text.length >= PIECE)
        compress_text(gzip, Z_NO_FLUSH);
}

void pt_gzip_end(struct pt_gzip *gzip)
{
    compress_text(gzip, Z_FINISH);
    deflateEnd(&gzip->stream->zlib);
    free(gzip->stream);
    pt_buffer_free(&gzip->text);
}

uint32_t pt_crc32(uint32_t before, const void *bytes, size_t length)
{
    return (uint32_t)crc32_z(before, bytes, length);
}
