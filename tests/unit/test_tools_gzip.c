/* Large exports are compressed in pieces. */
#include "random.h"
#include "tools/base/gzip.h"
#include "unit.h"

#include <zlib.h>

static char *compressed(const char *text, size_t length, size_t step, size_t *size)
{
    char *data = NULL;
    FILE *out = open_memstream(&data, size);
    struct pt_gzip gzip;
    pt_gzip_begin(&gzip, out);
    for (size_t at = 0; at < length; at += step) {
        pt_buffer_append(&gzip.text, text + at, length - at < step ? length - at : step);
        pt_gzip_flush(&gzip);
    }
    pt_gzip_end(&gzip);
    fclose(out);
    return data;
}

/* One member, with the right sum and length: zlib looks at both. */
static void assert_holds(char *data, size_t size, const char *text, size_t length)
{
    PT_AUTO_FREE char *back = malloc(length + 1);
    z_stream stream = {.next_in = (unsigned char *)data, .avail_in = (uInt)size};
    stream.next_out = (unsigned char *)back;
    stream.avail_out = (uInt)length + 1;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    assert_int_equal(stream.total_out, length);
    assert_memory_equal(back, text, length);
    inflateEnd(&stream);
}

TEST(pieces_are_one_stream)
{
    static const struct {
        size_t length, step;
    } cases[] = {{0, 1}, {1, 1}, {100, 7}, {512 << 10, 64}, {(512 << 10) + 1, 512 << 10}, {20 << 20, 70001}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length = cases[i].length, size, again_size;
        PT_AUTO_FREE char *text = malloc(length + 1);
        for (size_t j = 0; j < length; j++) /* some of it cannot be compressed */
            text[j] = (char)(j / 5000 % 2 ? random_below(256) : j % 50);
        PT_AUTO_FREE char *data = compressed(text, length, cases[i].step, &size);
        PT_AUTO_FREE char *again = compressed(text, length, cases[i].step, &again_size);
        assert_holds(data, size, text, length);
        assert_int_equal(size, again_size);
        assert_memory_equal(data, again, size);
    }
}
