/* When processes were ready, and what ran before and after. */
#include "profile_fixture.h"
#include "tools/model/selection.h"
#include "tools/query/select.h"

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

enum { SERVER = 1, SCRIPT, JOBS, IMPORTER };

/* Each process: a second of imports; one with imports, other code and, of SERVER and JOBS, a request or job; one more.
 * Powers of two, so that a sum tells which samples are in it. */
static void add_process(struct pt_profile *profile, int kind)
{
    static const uint64_t nothing[2] = {0};
    static const char *const keys[] = {[SERVER] = "endpoint", [SCRIPT] = "task", [JOBS] = "task", [IMPORTER] = "x"};
    char instance[] = {(char)('a' + kind), '\0'};
    struct fixture log = fixture_of(&(struct fixture_process){"run", instance, "/", "3.13.1", "python3", 0, 7, 10 * S});
    uint32_t thread = fixture_thread(&log, 7, "MainThread"), other = fixture_thread(&log, 8, "pool");
    uint32_t labels = fixture_labels(&log, keys[kind], "value");
    uint32_t main_code = fixture_code(&log, "main", "/srv/app.py", 1);
    uint32_t import_code = fixture_code(&log, "_find_and_load", "<frozen importlib._bootstrap>", 1);
    uint32_t module = fixture_module(&log, "/lib/libx.so", 0, 0x1000, 0x9000, 0, nothing, sizeof nothing);
    uint32_t native = fixture_node(&log, 0, fixture_native(&log, module, 0x1234, "f", 0));
    uint32_t loop_code = fixture_code(&log, "Handle._run", "/usr/lib/python3.13/asyncio/events.py", 1);
    uint32_t task = fixture_node(&log, 0, fixture_python(&log, loop_code, 2)); /* before the task's own frames */
    uint32_t run = fixture_node(&log, kind == SCRIPT ? task : native, fixture_python(&log, main_code, 2));
    uint32_t import = fixture_node(&log, run, fixture_python(&log, import_code, 2));
    import = fixture_node(&log, import, fixture_python(&log, main_code, 1));
    run = kind == IMPORTER ? import : run;
    fixture_samples_at(&log, 10 * S, S,
                       (const uint64_t[][FIXTURE_SAMPLE_FIELDS]){{thread, import, 0, 0, 1, 1 * MS},
                                                                 {thread, native, 0, 0, 1, 2 * MS},
                                                                 {other, native, 0, 0, 1, 4 * MS}},
                       3);
    fixture_samples_at(&log, 11 * S, S,
                       (const uint64_t[][FIXTURE_SAMPLE_FIELDS]){{thread, import, 0, 0, 1, 8 * MS},
                                                                 {thread, native, 0, 0, 1, 16 * MS},
                                                                 {other, native, 0, 0, 1, 32 * MS},
                                                                 {thread, run, 0, 0, 1, 64 * MS}},
                       4);
    fixture_samples_at(&log, 12 * S, S,
                       (const uint64_t[][FIXTURE_SAMPLE_FIELDS]){{thread, import, 0, 0, 1, 128 * MS},
                                                                 {other, native, 0, 0, 1, 256 * MS},
                                                                 {thread, run, labels, 0, 1, 512 * MS}},
                       3);
    fixture_samples_at(&log, 13 * S, S, (const uint64_t[][FIXTURE_SAMPLE_FIELDS]){{thread, import, 0, 0, 1, 1024 * MS}},
                       1);
    add_log(profile, &log);
}

static uint64_t milliseconds(int kind, struct pt_selection select)
{
    const struct pt_load_request first = {.keep = PT_KEEP_SUMS, .ready = true}, second = {.select = select};
    AUTO_PROFILE *earlier = pt_profile_new(&first), *profile = pt_profile_new(&second);
    add_process(earlier, IMPORTER - kind + 1); /* that others are read too does not matter */
    if (kind != IMPORTER - kind + 1)
        add_process(earlier, kind);
    profile->earlier = earlier;
    add_process(profile, kind);
    pt_profile_finish(profile);
    uint64_t ns = pt_select(profile) ? pt_profile_cpu_ns(profile) : 0, start = 0, end = 14 * S;
    pt_selected_window(profile, &start, &end);
    if (select.from.ready && ns) /* what is exported has that length */
        assert_int_equal(start, kind == SCRIPT ? 11 * S : 12 * S);
    return ns / MS;
}

TEST(each_process_has_its_own_start)
{
    static const uint64_t after[] = {
        [SERVER] = 256 + 512 + 1024,                 /* from the second of its request, without imports there */
        [SCRIPT] = 32 + 64 + 128 + 256 + 512 + 1024, /* its tasks are no jobs */
        [JOBS] = 256 + 512 + 1024,
        [IMPORTER] = 0,
    };
    for (int kind = SERVER; kind <= IMPORTER; kind++) {
        assert_int_equal(milliseconds(kind, (struct pt_selection){.from.ready = true}), after[kind]);
        assert_int_equal(milliseconds(kind, (struct pt_selection){.to.ready = true}), 2047 - after[kind]);
    }
}

TEST(other_borders_and_threads_count_too)
{
    const struct pt_selection until = {.from.ready = true, .to.unix_ns = 13 * S},
                              pool = {.from.ready = true, .thread = "8"};
    assert_int_equal(milliseconds(SERVER, until), 256 + 512);
    assert_int_equal(milliseconds(SERVER, pool), 256);
}
