/* What CPython 3.13 and later publish about their layout, each field true and each wrong. The values are those of
 * 3.13.0, 3.14.10 and 3.15.2, by the row of our own table; the places are counted out here a second time. */
#include "preload/cpython/offsets.h"
#include "unit.h"

#define WORDS 128

struct said {
    unsigned minor;
    bool free_threaded;
    uint32_t version;
    uint64_t words[WORDS];
    unsigned count;
    /* word numbers of the groups' first fields (sizes) */
    unsigned runtime, interpreter, thread, frame, code, object, bytes, text, gc, generator;
};

/* Word numbers in the order of struct _Py_DebugOffsets. */
static void place_groups(struct said *said)
{
    bool since_14 = said->minor >= 14, since_15 = said->minor >= 15;
    said->runtime = 3;
    said->interpreter = said->runtime + 3;
    said->thread = said->interpreter + (since_14 ? 16 : 13);
    said->frame = said->thread + (since_15 ? 16 + 1 : 9);
    said->code = said->frame + (since_14 ? 8 : 6);
    said->object = said->code + (since_14 ? 11 : 10);
    unsigned tuple = said->object + 2 + (since_15 ? 6 + 2 : 4);
    said->bytes = tuple + 3 + 3 + (since_14 ? 4 : 0) + 3 + 2 + 3;
    said->text = said->bytes + 3;
    said->gc = said->text + (since_15 ? 5 : 4);
    said->generator = said->gc + (since_15 ? 5 : 2);
    said->count = since_14 ? said->generator + 4 + 2 + 6 : said->generator;
}

static void say(struct said *said, unsigned group, const uint16_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        said->words[group + i] = values[i];
}

#define SAY(group, ...)                                                                                                \
    say(said, said->group, (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

static void truth(struct said *said, unsigned minor, bool free_threaded)
{
    const struct pp_python_layout *row = pp_python_layout_of(minor, free_threaded);
    assert_non_null(row);
    memset(said, 0, sizeof *said);
    said->minor = minor;
    said->free_threaded = free_threaded;
    said->version = 3u << 24 | minor << 16 | 0x02f0;
    place_groups(said);
    memcpy(said->words, "xdebugpy", 8);
    said->words[1] = said->version;
    said->words[2] = free_threaded;
    SAY(runtime, 60000, row->runtime.finalizing, row->runtime.head_interpreter);
    unsigned gc = said->interpreter + (minor >= 14 ? 5 : 4);
    SAY(interpreter, 60000, 0, row->interpreter.next, row->interpreter.threads);
    said->words[gc] = 7400;
    said->words[gc + 1] = row->interpreter.modules;
    SAY(gc, 300, row->interpreter.collecting ? row->interpreter.collecting - 7400 : 200, 120);
    if (minor == 13)
        said->words[said->gc + 2] = 0;
    SAY(thread, 400, 0, 8, row->thread_state.interp, row->thread_state.top);
    unsigned id = said->thread + 5;
    if (minor >= 15) {
        said->words[id] = row->thread_state.base_frame;
        id += 3;
    }
    said->words[id] = row->thread_state.thread_id;
    said->words[id + 2] = row->thread_state.datastack_chunk;
    SAY(frame, row->frame.copy_size + 8, row->frame.previous, row->frame.code, row->frame.instr, row->frame.copy_size,
        row->frame.owner);
    if (minor >= 14)
        said->words[said->frame + 7] = row->frame.tlbc_index;
    SAY(code, row->code.copy_size + 8, row->code.filename, 0, row->code.qualname, row->code.line_table,
        row->code.first_line, 0, row->code.local_names, 0, row->code.instructions);
    if (minor >= 14)
        said->words[said->code + 10] = row->code.tlbc;
    SAY(object, 16, row->object_type);
    if (minor >= 15)
        said->words[said->object + 9] = row->heap_type.cached_keys;
    SAY(bytes, 40, row->bytes.length, row->bytes.data);
    SAY(text, 64, row->text.state, row->text.length, row->text.ascii_data);
    if (minor >= 15)
        said->words[said->text + 4] = row->text.compact_data;
    if (minor >= 14)
        SAY(generator, 160, 24, row->generator.frame, row->generator.frame - 5);
}

static const char *apply(const struct said *said, struct pp_python_layout *layout)
{
    *layout = *pp_python_layout_of(said->minor, said->free_threaded);
    return pp_python_offsets_apply(layout, said->words, said->version);
}

static const struct {
    unsigned minor;
    bool free_threaded;
} builds[] = {{13, false}, {13, true}, {14, false}, {14, true}, {15, false}};

#define FOR_EACH_BUILD(said)                                                                                           \
    for (unsigned build = 0; build < sizeof builds / sizeof *builds; build++)                                          \
        if (truth(said, builds[build].minor, builds[build].free_threaded), true)

TEST(agrees)
{
    struct said said;
    struct pp_python_layout layout;
    FOR_EACH_BUILD(&said)
    {
        const struct pp_python_layout *row = pp_python_layout_of(said.minor, said.free_threaded);
        assert_int_equal(pp_python_offsets_size(row), said.count * 8);
        assert_int_equal(pp_python_offsets_free_threaded(said.words, said.version), said.free_threaded);
        assert_null(apply(&said, &layout));
        if (said.minor == 13) { /* what follows the thread state */
            assert_int_equal(layout.thread_state.running_loop, said.words[said.thread]);
            layout.thread_state.running_loop = row->thread_state.running_loop;
        }
        if (said.minor >= 15) {
            assert_int_equal(layout.interpreter.collecting_frame, 7400 + 120);
            layout.interpreter.collecting_frame = row->interpreter.collecting_frame;
        }
        assert_true(layout.thread_state.copy_size <= row->thread_state.copy_size);
        layout.thread_state.copy_size = row->thread_state.copy_size;
        assert_memory_equal(&layout, row, sizeof layout);
    }
    assert_int_equal(pp_python_offsets_size(pp_python_layout_of(12, false)), 0);
}

TEST(moved_state_is_followed)
{
    struct said said;
    struct pp_python_layout layout;
    FOR_EACH_BUILD(&said)
    {
        const struct pp_python_layout *row = pp_python_layout_of(said.minor, said.free_threaded);
        unsigned id = said.thread + (said.minor >= 15 ? 8 : 5);
        said.words[said.runtime + 1] += 64;
        said.words[said.interpreter + (said.minor >= 14 ? 5 : 4)] += 16;
        said.words[said.thread + 3] += 8;
        said.words[said.thread + 4] += 16;
        said.words[id] += 24;
        said.words[id + 2] += 40;
        assert_null(apply(&said, &layout));
        assert_int_equal(layout.runtime.finalizing, row->runtime.finalizing + 64);
        if (row->interpreter.collecting)
            assert_int_equal(layout.interpreter.collecting, row->interpreter.collecting + 16);
        assert_int_equal(layout.thread_state.interp, row->thread_state.interp + 8);
        assert_int_equal(layout.thread_state.top, row->thread_state.top + 16);
        assert_int_equal(layout.thread_state.thread_id, row->thread_state.thread_id + 24);
        assert_int_equal(layout.thread_state.datastack_chunk, row->thread_state.datastack_chunk + 40);
        assert_int_equal(layout.thread_state.datastack_top, row->thread_state.datastack_top + 40);
        assert_true(layout.thread_state.copy_size >= layout.thread_state.datastack_top + 8);
    }
}

/* Every word that we compare, off by eight: no field of it may be believed. */
TEST(each_other_difference_is_refused)
{
    struct said said;
    struct pp_python_layout layout;
    FOR_EACH_BUILD(&said)
    {
        const unsigned compared[] = {
            0,
            1,
            2,
            said.frame + 1,
            said.frame + 2,
            said.frame + 3,
            said.frame + 4,
            said.frame + 5,
            said.code + 1,
            said.code + 3,
            said.code + 4,
            said.code + 5,
            said.code + 9,
            said.object + 1,
            said.bytes + 1,
            said.bytes + 2,
            said.text + 1,
            said.text + 2,
            said.text + 3,
            said.minor >= 15 ? said.text + 4 : 0,
            said.minor >= 14 ? said.generator + 2 : 0,
            said.minor >= 14 ? said.generator + 3 : 0,
            said.minor >= 14 && said.free_threaded ? said.frame + 7 : 0,
            said.minor >= 14 && said.free_threaded ? said.code + 10 : 0,
        };
        for (unsigned i = 0; i < sizeof compared / sizeof *compared; i++) {
            said.words[compared[i]] += 8;
            assert_non_null(apply(&said, &layout));
            said.words[compared[i]] -= 8;
        }
        assert_null(apply(&said, &layout));
    }
}

TEST(impossible_values_are_refused)
{
    struct said said;
    struct pp_python_layout layout;
    static const uint64_t bad[] = {0xffff, 0x10000, 0x10008, (uint64_t)-1, (uint64_t)-8, (uint64_t)1 << 32};
    FOR_EACH_BUILD(&said)
    {
        unsigned id = said.thread + (said.minor >= 15 ? 8 : 5);
        const unsigned places[] = {
            said.runtime + 1,
            said.thread + 3,
            said.thread + 4,
            id,
            id + 2,
            said.gc,
            said.gc + 1,
            said.interpreter + (said.minor >= 14 ? 5 : 4),
            said.minor >= 15 ? said.gc + 2 : 0,
            said.minor >= 15 ? said.thread + 5 : 0,
        };
        for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
            for (unsigned j = 0; j < sizeof bad / sizeof *bad; j++) {
                uint64_t before = said.words[places[i]];
                said.words[places[i]] = bad[j];
                assert_non_null(apply(&said, &layout));
                said.words[places[i]] = before;
            }
        /* structures too small for what is in them */
        const unsigned sizes[] = {said.runtime, said.interpreter, said.thread, said.frame, said.code, said.gc};
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            uint64_t before = said.words[sizes[i]];
            said.words[sizes[i]] = 16;
            assert_non_null(apply(&said, &layout));
            said.words[sizes[i]] = before;
        }
    }
}

TEST(other_versions_are_refused)
{
    struct said said;
    struct pp_python_layout layout;
    truth(&said, 14, false);
    layout = *pp_python_layout_of(13, false);
    assert_non_null(pp_python_offsets_apply(&layout, said.words, said.version));
    layout = *pp_python_layout_of(14, true);
    assert_non_null(pp_python_offsets_apply(&layout, said.words, said.version));
    layout = *pp_python_layout_of(14, false);
    assert_non_null(pp_python_offsets_apply(&layout, said.words, said.version + 0x100));
    layout = *pp_python_layout_of(12, false);
    assert_non_null(pp_python_offsets_apply(&layout, said.words, 3u << 24 | 12u << 16 | 0x1f0));
}

TEST(collector_of_3_12)
{
    const struct pp_python_layout *row = pp_python_layout_of(12, false);
    uint64_t runtime[200] = {0};
    const unsigned interpreter = 50, generations = interpreter + 136 / 8; /* as in 3.12.1 */
    runtime[interpreter + 2] = (uint64_t)-1;
    runtime[generations + 2] = 700;
    runtime[generations + 5] = 10;
    runtime[generations + 8] = 10;
    assert_true(pp_python_offsets_fit_collector(row, runtime, sizeof runtime));
    assert_true(pp_python_offsets_fit_collector(row, runtime, (generations + 9) * 8));
    assert_false(pp_python_offsets_fit_collector(row, runtime, (generations + 8) * 8));
    for (unsigned i = 0; i < 3; i++) {
        runtime[generations + 2 + 3 * i]++;
        assert_false(pp_python_offsets_fit_collector(row, runtime, sizeof runtime));
        runtime[generations + 2 + 3 * i]--;
    }
    /* with a word more before the collector */
    runtime[interpreter + 2] = 0;
    runtime[interpreter + 1] = (uint64_t)-1;
    assert_false(pp_python_offsets_fit_collector(row, runtime, sizeof runtime));
}
