/* What large exports are made with: a gzip stream in pieces, samples sorted stack by stack. */
#include "random.h"
#include "tools/export/gzip.h"
#include "tools/export/sample_order.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
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
    char *back = malloc(length + 1);
    z_stream stream = {.next_in = (unsigned char *)data, .avail_in = (uInt)size};
    stream.next_out = (unsigned char *)back;
    stream.avail_out = (uInt)length + 1;
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    assert_int_equal(stream.total_out, length);
    assert_memory_equal(back, text, length);
    inflateEnd(&stream);
    free(back);
}

static void pieces_are_one_stream(void **unused)
{
    (void)unused;
    static const struct {
        size_t length, step;
    } cases[] = {{0, 1}, {1, 1}, {100, 7}, {512 << 10, 64}, {(512 << 10) + 1, 512 << 10}, {20 << 20, 70001}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length = cases[i].length, size, again_size;
        char *text = malloc(length + 1);
        for (size_t j = 0; j < length; j++) /* some of it cannot be compressed */
            text[j] = (char)(j / 5000 % 2 ? random_below(256) : j % 50);
        char *data = compressed(text, length, cases[i].step, &size);
        char *again = compressed(text, length, cases[i].step, &again_size);
        assert_holds(data, size, text, length);
        assert_int_equal(size, again_size);
        assert_memory_equal(data, again, size);
        free(text);
        free(data);
        free(again);
    }
}

#define SAMPLES 5000u
#define NODES   6u
#define STATES  0x0fu

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int in_order(const struct pt_sample *a, const struct pt_sample *b)
{
    int order = compare(a->thread, b->thread);
    order = order ? order : compare(a->labels, b->labels);
    return order ? order : compare(a->state, b->state);
}

/* What the samples of the node that are like this one sum up to. */
static void assert_is_sum(const struct pt_profile *profile, uint32_t node, const struct pt_sample *one)
{
    uint64_t count = 0, cpu_ns = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        struct pt_sample sample = profile->samples.items[i];
        sample.state &= STATES;
        if (sample.node != node || in_order(&sample, one) != 0)
            continue;
        count += sample.count;
        cpu_ns += sample.cpu_ns;
    }
    assert_int_equal(one->node, node);
    assert_int_equal(one->count, count);
    assert_int_equal(one->cpu_ns, cpu_ns);
}

static void samples_are_sorted_by_node(void **unused)
{
    (void)unused;
    struct pt_profile *profile = pt_profile_new();
    const struct pt_sample *samples;
    struct pt_sample_order *order = pt_sample_order_new(profile, STATES);
    assert_int_equal(pt_samples_of_node(order, 0, &samples), 0);
    pt_sample_order_free(order);
    for (uint32_t i = 1; i < NODES; i++)
        pt_add_node(profile, 0, i);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        static const uint32_t threads[] = {3, 300, 70000, PT_NONE};
        uint32_t node = random_below(30); /* node 1 has few samples, node 4 has none, node 5 has most */
        struct pt_sample sample = {.thread = random_below(threads[random_below(random_below(2) ? 4 : 1)]),
                                   .node = node > 3 ? NODES - 1 : node,
                                   .labels = random_below(4) ? 0 : random_below(PT_MOST_LABEL_SETS),
                                   .state = random_below(PT_MOST_STATES),
                                   .count = random_below(3),
                                   .cpu_ns = random_below(1000)};
        pt_append_sample(profile, &sample);
    }
    order = pt_sample_order_new(profile, STATES);
    uint64_t cpu_ns = 0;
    for (uint32_t node = 0; node < NODES; node++) {
        uint32_t count = pt_samples_of_node(order, node, &samples);
        assert_int_equal(!count, node == 4);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(!i || in_order(&samples[i - 1], &samples[i]) < 0);
            assert_is_sum(profile, node, &samples[i]);
            cpu_ns += samples[i].cpu_ns;
        }
    }
    assert_int_equal(cpu_ns, pt_profile_cpu_ns(profile));
    pt_sample_order_free(order);
    pt_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_one_stream),
        cmocka_unit_test(samples_are_sorted_by_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
