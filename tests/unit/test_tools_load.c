/* Which files and runs are loaded, and what is refused. */
#include "profile_fixture.h"
#include "tools/load/files.h"
#include "tools/load/load.h"
#include "tools/load/runs.h"
#include <signal.h>
#include <sys/wait.h>

#define START_NS 1700000000000000000u

static void write_run(const char *name, const char *run, uint64_t pid, uint64_t start_unix_ns)
{
    char instance[32];
    snprintf(instance, sizeof instance, "%s-%u", run, (unsigned)pid);
    AUTO_FIXTURE log = fixture_of(
        &(struct fixture_process){.run = run, .instance = instance, .pid = pid, .start_unix_ns = start_unix_ns});
    fixture_sample(&log, 0, fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1, 10);
    fixture_write(name, log.file.data, log.file.length);
}

void before_all(void)
{
    scratch_make();
    unsetenv("PYPROF_OUT");
    setenv("TMPDIR", scratch_path, 1);
    assert_int_equal(system("mkdir pyprof.out empty useless"), 0);
}

static void count_message(void *data, const char *text)
{
    *(uint32_t *)data += *text && !strchr(text, '\n');
}

/* Number of processes loaded from the paths (NULL ends), 0 when that is refused, which a message says. */
static uint32_t processes(struct pt_load_request request, char *first, char *second)
{
    char *paths[] = {first, second, NULL};
    uint32_t said = 0;
    const struct pt_messages messages = {.message = count_message, .data = &said};
    request.messages = &messages;
    request.paths = paths;
    request.path_count = first ? second ? 2 : 1 : 0;
    AUTO_PROFILE *profile = pt_load(&request);
    uint32_t count = profile ? profile->processes.count : 0;
    assert_true(profile || said);
    return count;
}

TEST(the_latest_run_of_a_directory_is_taken)
{
    write_run("pyprof.out/1.pyprof", "aaa1", 1, START_NS + 5);
    write_run("pyprof.out/2.pyprof", "bbb2", 2, START_NS + 3);
    write_run("pyprof.out/3.pyprof", "bbb2", 3, START_NS + 9);
    write_run("pyprof.out/4.pyprof", "bbb2", 4, START_NS + 4);
    write_run("pyprof.out/5.txt", "aaa1", 5, START_NS);
    assert_int_equal(processes((struct pt_load_request){0}, NULL, NULL), 3);
    assert_int_equal(processes((struct pt_load_request){0}, "pyprof.out", NULL), 3);
    assert_int_equal(processes((struct pt_load_request){.all = true}, NULL, NULL), 4);
    assert_int_equal(processes((struct pt_load_request){.run = "aaa1"}, NULL, NULL), 1);
    assert_int_equal(processes((struct pt_load_request){.run = "bb"}, NULL, NULL), 3);
    assert_int_equal(processes((struct pt_load_request){.run = "ccc"}, NULL, NULL), 0);
}

TEST(named_files_are_all_taken)
{
    assert_int_equal(processes((struct pt_load_request){0}, "pyprof.out/1.pyprof", "pyprof.out/2.pyprof"), 2);
    assert_int_equal(processes((struct pt_load_request){0}, "pyprof.out/1.pyprof", "pyprof.out"), 4);
    assert_int_equal(processes((struct pt_load_request){.run = "aaa"}, "pyprof.out/1.pyprof", "pyprof.out/2.pyprof"),
                     1);
    assert_int_equal(processes((struct pt_load_request){0}, "pyprof.out/5.txt", NULL), 1);
}

TEST(one_bad_file_does_not_spoil_a_directory)
{
    fixture_write("pyprof.out/6.pyprof", "no profile", 10);
    fixture_write("pyprof.out/7.pyprof", "", 0);
    assert_int_equal(processes((struct pt_load_request){.all = true}, NULL, NULL), 4);
}

TEST(what_is_no_profile_is_refused)
{
    fixture_write("useless/1.pyprof", "no profile", 10);
    assert_int_equal(processes((struct pt_load_request){0}, "missing.pyprof", NULL), 0);
    assert_int_equal(processes((struct pt_load_request){0}, "useless/1.pyprof", NULL), 0);
    assert_int_equal(processes((struct pt_load_request){0}, "useless", NULL), 0);
    assert_int_equal(processes((struct pt_load_request){0}, "empty", NULL), 0);
    assert_int_equal(processes((struct pt_load_request){0}, "pyprof.out/1.pyprof", "missing.pyprof"), 0);
    assert_int_equal(processes((struct pt_load_request){0}, "/dev/zero", NULL), 0);
}

static pid_t child_that_waits(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_true(child > 0);
    return child;
}

static void kill_child(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Reads a boot's id or the target of a link. */
static char *own(const char *path, bool link)
{
    static char text[64];
    memset(text, 0, sizeof text);
    FILE *file = link ? NULL : fopen(path, "r");
    assert_true(link ? readlink(path, text, sizeof text - 1) > 0 : file && fgets(text, sizeof text, file));
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return strdup(text);
}

static enum pt_end end_in(struct pt_inputs *inputs, const struct pt_load_request *request)
{
    bool too_many;
    struct pt_profile *profile = pt_inputs_load(inputs, request, &too_many);
    assert_non_null(profile);
    assert_int_equal(profile->processes.count, 1);
    enum pt_end end = pt_end_of(profile, 0);
    pt_profile_free(profile);
    pt_inputs_free(inputs);
    return end;
}

/* A process that ends by itself while its log is read has been running, and was not ended by a signal. */
TEST(how_a_process_ended_is_as_of_the_bytes_that_are_read)
{
    char *boot_id = own("/proc/sys/kernel/random/boot_id", false), *space = own("/proc/self/ns/pid", true);
    char *paths[] = {"ends.pyprof"};
    const struct pt_load_request request = {.paths = paths, .path_count = 1};
    for (int here = 0; here < 2; here++) {
        AUTO_FIXTURE log;
        pid_t child = child_that_waits();
        const struct fixture_process process = {.run = "run", .instance = "i", .pid = (uint64_t)child};
        fixture_begin(&log);
        fixture_child(&log, &process, &(struct fixture_origin){1, 0, here ? boot_id : "other", space});
        fixture_sample(&log, 0, fixture_node(&log, 0, fixture_pseudo(&log, "[gc]")), 0, 0, 1, 10);
        fixture_write(*paths, log.file.data, log.file.length);
        struct pt_inputs *inputs = pt_inputs_open(&request);
        size_t length = log.file.length;
        fixture_exit(&log);
        fixture_write(*paths, log.file.data, log.file.length);
        kill_child(child);
        assert_int_equal(end_in(inputs, &request), here ? PT_END_RUNNING : PT_END_UNKNOWN);
        assert_int_equal(end_in(pt_inputs_open(&request), &request), PT_END_ITSELF);
        fixture_write(*paths, log.file.data, length);
        assert_int_equal(end_in(pt_inputs_open(&request), &request), here ? PT_END_SIGNAL : PT_END_UNKNOWN);
    }
    free(boot_id);
    free(space);
}

/* It may take the kernel long to free its memory, and its parent to take notice. */
TEST(what_was_killed_does_not_run)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = child_that_waits();
        assert_true(pt_runs((uint64_t)child));
        assert_int_equal(kill(child, SIGKILL), 0);
        /* on a full machine it may lie between the signal and its end for some turns of others */
        for (int looks = 0; looks < 1000 && pt_runs((uint64_t)child); looks++)
            usleep(1000);
        assert_false(pt_runs((uint64_t)child));
        assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
        assert_false(pt_runs((uint64_t)child));
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_false(pt_runs((uint64_t)child));
    }
}
