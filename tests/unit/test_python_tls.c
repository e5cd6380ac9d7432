/* Getters of a thread-local word as compilers and linkers make them: what start-up reads from their code is where the
 * word is, in this thread and in one that has never touched it. */
#include "preload/base/elf_names.h"
#include "preload/capture/python.h"
#include "preload/python/tls.h"
#include "unit.h"
#define TLS_FORMS_STATIC
#include "tls_forms.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#define PAGE page_bytes()

struct lookup {
    uintptr_t address;
    struct pp_tls_word word;
    bool found;
};

static int look_in(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct lookup *lookup = argument;
    (void)size;
    if (!pp_elf_segment(object, lookup->address, 1, PF_X))
        return 0;
    lookup->word = pp_python_tls_find(object, lookup->address);
    lookup->found = true;
    return 1;
}

static struct pp_tls_word find(uintptr_t getter)
{
    struct lookup lookup = {.address = getter};
    dl_iterate_phdr(look_in, &lookup);
    assert_true(lookup.found);
    return lookup.word;
}

static uintptr_t read_here(const struct pp_tls_word *word)
{
    return pp_tls_read(word, pp_own_thread_pointer());
}

/* The distance itself is in the instructions, in an executable. */
#ifdef __x86_64__
FORM(fixed, "movq %fs:word_fixed@tpoff, %rax\nret")
FORM(fixed_address, "movq %fs:0, %rax\nleaq word_fixed_address@tpoff(%rax), %rax\nmovq (%rax), %rax\nret")
#else
FORM(fixed, "mrs x0, tpidr_el0\nadd x0, x0, #:tprel_hi12:word_fixed, lsl #12\n"
            "add x0, x0, #:tprel_lo12_nc:word_fixed\nldr x0, [x0]\nret")
FORM(fixed_address, "hint #34\nmrs x1, tpidr_el0\nadd x1, x1, #:tprel_hi12:word_fixed_address, lsl #12\n"
                    "ldr x0, [x1, #:tprel_lo12_nc:word_fixed_address]\nret")
#endif

static const struct tls_form own_forms[] = {TLS_FORM(fixed, false), TLS_FORM(fixed_address, false), TLS_FORMS};

struct comparison {
    const struct tls_form *forms;
    const struct pp_tls_word *words;
    unsigned count, wrong;
};

/* Not touched in this thread, then written by the object itself. */
static void *compare(void *argument)
{
    struct comparison *comparison = argument;
    for (unsigned i = 0; i < comparison->count; i++) {
        const struct tls_form *form = &comparison->forms[i];
        const struct pp_tls_word *word = &comparison->words[i];
        if (form->unreadable)
            continue;
        comparison->wrong += read_here(word) != 0;
        form->set(4711 + i);
        comparison->wrong += form->get() != 4711 + i || read_here(word) != 4711 + i;
        form->set(0);
    }
    return NULL;
}

static void check_forms(const struct tls_form *forms, unsigned count)
{
    struct pp_tls_word words[16];
    assert_true(count <= 16);
    for (unsigned i = 0; i < count; i++) {
        words[i] = find((uintptr_t)forms[i].get);
        if ((words[i].kind == PP_TLS_NONE) != forms[i].unreadable)
            fail_msg("%s: %s", forms[i].name, forms[i].unreadable ? "read" : "not read");
    }
    struct comparison comparison = {forms, words, count, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, compare, &comparison), 0);
    pthread_join(thread, NULL);
    compare(&comparison);
    assert_int_equal(comparison.wrong, 0);
}

TEST(executable)
{
    check_forms(own_forms, sizeof own_forms / sizeof *own_forms);
}

/* Returns how many of its words are found through the DTV. */
static unsigned check_library(const char *name)
{
    char path[PATH_MAX] = {0};
    unsigned count, dynamic = 0;
    assert_true(readlink("/proc/self/exe", path, sizeof path - 32) > 0);
    strcpy(strrchr(path, '/') + 1, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    tls_forms_of_library *forms_of_library;
    *(void **)&forms_of_library = dlsym(library, "tls_forms");
    assert_non_null(forms_of_library);
    const struct tls_form *forms = forms_of_library(&count);
    check_forms(forms, count);
    for (unsigned i = 0; i < count; i++)
        dynamic += find((uintptr_t)forms[i].get).kind == PP_TLS_DYNAMIC;
    return dynamic;
}

TEST(late_library)
{
    assert_int_equal(check_library("tls_forms_preload.so"), TLS_FORMS_BY_DTV);
}

TEST(late_library_with_static_tls)
{
    assert_int_equal(check_library("tls_forms_static_preload.so"), TLS_FORMS_BY_DTV_STATIC);
}

/* Any bytes, at the end of a segment: nothing outside is read, and what is found lies in the block. */
TEST(any_bytes)
{
#ifdef __x86_64__
    static const char *const parts[] = {"\x64\x48\x8b\x04\x25", "\x48\x8b\x05", "\x48\x03\x05", "\x48\x8d\x3d",
                                        "\x48\x8d\x05",         "\xff\x10",     "\xe8",         "\xc3",
                                        "\x48\x8b\x40",         "\x48\x8d\x80", "\x66",         "\x48\x83\xec"};
#else
    static const char *const parts[] = {"\x41\xd0\x3b\xd5",
                                        "\x20\x68\x60\xf8",
                                        "\xc0\x03\x5f\xd6",
                                        "\x20\x04\x40\xf9",
                                        "\xfd\x7b\xbf\xa9",
                                        "\x20\x00\x3f\xd6",
                                        "\x90",
                                        "\x91"};
#endif
    enum { SIZE = 64, BLOCK = 64 };
    uint8_t *code = malloc(SIZE);
    assert_non_null(code);
    uint64_t block[BLOCK / 8];
    ElfW(Phdr) segments[] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = (uintptr_t)code, .p_memsz = SIZE},
        {.p_type = PT_TLS, .p_memsz = BLOCK},
    };
    struct dl_phdr_info object = {
        .dlpi_phdr = segments, .dlpi_phnum = 2, .dlpi_tls_modid = 1, .dlpi_tls_data = (void *)block};
    uint32_t random = 1;
    unsigned found = 0;
    for (unsigned round = 0; round < 300000; round++) {
        for (unsigned at = 0; at < SIZE;) {
            random = random * 1664525u + 1013904223u;
            if (random >> 31) {
                const char *part = parts[(random >> 8) % (sizeof parts / sizeof *parts)];
                for (; *part && at < SIZE; part++)
                    code[at++] = (uint8_t)*part;
            } else {
                code[at++] = random >> 30 & 1 ? 0 : (uint8_t)(random >> 16);
            }
        }
        unsigned start = (random >> 8) % SIZE;
        struct pp_tls_word word = pp_python_tls_find(&object, (uintptr_t)code + start);
        found += word.kind != PP_TLS_NONE;
        if (word.kind == PP_TLS_DYNAMIC)
            assert_true(word.offset >= 0 && word.offset <= BLOCK - 8 && word.module == 1);
    }
    assert_true(found < 3000);
    free(code);
}

static struct {
    uint64_t before[40];
    int is_created;
    pthread_key_t key;
    uint64_t after[4];
} runtime;

static void *value_here(void)
{
    return runtime.is_created ? pthread_getspecific(runtime.key) : NULL;
}

/* A release that has moved its key: found by what the interpreter's own function returns, among the first keys of a
 * process and beyond. */
TEST(moved_key)
{
    pthread_key_t others[40];
    for (unsigned i = 0; i < 40; i++) {
        struct pp_python python = {
            .runtime = (uintptr_t)&runtime,
            .module_end = (uintptr_t)(&runtime + 1),
            .layout = {.runtime = {.key = offsetof(__typeof__(runtime), is_created) - 12}},
            .this_thread_state = value_here,
        };
        python.bound = pp_python_key_find(python.runtime + python.layout.runtime.key);
        assert_int_equal(python.bound.kind, PP_TLS_KEY);
        runtime.is_created = 0;
        pp_python_key_settle(&python);
        assert_non_null(python.this_thread_state);
        assert_int_equal(pthread_key_create(&runtime.key, NULL), 0);
        runtime.is_created = 1;
        pp_python_key_settle(&python);
        assert_null(python.this_thread_state);
        assert_int_equal(python.bound.offset, (uintptr_t)&runtime.is_created);
        assert_int_equal(read_here(&python.bound), 0);
        pthread_setspecific(runtime.key, &python);
        assert_int_equal(read_here(&python.bound), (uintptr_t)&python);
        pthread_setspecific(runtime.key, NULL);
        others[i] = runtime.key;
    }
    for (unsigned i = 0; i < 40; i++)
        pthread_key_delete(others[i]);
}

/* A thread's descriptor and DTV as glibc has them, the DTV and the block of the one module in pages of their own. */
struct made_thread {
    uintptr_t descriptor[2], *dtv, *block;
};

enum { MODULE = 2, OFFSET = 16, VALUE = 4711 };
static const struct pp_tls_word made_word = {.kind = PP_TLS_DYNAMIC, .module = MODULE, .offset = OFFSET};

static void make_thread(struct made_thread *thread)
{
    uintptr_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    thread->dtv = pages + 2;
    thread->block = pages + PAGE / sizeof *pages;
    thread->dtv[-2] = MODULE;
    thread->dtv[2 * MODULE] = (uintptr_t)thread->block;
    thread->block[OFFSET / sizeof(uintptr_t)] = VALUE;
    thread->descriptor[PP_DTV_IN_TCB / sizeof(uintptr_t)] = (uintptr_t)thread->dtv;
}

static uintptr_t read_made(const struct made_thread *thread, bool outside, struct pp_tls_block *known, bool *certain)
{
    return pp_tls_read_in_block(&made_word, (uintptr_t)thread->descriptor, outside, known, certain);
}

/* glibc frees the old DTV before the descriptor leads to the new one: a read at that moment must not fault, and is
 * certain only in the block that was found outside of the loader. */
TEST(enlarged_dtv)
{
    struct made_thread thread, other;
    struct pp_tls_block known = {0};
    uintptr_t value;
    bool certain;
    make_thread(&thread);
    make_thread(&other);
    assert_int_equal(read_made(&thread, false, &known, &certain), VALUE);
    assert_false(certain);
    /* the freed memory is another's now, and the other's block is freed */
    uintptr_t block = thread.dtv[2 * MODULE];
    thread.dtv[2 * MODULE] = (uintptr_t)other.block;
    munmap((char *)other.block, PAGE);
    assert_int_equal(read_made(&thread, false, &known, &certain), 0);
    assert_false(certain);
    assert_int_equal(pp_tls_read(&made_word, (uintptr_t)thread.descriptor), 0);
    thread.dtv[2 * MODULE] = UINTPTR_MAX; /* not allocated */
    assert_int_equal(read_made(&thread, true, &known, &certain), 0);
    thread.dtv[2 * MODULE] = block;
    struct pp_tls_block unknown = known;
    for (int times = 0; times < 3; times++) { /* outside twice, then anywhere */
        assert_int_equal(read_made(&thread, times < 2, &known, &certain), VALUE);
        assert_int_equal(certain, times > 0);
    }
    munmap(thread.dtv - 2, PAGE);
    assert_int_equal(read_made(&thread, false, &known, &certain), VALUE);
    assert_true(certain);
    assert_int_equal(read_made(&thread, false, &unknown, &certain), 0);
    assert_false(certain);
    assert_int_equal(pp_tls_read(&made_word, (uintptr_t)thread.descriptor), 0);
    assert_false(pp_tls_copy(&made_word, (uintptr_t)thread.descriptor, &value));
}

/* As known by what glibc notes of a block: of a library that is loaded at the start, and of one that is loaded late. */
TEST(words_at_one_distance)
{
    struct made_thread thread;
    make_thread(&thread);
    /* static TLS is below the thread pointer, or above it */
    uintptr_t *at = pp_tls_is_static(-800) ? thread.block + 100 : thread.block - 100, pointer = (uintptr_t)at;
    at[PP_DTV_IN_TCB / sizeof *at] = (uintptr_t)thread.dtv;
    for (uintptr_t note = 0; note < 2; note++) {
        struct pp_tls_word fixed = made_word, dynamic = made_word;
        thread.dtv[2 + 1] = thread.dtv[2 * MODULE + 1] = note;
        pp_tls_fix(&fixed, pointer);
        assert_int_equal(fixed.kind, PP_TLS_FIXED);
        assert_int_equal(pp_tls_read(&fixed, pointer), VALUE);
        thread.dtv[2 * MODULE + 1] = note ? 0 : (uintptr_t)thread.block;
        pp_tls_fix(&dynamic, pointer);
        assert_int_equal(dynamic.kind, PP_TLS_DYNAMIC);
    }
}
