#include "gzip.h"

#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "../base/memory.h"
#include "../log/crc.h"

#define RAW_WINDOW_BITS (-15) /* the header and the end are ours */
#define MEMORY_LEVEL    8
#define FAST_LEVEL      1
#define PIECE           (512u << 10)
#define PIECES          16u /* on their way at most */
#define MOST_THREADS    8
#define FLUSH_BYTES     64u /* deflateBound() does not count those of Z_SYNC_FLUSH */

struct piece {
    struct pt_buffer text;
    unsigned char *compressed;
    size_t length; /* of compressed */
    uint32_t crc;  /* of the text */
    bool last, done;
};

struct pt_gzip {
    FILE *out;
    bool fast;
    struct pt_buffer waiting;
    uint32_t crc; /* of what has been written, as is the next one */
    uint64_t length;
    struct piece pieces[PIECES];    /* number i is in place i % PIECES */
    unsigned given, taken, written; /* how many */
    pthread_mutex_t mutex;          /* for taken, given, done and ending */
    pthread_cond_t change;
    pthread_t threads[MOST_THREADS];
    unsigned thread_count, most_threads;
    bool ending;
};

/* A piece but the last ends at a byte, and refers to nothing before it. */
static void compress_well(struct piece *piece)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW_WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        fputs("pyprof: zlib cannot start\n", stderr);
        exit(1);
    }
    size_t room = deflateBound(&stream, piece->text.length) + FLUSH_BYTES;
    piece->compressed = pt_alloc(room, 1);
    stream.next_in = (unsigned char *)piece->text.data;
    stream.avail_in = (uInt)piece->text.length;
    stream.next_out = piece->compressed;
    stream.avail_out = (uInt)room;
    deflate(&stream, piece->last ? Z_FINISH : Z_SYNC_FLUSH);
    piece->length = room - stream.avail_out;
    deflateEnd(&stream);
}

/* The same by ISA-L, four times as fast as zlib's fastest. False when the result would be larger than the text. */
static bool compress_fast(struct piece *piece)
{
    struct isal_zstream *stream = pt_alloc(1, sizeof *stream);
    isal_deflate_init(stream);
    stream->level = FAST_LEVEL;
    stream->level_buf_size = ISAL_DEF_LVL1_LARGE;
    stream->level_buf = pt_alloc(stream->level_buf_size, 1);
    stream->flush = SYNC_FLUSH;
    stream->end_of_stream = piece->last;
    piece->compressed = pt_alloc(piece->text.length + FLUSH_BYTES, 1);
    stream->next_in = (unsigned char *)piece->text.data;
    stream->avail_in = (uint32_t)piece->text.length;
    stream->next_out = piece->compressed;
    stream->avail_out = (uint32_t)(piece->text.length + FLUSH_BYTES);
    bool done = isal_deflate(stream) == COMP_OK && stream->avail_out; /* full: it may have more to write */
    piece->length = stream->total_out;
    if (!done)
        free(piece->compressed);
    free(stream->level_buf);
    free(stream);
    return done;
}

static void compress_piece(bool fast, struct piece *piece)
{
    if (!fast || !compress_fast(piece))
        compress_well(piece);
    piece->crc = pt_crc32(0, piece->text.data, piece->text.length);
}

/* The mutex is held, before and after. */
static void compress_next(struct pt_gzip *gzip)
{
    struct piece *piece = &gzip->pieces[gzip->taken++ % PIECES];
    pthread_mutex_unlock(&gzip->mutex);
    compress_piece(gzip->fast, piece);
    pthread_mutex_lock(&gzip->mutex);
    piece->done = true;
    pthread_cond_broadcast(&gzip->change);
}

static void *compress_pieces(void *context)
{
    struct pt_gzip *gzip = context;
    pthread_mutex_lock(&gzip->mutex);
    while (!gzip->ending || gzip->taken < gzip->given) {
        if (gzip->taken < gzip->given)
            compress_next(gzip);
        else
            pthread_cond_wait(&gzip->change, &gzip->mutex);
    }
    pthread_mutex_unlock(&gzip->mutex);
    return NULL;
}

static void write_oldest(struct pt_gzip *gzip)
{
    struct piece *piece = &gzip->pieces[gzip->written++ % PIECES];
    pthread_mutex_lock(&gzip->mutex);
    while (!piece->done) {
        if (gzip->taken < gzip->given)
            compress_next(gzip);
        else
            pthread_cond_wait(&gzip->change, &gzip->mutex);
    }
    piece->done = false;
    pthread_mutex_unlock(&gzip->mutex);
    fwrite(piece->compressed, 1, piece->length, gzip->out);
    gzip->crc = (uint32_t)crc32_combine(gzip->crc, piece->crc, (z_off_t)piece->text.length);
    gzip->length += piece->text.length;
    free(piece->compressed);
    pt_buffer_clear(&piece->text);
}

static void give_waiting(struct pt_gzip *gzip, bool last)
{
    if (gzip->given - gzip->written == PIECES)
        write_oldest(gzip);
    struct piece *piece = &gzip->pieces[gzip->given % PIECES];
    struct pt_buffer empty = piece->text;
    piece->text = gzip->waiting;
    piece->last = last;
    gzip->waiting = empty;
    pthread_mutex_lock(&gzip->mutex);
    gzip->given++;
    pthread_cond_broadcast(&gzip->change);
    pthread_mutex_unlock(&gzip->mutex);
    if (last || gzip->thread_count == gzip->most_threads)
        return;
    if (pthread_create(&gzip->threads[gzip->thread_count], NULL, compress_pieces, gzip) == 0)
        gzip->thread_count++;
    else
        gzip->most_threads = gzip->thread_count;
}

struct pt_gzip *pt_gzip_new(FILE *out, bool large)
{
    static const unsigned char header[8] = {0x1f, 0x8b, Z_DEFLATED};
    struct pt_gzip *gzip = pt_alloc(1, sizeof *gzip);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gzip->out = out;
    gzip->fast = large;
    gzip->most_threads = processors < 2 ? 0 : processors > MOST_THREADS ? MOST_THREADS : (unsigned)processors;
    pthread_mutex_init(&gzip->mutex, NULL);
    pthread_cond_init(&gzip->change, NULL);
    fwrite(header, 1, sizeof header, out);
    putc(large ? 4 : 0, out); /* as zlib says it: 4 is the fastest */
    putc(3, out);             /* Unix */
    return gzip;
}

void pt_gzip_append(struct pt_gzip *gzip, const void *data, size_t length)
{
    pt_buffer_append(&gzip->waiting, data, length);
    if (gzip->waiting.length >= PIECE)
        give_waiting(gzip, false);
}

void *pt_gzip_room(struct pt_gzip *gzip, size_t most)
{
    return pt_buffer_room(&gzip->waiting, most);
}

void pt_gzip_filled(struct pt_gzip *gzip, size_t length)
{
    gzip->waiting.length += length;
    if (gzip->waiting.length >= PIECE)
        give_waiting(gzip, false);
}

static void put_fixed32(FILE *out, uint64_t value)
{
    for (int i = 0; i < 4; i++, value >>= 8)
        putc((int)(value & 0xff), out);
}

void pt_gzip_end(struct pt_gzip *gzip)
{
    give_waiting(gzip, true);
    pthread_mutex_lock(&gzip->mutex);
    gzip->ending = true;
    pthread_cond_broadcast(&gzip->change);
    pthread_mutex_unlock(&gzip->mutex);
    while (gzip->written < gzip->given)
        write_oldest(gzip);
    put_fixed32(gzip->out, gzip->crc);
    put_fixed32(gzip->out, gzip->length);
    for (unsigned i = 0; i < gzip->thread_count; i++)
        pthread_join(gzip->threads[i], NULL);
    for (unsigned i = 0; i < PIECES; i++)
        pt_buffer_free(&gzip->pieces[i].text);
    pt_buffer_free(&gzip->waiting);
    pthread_mutex_destroy(&gzip->mutex);
    pthread_cond_destroy(&gzip->change);
    free(gzip);
}
