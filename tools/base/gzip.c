#include "gzip.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#define LEVEL        1 /* of 3 */
#define LEVEL_BUFFER ISAL_DEF_LVL1_LARGE
#define PIECE        (512u << 10)

void pt_gzip_begin(struct pt_gzip *gzip, FILE *out)
{
    *gzip = (struct pt_gzip){.out = out, .stream = pt_alloc(1, sizeof *gzip->stream)};
    isal_deflate_init(gzip->stream);
    gzip->stream->gzip_flag = IGZIP_GZIP;
    gzip->stream->level = LEVEL;
    gzip->stream->level_buf_size = LEVEL_BUFFER;
    gzip->stream->level_buf = pt_alloc(LEVEL_BUFFER, 1);
}

static void compress(struct pt_gzip *gzip)
{
    unsigned char *compressed = pt_alloc(1, PIECE);
    struct isal_zstream *stream = gzip->stream;
    stream->next_in = (unsigned char *)gzip->text.data;
    stream->avail_in = (uint32_t)gzip->text.length;
    do {
        stream->next_out = compressed;
        stream->avail_out = PIECE;
        isal_deflate(stream);
        fwrite(compressed, 1, PIECE - stream->avail_out, gzip->out);
    } while (!stream->avail_out);
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
    gzip->stream->end_of_stream = 1;
    compress(gzip);
    free(gzip->stream->level_buf);
    free(gzip->stream);
    pt_buffer_free(&gzip->text);
}
