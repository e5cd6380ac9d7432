/* Two threads load profiles at once, as a server does: each has its own messages, nothing is printed, and a bad log
 * ends nothing. Built with SAN=1 and with TSAN=1, too. */
#include "profile_fixture.h"
#include "tools/export/export.h"
#include "tools/load/load.h"
#include "tools/symbols/debug_files.h"
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#define LOADS 200
#define BIAS  0x7f0000000000u

/* Global, so that no optimiser clones or drops it. */
int pyprof_test_first_function(int value);
int pyprof_test_second_function(int value);
int pyprof_test_first_function(int value)
{
    return value * 3 + (int)getpid();
}
int pyprof_test_second_function(int value)
{
    return value * 5 + (int)getppid();
}

static const struct {
    int (*function)(int);
    const char *name, *log;
} sides[] = {{pyprof_test_first_function, "pyprof_test_first_function", "first.pyprof"},
             {pyprof_test_second_function, "pyprof_test_second_function", "second.pyprof"}};

static int note_first(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

/* A native function of this program that has no name in the log, called by those of the example. */
static void write_log(unsigned side, const char *program, const void *build_id, size_t length)
{
    AUTO_FIXTURE log;
    uint64_t bias = 0, address = (uint64_t)(uintptr_t)sides[side].function;
    dl_iterate_phdr(note_first, &bias);
    fixture_example(&log, 100 + side, BIAS);
    uint32_t module =
        fixture_module(&log, program, bias, address & ~UINT64_C(0xfff), address + 0x1000, 0, build_id, length);
    uint32_t node = fixture_node(&log, 1, fixture_native(&log, module, address + 2, NULL, 0));
    fixture_sample(&log, 1, node, 0, PP_STATE_GC_KNOWN | PP_STATE_GC, 1, 20000000);
    fixture_write(sides[side].log, log.file.data, log.file.length);
    if (!side) {
        log.file.data[log.file.length / 2] ^= 0x41;
        fixture_write("damaged.pyprof", log.file.data, log.file.length);
    }
}

void before_all(void)
{
    char program[4096] = "";
    const void *build_id = NULL;
    scratch_make();
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    elf_version(EV_CURRENT);
    int descriptor = open(program, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(descriptor, ELF_C_READ, NULL);
    ssize_t length = dwelf_elf_gnu_build_id(elf, &build_id);
    for (unsigned side = 0; side < 2 && length > 0; side++)
        write_log(side, program, build_id, (size_t)length);
    elf_end(elf);
    close(descriptor);
    fixture_write("empty.pyprof", "", 0);
    assert_true(length > 0);
}

/* What one thread got; assertions are the main thread's. */
struct loader {
    unsigned side;
    pthread_t thread;
    struct pt_buffer messages, stacks; /* stacks: of the last load */
    uint32_t loaded, refused, changed; /* changed: other stacks than the first time */
};

static void keep_message(void *data, const char *text)
{
    struct loader *loader = data;
    pt_buffer_format(&loader->messages, "%s\n", text);
}

static void load(struct loader *loader, const char *path, bool good)
{
    char *paths[] = {pt_strdup(path)}, *text = NULL;
    size_t size;
    const struct pt_messages messages = {.message = keep_message, .progress = NULL, .data = loader};
    const struct pt_load_request request = {.paths = paths,
                                            .path_count = 1,
                                            .select = {.native = PT_NATIVE_ALL},
                                            .keep = good ? PT_KEEP_STACKS : PT_KEEP_SAMPLES,
                                            .messages = &messages};
    AUTO_PROFILE *profile = pt_load(&request);
    loader->loaded += profile != NULL;
    loader->refused += !profile;
    if (profile && good) {
        FILE *out = open_memstream(&text, &size);
        pt_export_collapsed(profile, &(struct pt_export_options){.lines = true}, out);
        fclose(out);
        loader->changed += loader->stacks.length && strcmp(loader->stacks.data, text) != 0;
        pt_buffer_clear(&loader->stacks);
        pt_buffer_text(&loader->stacks, text);
        free(text);
    }
    free(paths[0]);
}

static void *load_many(void *data)
{
    struct loader *loader = data;
    for (unsigned i = 0; i < LOADS; i++)
        load(loader, sides[loader->side].log, true);
    for (unsigned i = 0; i < LOADS / 10; i++) {
        load(loader, "damaged.pyprof", false);
        load(loader, "empty.pyprof", false);
        load(loader, "missing.pyprof", false);
    }
    return NULL;
}

static unsigned lines_with(const char *text, const char *part)
{
    unsigned count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

TEST(two_threads_load_at_once)
{
    struct loader loaders[2] = {{.side = 0}, {.side = 1}};
    char printed[1];
    int kept[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)}, output = memfd_create("output", MFD_CLOEXEC);
    fflush(stdout);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&loaders[i].thread, NULL, load_many, &loaders[i]);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(loaders[i].thread, NULL);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], STDOUT_FILENO + i);
        close(kept[i]);
    }
    assert_int_equal(pread(output, printed, sizeof printed, 0), 0);
    close(output);
    for (unsigned i = 0; i < 2; i++) {
        struct loader *loader = &loaders[i];
        assert_int_equal(loader->loaded, LOADS + LOADS / 10);
        assert_int_equal(loader->refused, 2 * (LOADS / 10));
        assert_int_equal(loader->changed, 0);
        assert_non_null(strstr(loader->stacks.data, sides[i].name));
        assert_null(strstr(loader->stacks.data, sides[!i].name));
        assert_int_equal(lines_with(loader->messages.data, "\n"), 3 * (LOADS / 10));
        assert_int_equal(lines_with(loader->messages.data, "not read: 1 damaged block"), LOADS / 10);
        assert_int_equal(lines_with(loader->messages.data, "empty.pyprof: not a pyprof profile"), LOADS / 10);
        assert_int_equal(lines_with(loader->messages.data, "missing.pyprof: No such file"), LOADS / 10);
        pt_buffer_free(&loader->messages);
        pt_buffer_free(&loader->stacks);
    }
}

static jmp_buf without_memory;

static void give_up(void)
{
    longjmp(without_memory, 1);
}

TEST(a_server_says_what_happens_without_memory)
{
    uint32_t capacity = 0;
    pt_when_out_of_memory = give_up;
    if (setjmp(without_memory) == 0) {
        pt_grow(NULL, &capacity, UINT64_MAX, 1);
        fail_msg("there was memory");
    }
    pt_when_out_of_memory = NULL;
}
