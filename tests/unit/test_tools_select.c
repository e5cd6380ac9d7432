/* What the options leave of a profile. */
#include "profile_fixture.h"
#include "tools/query/fold.h"
#include "tools/query/select.h"
#include "tools/report/report.h"

#define BIAS  0x7f0000000000u
#define WHOLE (FIXTURE_SAMPLES_NS + FIXTURE_PENDING_NS)

static struct pt_profile *example(const struct pt_load_request *request, uint64_t start)
{
    struct fixture log;
    struct pt_profile *profile = pt_profile_new(request);
    profile->run_start_unix_ns = start;
    fixture_example(&log, 100, BIAS);
    add_log(profile, &log);
    pt_profile_finish(profile);
    return profile;
}

/* CPU time that is left; 0 when pt_select says that nothing is. */
static uint64_t left_by(struct pt_selection select)
{
    const struct pt_load_request request = {.select = select};
    struct pt_profile *profile = example(NULL, 0);
    uint64_t start, end;
    pt_profile_span(profile, &start, &end);
    pt_profile_free(profile);
    profile = example(&request, start);
    bool any = pt_select(profile);
    uint64_t ns = pt_profile_cpu_ns(profile);
    assert_true(any ? ns > 0 : ns == 0);
    assert_int_equal(profile->whole_ns, WHOLE);
    pt_profile_free(profile);
    return ns;
}

TEST(nothing_asked_leaves_all)
{
    assert_int_equal(left_by((struct pt_selection){0}), WHOLE);
}

TEST(processes_and_threads)
{
    assert_int_equal(left_by((struct pt_selection){.pid = "7,100"}), WHOLE);
    assert_int_equal(left_by((struct pt_selection){.pid = "7"}), 0);
    assert_int_equal(left_by((struct pt_selection){.pid = "10"}), 0);
    assert_int_equal(left_by((struct pt_selection){.thread = "101"}), 35000000);
    assert_int_equal(left_by((struct pt_selection){.thread = "^worker"}), 35000000);
    assert_int_equal(left_by((struct pt_selection){.thread = "^MainThread$"}), 60000000);
}

TEST(stacks)
{
    assert_int_equal(left_by((struct pt_selection){.focus = "fib"}), 70000000);
    assert_int_equal(left_by((struct pt_selection){.ignore = "fib"}), WHOLE - 70000000);
    assert_int_equal(left_by((struct pt_selection){.focus = "sum_squares|\\[unsampled\\]"}), WHOLE - 65000000);
    assert_int_equal(left_by((struct pt_selection){.focus = "^main \\(app.py:10\\)$", .ignore = "fib"}), 25000000);
}

/* Slices next to each other hold everything once. */
TEST(times)
{
    uint64_t sum = 0;
    for (uint64_t from = 0; from < 2000000000u; from += 100000000u)
        sum += left_by((struct pt_selection){.from.of_run_ns = from, .to.of_run_ns = from + 100000000u});
    assert_int_equal(sum, WHOLE);
    /* One interval is all that there is: of a quarter of it there is a quarter. */
    const uint64_t timed = WHOLE - FIXTURE_PENDING_NS;
    assert_in_range(left_by((struct pt_selection){.from.of_run_ns = 750000000u}), FIXTURE_PENDING_NS + timed / 4 - 9,
                    FIXTURE_PENDING_NS + timed / 4 + 9);
    assert_in_range(left_by((struct pt_selection){.from.of_run_ns = 400000000u, .to.of_run_ns = 500000000u}),
                    timed / 10 - 9, timed / 10 + 9);
}

/* Frames by a letter: Python functions (S: of a package), the interpreter, a library, and pseudo-frames. */
static uint32_t frame_of(struct pt_profile *profile, char letter)
{
    static const char *const pseudo[] = {['M'] = "[native stack truncated: no unwind rows yet]",
                                         ['J'] = "[jit]",
                                         ['G'] = "[gc]",
                                         ['T'] = "[python stack torn]",
                                         ['U'] = "[unsampled]",
                                         ['i'] = "[interpreter]",
                                         ['k'] = "[task]",
                                         ['a'] = "[task a]",
                                         ['w'] = "[awaited]",
                                         ['l'] = "[loop]",
                                         ['C'] = "[creator]",
                                         ['n'] = "[native]",
                                         ['o'] = "[code of others]"};
    if (letter == 'P' || letter == 'Q' || letter == 'S') {
        const char *file = letter == 'S' ? "/srv/lib/python3.12/site-packages/s.py" : "/srv/app.py";
        const struct pt_function function = {.name = pt_intern(profile, &letter, 1),
                                             .file = pt_intern_text(profile, file)};
        return pt_add_frame(
            profile, &(struct pt_frame){.kind = PP_FRAME_PYTHON, .subject = pt_add_function(profile, &function)});
    }
    if (letter != 'I' && letter != 'L')
        return pt_add_pseudo(profile, pseudo[(unsigned char)letter]);
    /* The library is an extension module whose name begins like an interpreter's. */
    const char *path = letter == 'I' ? "/usr/lib/libpython3.13.so.1.0" : "/venv/python_fast.cpython-313.so";
    const struct pt_module module = {.path = pt_intern_text(profile, path)};
    return pt_add_frame(profile,
                        &(struct pt_frame){.kind = PP_FRAME_NATIVE, .subject = pt_add_module(profile, &module)});
}

static uint32_t stack_of(struct pt_profile *profile, const char *letters)
{
    uint32_t node = 0;
    for (; *letters; letters++)
        node = pt_add_node(profile, node, frame_of(profile, *letters));
    return node;
}

TEST(levels_of_native_code)
{
    static const char *const stacks[][3] = {
        /* all, libraries, none */
        {"P", "P", "P"},            /* Python only */
        {"ILIPIQI", "PQ", "PQ"},    /* as programs begin, and the eval loop between two functions */
        {"LLPIQ", "PQ", "PQ"},      /* a thread: clone above the first function */
        {"PILIQ", "PLQ", "PQ"},     /* a library calls back */
        {"PLI", "PL", "P"},         /* the interpreter works for a library */
        {"PIL", "PL", "P"},         /* and calls one */
        {"ILI", "i", "n"},          /* without Python */
        {"ILIL", "iL", "n"},        /* and in a library */
        {"LL", "LL", "n"},          /* a native thread */
        {"MIPIQ", "PQ", "PQ"},      /* the outer end of the native stack is missing: the Python frames are all there */
        {"IPMIQ", "PQ", "PQ"},      /* and so they are when it is the middle */
        {"PMLL", "PMLL", "P"},      /* here callers of the library are missing */
        {"PLMIL", "PLL", "P"},      /* but not here */
        {"IPIM", "PM", "P"},        /* it ends there */
        {"M", "M", "M"},            /* nothing else is known */
        {"MI", "i", "n"},           /* marks without Python */
        {"ML", "ML", "n"},          /* … */
        {"ILGI", "G", "G"},         /* a collection without Python */
        {"IPGIQ", "PGQ", "PGQ"},    /* and a finalizer */
        {"TMIPL", "TPL", "TP"},     /* Python frames that are missing are told */
        {"PIJQ", "PJQ", "PQ"},      /* code of a JIT is native */
        {"U", "U", "U"},            /* not a stack */
        {"IPQkPIL", "lkPL", "lkP"}, /* what is outside of a task is its loop */
        {"IPakPQ", "lakPQ", "lakPQ"}, /* with a task that awaits it */
        {"CkP", "CkP", "CkP"},        /* its first step is in the task that made it */
        {"kPL", "kPL", "kP"},         /* nothing is known of the loop */
        {"PaPkP", "laPkP", "laPkP"},  /* and waits there */
        {"PMkP", "lkP", "lkP"},       /* the outer end is missing */
        {"aLLPQ", "aPQ", "aPQ"},      /* a thread works for a task */
        {"aLILP", "aP", "aP"},
        {"aLL", "aLL", "an"}, /* without Python */
        {"aIL", "aiL", "an"},
        {"aM", "aM", "aM"},
        {"aPwILLPQ", "aPwPQ", "aPwPQ"}, /* for one that waits there, */
        {"aPaPwLLP", "aPaPwP", "aPaPwP"},
        {"aPwLL", "aPwLL", "aPwn"}, /* without Python */
    };
    static const unsigned columns[] = {[PT_NATIVE_LIBRARIES] = 1, [PT_NATIVE_NONE] = 2, [PT_NATIVE_ALL] = 0};
    static const char *const own[][2] = {
        /* all, own */
        {"ISIPIL", "P"},     /* what begins a program */
        {"PSILSQ", "PQ"},    /* a library calls back */
        {"PSPIS", "PP"},     /* the deepest is of others */
        {"ISL", "o"},        /* all of it is */
        {"ILL", "o"},        /* Python or not */
        {"LLM", "o"},        /* whole or not */
        {"M", "M"},          /* nothing else is known */
        {"SGS", "G"},        /* what is no function stays */
        {"ISkSP", "lkP"},    /* and tasks do */
        {"aPSkSPS", "aPkP"}, /* with those that await them */
        {"aPwLSP", "aPwP"},  /* in another thread, too */
        {"aPwLS", "aPwo"},
    };
    AUTO_PROFILE *profile = pt_profile_new(NULL);
    for (enum pt_native native = PT_NATIVE_LIBRARIES; native <= PT_NATIVE_ALL; native++) {
        struct pt_fold fold = {.native = native};
        size_t count = native == PT_NATIVE_OWN ? sizeof own / sizeof own[0] : sizeof stacks / sizeof stacks[0];
        for (size_t i = 0; i < count; i++) { /* one by one, as of a profile that grows */
            const char *whole = native == PT_NATIVE_OWN ? own[i][0] : stacks[i][0];
            const char *wanted = native == PT_NATIVE_OWN ? own[i][1] : stacks[i][columns[native]];
            uint32_t node = stack_of(profile, whole);
            pt_fold_add(&fold, profile);
            if (pt_fold_node(&fold, node) != stack_of(profile, wanted))
                fail_msg("%s is not %s", whole, wanted);
            pt_fold_add(&fold, profile);
            assert_int_equal(pt_fold_node(&fold, stack_of(profile, wanted)), stack_of(profile, wanted));
        }
        pt_fold_free(&fold);
    }
}

TEST(at_each_level_the_sum_stays)
{
    for (enum pt_native native = PT_NATIVE_LIBRARIES; native <= PT_NATIVE_ALL; native++) {
        const struct pt_load_request request = {.select = {.native = native}};
        AUTO_PROFILE *profile = example(&request, 0);
        assert_true(pt_select(profile));
        assert_false(profile->selected);
        assert_int_equal(pt_profile_cpu_ns(profile), WHOLE);
        struct pt_report_code code = pt_report_code_of(profile);
        assert_int_equal(code.library_ns, 45000000);
        assert_int_equal(code.python_ns, 50000000);
        bool shown[PT_KINDS] = {false};
        for (uint32_t i = 0; i < profile->samples.count; i++)
            for (uint32_t at = profile->samples.items[i].node; at; at = profile->nodes.items[at].parent)
                shown[pt_kind_of(profile, &profile->frames.items[profile->nodes.items[at].frame])] = true;
        assert_int_equal(shown[PT_KIND_INTERPRETER], native == PT_NATIVE_ALL);
        assert_int_equal(shown[PT_KIND_NATIVE], native == PT_NATIVE_ALL || native == PT_NATIVE_LIBRARIES);
    }
}

/* What pip installs beside the interpreter is installed; "<string>" is the program's only where it is the program. */
TEST(commands_are_installed_and_strings_are_of_their_program)
{
    static const struct {
        const char *command, *executable, *file;
        enum pt_kind kind;
    } cases[] = {
        {"/srv/venv/bin/python /srv/venv/bin/gunicorn app:app", "/usr/bin/python3.11", "/srv/venv/bin/gunicorn",
         PT_KIND_PACKAGE},
        {"/srv/venv/bin/python venv/bin/gunicorn", "/usr/bin/python3.11", "venv/bin/gunicorn", PT_KIND_PACKAGE},
        {"/srv/.venv/bin/python .venv/bin/gunicorn", "/usr/bin/python3.11", ".venv/bin/gunicorn", PT_KIND_PACKAGE},
        {"/srv/venv/bin/python ../../venv/bin/x", "/usr/bin/python3.11", "../.././venv/bin/x", PT_KIND_PACKAGE},
        {"/srv/venv/bin/python ../venv/bin/x", "/usr/bin/python3.11", "/srv/a/../venv/bin/x", PT_KIND_PACKAGE},
        {"/srv/venv/bin/python ../venv/bin/x", "/usr/bin/python3.11", "/srv/a/../../bin/x", PT_KIND_APPLICATION},
        {"/srv/venv/bin/python bin/run", "/usr/bin/python3.11", "tools/bin/run", PT_KIND_APPLICATION},
        {"/srv/venv/bin/python nv/bin/run", "/usr/bin/python3.11", "nv/bin/run", PT_KIND_APPLICATION},
        {"python3 /usr/bin/tool", "/usr/bin/python3.11", "/usr/bin/tool", PT_KIND_PACKAGE},
        {"/srv/venv/bin/python /srv/bin/run", "/usr/bin/python3.11", "/srv/bin/run", PT_KIND_APPLICATION},
        {"/srv/venv/bin/python app.py", "/usr/bin/python3.11", "/srv/venv/bin/more/app.py", PT_KIND_APPLICATION},
        {"python3 app.py", "/usr/bin/python3.11", "/srv/lib/libpyprof/_requests.py", PT_KIND_PACKAGE},
        {"python3 app.py", "/usr/bin/python3.11", "/srv/lib/libpyprof/_steps.py", PT_KIND_PACKAGE},
        {"python3 app.py", "/usr/bin/python3.11", "/srv/libpyprof/shop.py", PT_KIND_APPLICATION},
        {"python3 app.py", "/usr/bin/python3.11", "/srv/mylibpyprof/_requests.py", PT_KIND_APPLICATION},
        {"python3 app.py", "/usr/bin/python3.11", "_requests.py", PT_KIND_APPLICATION},
        {"python3 app.py", "/usr/bin/python3.11", "<string>", PT_KIND_STANDARD},
        {"python3 -c pass", "/usr/bin/python3.11", "<string>", PT_KIND_APPLICATION},
        {"editor", "/usr/bin/editor", "<string>", PT_KIND_APPLICATION},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_PROFILE *profile = pt_profile_new(NULL);
        uint32_t number = pt_add_process(profile, pt_intern_text(profile, "i"));
        profile->processes.items[number].command_line = pt_intern_text(profile, cases[i].command);
        profile->processes.items[number].executable = pt_intern_text(profile, cases[i].executable);
        PT_APPEND(&profile->functions)->file = pt_intern_text(profile, cases[i].file);
        const struct pt_frame frame = {.kind = PP_FRAME_PYTHON, .subject = profile->functions.count - 1};
        assert_int_equal(pt_kind_of(profile, &frame), cases[i].kind);
    }
}
