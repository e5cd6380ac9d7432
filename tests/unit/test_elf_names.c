/* The tables of a loaded object whose file is truncated while they are read. */
#include "preload/base/elf_names.h"
#include "preload/base/loader_copy.h"
#include "preload/base/loader_lock.h"
#include "unit.h"
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

#define LIBRARY  "libz.so.1"
#define FUNCTION "crc32"

static const char path[] = "./copy.so";

/* What went wrong: the child's status. Found and lost in the callback, whose object has been checked before it. */
enum { FINE, NOT_LOADED, NOT_SEEN, NOT_FOUND, STILL_FOUND };

struct search {
    uintptr_t function;
    int result;
};

static int cut_off(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    ElfW(Phdr) headers[PP_MAX_HEADERS];
    struct dl_phdr_info copy = pp_loader_copy(info, size, headers), *object = &copy;
    static const char *const names[] = {FUNCTION};
    uintptr_t found;
    if (!pp_elf_segment(object, search->function, 1, PF_X))
        return 0;
    search->result = NOT_FOUND;
    pp_elf_variables(object, names, 1, &found);
    if (pp_elf_symbol(object, FUNCTION) != search->function || found != search->function)
        return 1;
    search->result = STILL_FOUND;
    if (truncate(path, 0) != 0 || pp_elf_symbol(object, FUNCTION))
        return 1;
    pp_elf_variables(object, names, 1, &found);
    if (!found)
        search->result = FINE;
    return 1;
}

/* Its end would be that of a process whose library's destructors are gone. */
static int in_child(void)
{
    struct search search = {.result = NOT_SEEN};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    search.function = library ? (uintptr_t)dlsym(library, FUNCTION) : 0;
    if (!search.function)
        return NOT_LOADED;
    pp_loader_visit_by_copies();
    pp_loader_visit(cut_off, &search);
    return search.result;
}

static void copy_library(void)
{
    static char buffer[1 << 16];
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    Dl_info info;
    size_t length;
    assert_non_null(library);
    assert_true(dladdr(dlsym(library, FUNCTION), &info));
    FILE *from = fopen(info.dli_fname, "rb"), *to = fopen(path, "wb");
    assert_true(from && to);
    while ((length = fread(buffer, 1, sizeof buffer, from)) > 0)
        assert_int_equal(fwrite(buffer, 1, length, to), length);
    fclose(from);
    assert_int_equal(fclose(to), 0);
    dlclose(library);
}

TEST(what_is_truncated_is_not_found)
{
    int status;
    scratch_make();
    copy_library();
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_child());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}
