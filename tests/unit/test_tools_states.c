/* GIL and garbage collection: shares of what is known, the [gc] frame, how samples are told apart. */
#include "profile_fixture.h"
#include "tools/export/export.h"
#include "tools/model/gil_gc.h"

#define KNOWN (PP_STATE_GIL_KNOWN | PP_STATE_GC_KNOWN)
#define HELD  (KNOWN | PP_STATE_HOLDS_GIL)
#define GC    (HELD | PP_STATE_GC)

struct log {
    struct fixture log;
    uint32_t python, extension; /* modules */
    uint32_t outer, inner;      /* nodes of Python functions: inner() is called by outer() */
    uint32_t finalizer;         /* a frame */
    uint32_t thread;
};

static void begin(struct log *log)
{
    fixture_begin(&log->log);
    fixture_process(&log->log, &(struct fixture_process){.run = "r", .instance = "i", .pid = 1});
    log->python = fixture_module(&log->log, "/lib/libpython3.so", 0, 0x1000, 0x9000, PP_MODULE_PYTHON, NULL, 0);
    log->extension = fixture_module(&log->log, "/lib/own.so", 0, 0x11000, 0x19000, 0, NULL, 0);
    log->thread = fixture_thread(&log->log, 1, "main");
    uint32_t outer = fixture_code(&log->log, "outer", "x.py", 1), inner = fixture_code(&log->log, "inner", "x.py", 5);
    uint32_t finalizer = fixture_code(&log->log, "__del__", "x.py", 9);
    log->outer = fixture_node(&log->log, 0, fixture_python(&log->log, outer, 2));
    log->inner = fixture_node(&log->log, log->outer, fixture_python(&log->log, inner, 6));
    log->finalizer = fixture_python(&log->log, finalizer, 10);
}

static uint32_t native(struct log *log, uint32_t parent, uint32_t module, const char *symbol)
{
    uint64_t address = 0x1000 + 0x10 * log->log.frames;
    return fixture_node(&log->log, parent, fixture_native(&log->log, module, address, symbol, 0));
}

static void sample(struct log *log, uint32_t node, uint32_t state, uint64_t ns)
{
    fixture_sample(&log->log, log->thread, node, 0, state, 1, ns);
}

static struct pt_profile *profile_with_gc(struct log *log)
{
    struct pt_profile *profile = profile_of(&log->log, NULL);
    pt_states_add_gc_frames(profile);
    return profile;
}

static char *collapsed(struct log *log, bool gil)
{
    AUTO_PROFILE *profile = profile_with_gc(log);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    pt_export_collapsed(profile, &(struct pt_export_options){.gil = gil}, out);
    fclose(out);
    return text;
}

TEST(shares_are_of_what_is_known)
{
    struct log log;
    begin(&log);
    sample(&log, log.inner, HELD, 1);
    sample(&log, log.inner, KNOWN, 2);
    sample(&log, log.outer, GC, 4);
    sample(&log, log.outer, PP_STATE_HOLDS_GIL | PP_STATE_GC, 8); /* without the known bits they say nothing */
    sample(&log, log.outer, PP_STATE_ESTIMATED, 16);
    sample(&log, log.outer, PP_STATE_GC_KNOWN, 32); /* free-threaded */
    AUTO_PROFILE *profile = profile_with_gc(&log);
    struct pt_states all = pt_states_of(profile, PT_NONE), *threads = pt_states_by(profile, true);
    assert_int_equal(all.gil_ns, 5);
    assert_int_equal(all.gil_known_ns, 7);
    assert_int_equal(all.gc_ns, 4);
    assert_int_equal(all.gc_known_ns, 39);
    uint32_t thread = profile->samples.items[0].thread;
    assert_memory_equal(&threads[thread], &all, sizeof all);
    struct pt_states of_process = pt_states_of(profile, 0), other = pt_states_of(profile, 1);
    assert_memory_equal(&of_process, &all, sizeof all);
    assert_int_equal(other.gil_known_ns, 0);
    free(threads);
}

TEST(gc_is_called_by_the_python_frame)
{
    struct log log;
    begin(&log);
    uint32_t allocating = native(&log, log.inner, log.python, "PyList_New");
    uint32_t collecting = native(&log, allocating, log.python, "gc_collect_main.lto_priv.0");
    uint32_t nameless = native(&log, log.inner, log.python, NULL);
    sample(&log, native(&log, collecting, log.python, "visit_decref"), GC, 1);
    sample(&log, nameless, GC, 2);
    sample(&log, allocating, HELD, 4);
    /* the same name elsewhere is no collector */
    sample(&log, native(&log, log.outer, log.extension, "gc_collect_main"), HELD, 8);
    PT_AUTO_FREE char *text = collapsed(&log, false);
    assert_string_equal(text, "outer (x.py:1);gc_collect_main (own.so) 8\n"
                              "outer (x.py:1);inner (x.py:5);PyList_New (libpython3.so) 4\n"
                              "outer (x.py:1);inner (x.py:5);[gc];0x1050 (libpython3.so) 2\n"
                              "outer (x.py:1);inner (x.py:5);[gc];PyList_New (libpython3.so);gc_collect_main "
                              "(libpython3.so);visit_decref (libpython3.so) 1\n");
}

TEST(finalizers_stand_above_gc)
{
    struct log log;
    begin(&log);
    uint32_t collecting = native(&log, log.outer, log.python, "collect");
    uint32_t finalizer =
        fixture_node(&log.log, native(&log, collecting, log.python, "slot_tp_finalize"), log.finalizer);
    sample(&log, finalizer, GC, 1);
    sample(&log, native(&log, finalizer, log.python, "PyLong_Add"), GC, 2);
    PT_AUTO_FREE char *text = collapsed(&log, false);
    assert_string_equal(text, "outer (x.py:1);[gc];collect (libpython3.so);slot_tp_finalize (libpython3.so);"
                              "__del__ (x.py:9) 1\n"
                              "outer (x.py:1);[gc];collect (libpython3.so);slot_tp_finalize (libpython3.so);"
                              "__del__ (x.py:9);PyLong_Add (libpython3.so) 2\n");
}

TEST(gc_without_python_frames)
{
    struct log log;
    begin(&log);
    uint32_t ending = native(&log, 0, log.python, "Py_FinalizeEx");
    sample(&log, native(&log, ending, log.python, "_PyGC_CollectNoFail"), GC, 1);
    sample(&log, ending, GC, 2);
    sample(&log, 0, GC, 4);
    PT_AUTO_FREE char *text = collapsed(&log, false);
    assert_string_equal(text, "Py_FinalizeEx (libpython3.so);[gc] 2\n"
                              "Py_FinalizeEx (libpython3.so);[gc];_PyGC_CollectNoFail (libpython3.so) 1\n"
                              "[no stack];[gc] 4\n");
}

TEST(stacks_are_told_apart_by_gil_on_demand)
{
    for (int gil = 0; gil < 2; gil++) {
        struct log log;
        begin(&log);
        sample(&log, log.outer, KNOWN, 1);
        sample(&log, log.outer, HELD, 2);
        sample(&log, log.outer, 0, 4);
        PT_AUTO_FREE char *text = collapsed(&log, gil);
        assert_string_equal(text, gil ? "GIL held;outer (x.py:1) 2\nGIL not held;outer (x.py:1) 1\n"
                                        "GIL unknown;outer (x.py:1) 4\n"
                                      : "outer (x.py:1) 7\n");
    }
}
