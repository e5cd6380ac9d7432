/* SPDX-License-Identifier: Apache-2.0 */
#include <isa-l.h>
#include <stdlib.h>

#include "../../preload/arch/arch.h"
#include "gzip.h"

#define LEVEL        1 /* of 3 */
#define LEVEL_BUFFER ISAL_DEF_LVL1_LARGE
#define PIECE        (512u << 10)

struct pt_gzip_stream {
    struct isal_zstream isal;
    uint8_t level_buffer[LEVEL_BUFFER];
};

void pt_gzip_begin(struct pt_gzip *gzip, FILE *out)
{
    *gzip = (struct pt_gzip){.out = out, .stream = pt_alloc(1, sizeof *gzip->stream)};
    struct isal_zstream *stream = &gzip->stream->isal;
    isal_deflate_init(stream);
    stream->gzip_flag = IGZIP_GZIP;
    stream->level = LEVEL;
    stream->level_buf_size = LEVEL_BUFFER;
    stream->level_buf = gzip->stream->level_buffer;
}

static void compress(struct pt_gzip *gzip)
{
    unsigned char *compressed = pt_alloc(1, PIECE);
    struct isal_zstream *stream = &gzip->stream->isal;
    stream->next_in = (unsigned char *)gzip->text.data;
    stream->avail_in = (uint32_t)gzip->text.length;
    do {
        stream->next_out = compressed;
        stream->avail_out = PIECE;
        isal_deflate(stream);
        fwrite(compressed, 1, PIECE - stream->avail_out, gzip->out);
    } while (!stream->avail_out);
    pp_wide_vectors_end();
    free(compressed);
    pt_buffer_clear(&gzip->text);
}

void pt_gzip_flush(struct pt_gzip *gzip)
{
    if (gzip->text.length >= PIECE)
        compress(gzip);
}

void pt_gzip_end(struct pt_gzip *gzip)
{
    gzip->stream->isal.end_of_stream = 1;
    compress(gzip);
    free(gzip->stream);
    pt_buffer_free(&gzip->text);
}

uint32_t pt_crc32(uint32_t before, const void *bytes, size_t length)
{
    uint32_t crc = crc32_gzip_refl(before, bytes, length);
    pp_wide_vectors_end();
    return crc;
}
