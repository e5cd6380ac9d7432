/* Names of functions: from the file of a module, from the vDSO's image, and none from a file that is another one. */
#include "../../preload/common/log_format.h"
#include "../../preload/modules/elf_symbols.h"
#include "../../preload/modules/module_list.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DAMAGE_RUNS 200

static __attribute__((noinline)) int a_static_function(int n)
{
    __asm__ volatile("");
    return n + 1;
}

static struct pp_module *module_of(const void *address)
{
    pp_modules_refresh();
    struct pp_module *module = pp_module_find((uintptr_t)address);
    assert_non_null(module);
    return module;
}

static void test_own_functions(void **state)
{
    (void)state;
    struct pp_module *module = module_of((void *)&a_static_function);
    uintptr_t start = 0;
    const char *name = pp_module_symbol(module, (uintptr_t)&a_static_function + 1, &start);
    assert_non_null(name);
    assert_string_equal(name, "a_static_function");
    assert_int_equal(start, (uintptr_t)&a_static_function);
    assert_string_equal(pp_module_symbol(module, (uintptr_t)&module_of, &start), "module_of");
    assert_true(module->flags & PP_MODULE_MAIN);
    char exe[4096] = {0};
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    assert_string_equal(module->path, exe);
    assert_true(module->build_id_length > 0);
}

static void test_libc_functions(void **state)
{
    (void)state;
    static const char *const names[] = {
        "qsort",   "bsearch",  "printf",      "snprintf", "strtol", "strtod",    "fopen",   "fclose",  "regcomp",
        "regexec", "getenv",   "setenv",      "system",   "popen",  "tmpfile",   "opendir", "readdir", "scandir",
        "mktime",  "strftime", "gmtime",      "iconv",    "glob",   "fnmatch",   "random",  "srandom", "drand48",
        "hsearch", "tsearch",  "wordexp",     "read",     "write",  "open",      "close",   "mmap",    "munmap",
        "fork",    "execve",   "waitpid",     "kill",     "raise",  "sigaction", "poll",    "select",  "socket",
        "connect", "accept",   "getaddrinfo", "abort",    "exit",
    };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *address = dlsym(RTLD_NEXT, names[i]);
        Dl_info info;
        if (!address || !dladdr(address, &info) || !strstr(info.dli_fname, "libc.so"))
            continue;
        uintptr_t start = 0;
        const char *name = pp_module_symbol(module_of(address), (uintptr_t)address, &start);
        assert_non_null(name);
        assert_int_equal(start, (uintptr_t)address);
        assert_ptr_equal(dlsym(RTLD_NEXT, name), address); /* the same name or an alias of it */
        assert_true(name[0] != '_' || names[i][0] == '_');
    }
}

static void test_vdso(void **state)
{
    (void)state;
    struct vdso {
        struct pp_module *module;
    } found = {NULL};
    pp_modules_refresh();
    unsigned count = 0;
    uintptr_t address = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "[vdso]"))
            address = strtoul(line, NULL, 16);
    if (maps)
        fclose(maps);
    if (!address)
        skip();
    for (uintptr_t at = address; at < address + 0x2000 && !found.module; at += 16)
        found.module = pp_module_find(at);
    assert_non_null(found.module);
    assert_string_equal(found.module->path, "[vdso]");
    bool clock = false;
    for (uintptr_t at = found.module->start; at < found.module->end; at++) {
        uintptr_t start;
        const char *name = pp_module_symbol(found.module, at, &start);
        count += name != NULL;
        clock |= name && strstr(name, "clock_gettime");
    }
    assert_true(count > 0 && clock);
}

static void copy_file(const char *from, const char *to, long size)
{
    char command[8400];
    snprintf(command, sizeof command, "head -c %ld '%s' > '%s.new' && mv '%s.new' '%s'", size, from, to, to, to);
    assert_int_equal(system(command), 0);
}

/* The file that a library was loaded from is replaced by another one: its names are those of somebody else. */
static void test_replaced_file(void **state)
{
    (void)state;
    void *z = dlopen("libz.so.1", RTLD_NOW);
    Dl_info info;
    if (!z || !dladdr(dlsym(z, "crc32"), &info))
        skip();
    char directory[] = "/tmp/pp_symbols_XXXXXX", path[64], original[4096];
    snprintf(original, sizeof original, "%s", info.dli_fname);
    assert_non_null(mkdtemp(directory));
    for (unsigned truncated = 0; truncated < 2; truncated++) {
        snprintf(path, sizeof path, "%s/libcopy%u.so", directory, truncated);
        copy_file(original, path, 1L << 30);
        void *copy = dlopen(path, RTLD_NOW);
        assert_non_null(copy);
        uintptr_t address = (uintptr_t)dlsym(copy, "crc32"), start;
        struct pp_module *module = module_of((void *)address);
        assert_string_equal(module->path, path);
        if (truncated)
            copy_file(original, path, 5000);
        else
            copy_file("/proc/self/exe", path, 1L << 30);
        assert_null(pp_module_symbol(module, address, &start));
        dlclose(copy);
        unlink(path);
    }
    rmdir(directory);
    dlclose(z);
}

static void test_damaged_file(void **state)
{
    (void)state;
    struct pp_module *module = module_of((void *)&a_static_function);
    int fd = open(module->path, O_RDONLY);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    size_t size = (size_t)st.st_size;
    uint8_t *bytes = malloc(size);
    srand(1);
    for (unsigned run = 0; run < DAMAGE_RUNS; run++) {
        assert_int_equal(pread(fd, bytes, size, 0), size);
        uint64_t sections;
        memcpy(&sections, bytes + 0x28, sizeof sections);
        for (unsigned n = 0; n < 20; n++) {
            /* header, section headers, anywhere */
            size_t at = (size_t)rand();
            at = n % 3 == 0 ? 16 + at % 48 : n % 3 == 1 ? sections + at % (size - sections) : at % size;
            if (run % 4 == 0 || n % 3)
                bytes[at] = (uint8_t)rand();
        }
        struct pp_elf_source source = {.fd = -1, .memory = bytes, .size = run % 5 ? size : (size_t)rand() % size};
        struct pp_elf_symbols symbols;
        uint8_t id[PP_BUILD_ID_MAX];
        pp_elf_source_build_id(&source, id, sizeof id);
        if (!pp_elf_symbols_read(&source, &symbols))
            continue;
        for (unsigned n = 0; n < 1000; n++) {
            const struct pp_elf_symbol *symbol = pp_elf_symbols_find(&symbols, (uint64_t)rand() % size);
            if (symbol)
                assert_true(strlen(symbols.names + symbol->name) > 0);
        }
        pp_elf_symbols_free(&symbols);
    }
    free(bytes);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_functions), cmocka_unit_test(test_libc_functions), cmocka_unit_test(test_vdso),
        cmocka_unit_test(test_replaced_file), cmocka_unit_test(test_damaged_file),
    };
    (void)a_static_function(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
