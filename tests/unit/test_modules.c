/* The list of modules and the functions met in them, while objects come and go and the process forks. */
#include "preload/base/arena.h"
#include "preload/base/fd_table.h"
#include "preload/modules/module_list.h"
#include "unit.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define LIBRARY    "libz.so.1"
#define FUNCTION   "crc32"
#define MAX_FILE   (4u << 20)
#define TRIES      100
#define CYCLES     300
#define MAX_COPIES 16
#define MAX_GROWTH (64u << 10) /* bytes of rows, rules and a table */

static unsigned came_and_went;

/* Something else is loaded and unloaded after each step inside the loader. */
static void come_and_go(void)
{
    void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(dlclose(library), 0);
    came_and_went++;
}

static bool yes(void)
{
    return true;
}

static bool no(void)
{
    return false;
}

static void has_rows(uintptr_t address)
{
    uintptr_t start, end;
    struct pp_module *module = pp_module_find(address);
    assert_non_null(module);
    assert_true(pp_module_function_range(module, address, &start, &end));
    assert_true(start <= address && address < end);
}

static uintptr_t libc_function(const char *name)
{
    return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}

static uint32_t rule_in(const struct pp_module_table *table, uintptr_t address)
{
    for (uint32_t i = 0; table && i < table->count; i++) {
        const struct pp_module_range *range = &table->ranges[i];
        if (address >= range->start && address < range->end && range->row_count)
            return PP_ROW_RULE(range->rows[pp_unwind_find_row(range, (uint32_t)(address - range->start))].rule);
    }
    return PP_RULE_UNKNOWN;
}

/* Whether handlers have a rule for the address. */
static bool is_published(uintptr_t address)
{
    return rule_in(atomic_load(&pp_module_table), address) >= PP_RULE_FIRST;
}

static bool is_drafted(uintptr_t address)
{
    return rule_in(pp_modules_draft(), address) >= PP_RULE_FIRST;
}

/* After, not before: the first test is of the first time. */
void after_each(void)
{
    pp_modules_refresh();
    pp_modules_publish();
    pp_modules_reclaim(yes);
}

enum changes { NO_BUILD_ID = 1, OTHER_BUILD_ID = 2, OTHER_HEADER = 4, NO_EH_FRAME_HDR = 8, NO_ENTRIES = 16 };

static void change_segments(uint8_t *bytes, unsigned changes)
{
    ElfW(Ehdr) *header = (ElfW(Ehdr) *)(void *)bytes;
    ElfW(Phdr) *segments = (ElfW(Phdr) *)(void *)(bytes + header->e_phoff);
    if (changes & OTHER_HEADER)
        header->e_ident[EI_PAD] ^= 1;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_GNU_EH_FRAME) {
            if (changes & NO_ENTRIES)
                memset(bytes + segments[i].p_offset, 0, segments[i].p_filesz);
            if (changes & NO_EH_FRAME_HDR)
                segments[i].p_type = PT_NULL;
        }
}

/* Makes a copy of the library with changes. */
static void make_library(const char *path, unsigned changes)
{
    static const uint8_t id_note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    static uint8_t bytes[MAX_FILE];
    Dl_info info;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    assert_true(handle && dladdr(dlsym(handle, FUNCTION), &info));
    FILE *from = fopen(info.dli_fname, "rb"), *to = fopen(path, "wb");
    assert_true(from && to);
    size_t size = fread(bytes, 1, sizeof bytes, from);
    assert_true(size > 0 && size < sizeof bytes);
    uint8_t *note = memmem(bytes, size, id_note, sizeof id_note);
    assert_non_null(note);
    if (changes & NO_BUILD_ID)
        note[8] = 99;
    if (changes & OTHER_BUILD_ID)
        note[sizeof id_note] ^= 1;
    change_segments(bytes, changes);
    assert_int_equal(fwrite(bytes, 1, size, to), size);
    fclose(from);
    fclose(to);
    assert_int_equal(dlclose(handle), 0);
}

static char without_id[64], without_rows[64], changing[64], changed[64];

void before_all(void)
{
    scratch_make();
    snprintf(without_id, sizeof without_id, "%s/without_id.so", scratch_path);
    snprintf(without_rows, sizeof without_rows, "%s/without_rows.so", scratch_path);
    snprintf(changing, sizeof changing, "%s/changing.so", scratch_path);
    snprintf(changed, sizeof changed, "%s/changed.so", scratch_path);
    make_library(without_id, NO_BUILD_ID);
    make_library(without_rows, NO_EH_FRAME_HDR);
}

static uintptr_t load(const char *path, void **handle)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*handle);
    return (uintptr_t)dlsym(*handle, FUNCTION);
}

TEST(those_that_stay_get_their_rows)
{
    pp_loaded_objects_set_gate(NULL, come_and_go);
    pp_modules_refresh();
    assert_true(came_and_went >= 2);
    has_rows((uintptr_t)those_that_stay_get_their_rows);
    has_rows(libc_function("qsort"));
    assert_true(pp_modules_publish());
    pp_loaded_objects_set_gate(NULL, NULL);
    assert_true(is_published((uintptr_t)those_that_stay_get_their_rows));
    assert_true(is_published(libc_function("qsort")));
}

TEST(handlers_see_nothing_before_it_is_published)
{
    uintptr_t address = libc_function("bsearch");
    assert_false(is_published(address));
    assert_false(is_drafted(address));
    assert_true(pp_module_add_sampled(address));
    assert_true(is_drafted(address));
    assert_false(is_published(address));
    assert_false(pp_modules_publish());
    assert_true(is_published(address));
    assert_true(is_drafted(address));
    assert_false(pp_module_add_sampled(16));
    assert_false(pp_module_add_sampled((uintptr_t)&address));
}

/* A rule that was found in a table holds in all tables of its generation. */
TEST(a_generation_keeps_its_rules)
{
    uintptr_t address = libc_function("strtod");
    uint32_t generation = atomic_load(&pp_module_table)->generation;
    assert_true(pp_module_add_sampled(address));
    assert_int_equal(pp_modules_draft()->generation, generation);
    pp_modules_publish();
    assert_int_equal(atomic_load(&pp_module_table)->generation, generation);
    void *handle;
    load(LIBRARY, &handle);
    assert_true(pp_modules_refresh());
    assert_int_not_equal(atomic_load(&pp_module_table)->generation, generation);
    assert_int_equal(pp_modules_draft()->generation, atomic_load(&pp_module_table)->generation);
    dlclose(handle);
}

TEST(a_module_without_unwind_information)
{
    void *handle;
    uintptr_t address = load(without_rows, &handle), start, end;
    assert_true(pp_modules_refresh());
    struct pp_module *module = pp_module_find(address);
    assert_non_null(module);
    assert_true(pp_module_add_sampled(address)); /* that there is no rule is known */
    assert_false(pp_module_function_range(module, address, &start, &end));
    pp_modules_publish();
    assert_false(is_published(address));
    dlclose(handle);
}

TEST(unloaded_while_met)
{
    const char *const paths[] = {LIBRARY, without_id};
    for (unsigned i = 0; i < 2; i++) {
        void *handle;
        uintptr_t address = load(paths[i], &handle), stays = libc_function(i ? "mktime" : "strftime");
        assert_true(pp_modules_refresh());
        assert_true(pp_module_add_sampled(address) && pp_module_add_sampled(stays));
        assert_true(is_drafted(address));
        assert_int_equal(dlclose(handle), 0);
        /* its memory is gone, its module still listed */
        assert_true(pp_module_add_sampled(address + 64));
        assert_true(pp_modules_publish());
        assert_null(pp_module_find(address));
        assert_false(is_published(address));
        assert_false(is_drafted(address));
        assert_false(pp_module_add_sampled(address));
        assert_true(is_published(stays));
        pp_modules_reclaim(yes);
    }
}

/* Without a build-id it is made again after another is unloaded. */
TEST(a_module_without_a_build_id_stays_as_old)
{
    void *handle, *other;
    uintptr_t address = load(without_id, &handle);
    pp_modules_refresh();
    assert_true(pp_module_add_sampled(address));
    struct pp_module_time since = pp_module_find(address)->since;
    other = dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL);
    pp_modules_refresh();
    atomic_fetch_add(&pp_unloads.begun, 1);
    assert_int_equal(dlclose(other), 0);
    atomic_fetch_add(&pp_unloads.ended, 1);
    assert_true(pp_modules_refresh());
    assert_memory_equal(&pp_module_find(address)->since, &since, sizeof since);
    dlclose(handle);
}

/* A thread has none of the program's descriptors then. Returns the place that fails, 0: none. */
static int meet_beside_a_file(unsigned loaded, unsigned changes, bool deleted)
{
    void *handle;
    make_library(changing, loaded);
    make_library(changed, changes);
    uintptr_t address = load(changing, &handle);
    pp_fd_table_begin();
    if (!pp_fd_table_here() || !pp_modules_refresh())
        return 1;
    struct pp_module *module = pp_module_find(address);
    const struct pp_address_range *segment = &module->private->object.eh_segment;
    /* From the next page on: code and notes may be in the same segment, before it. */
    uintptr_t page = (module->private->object.eh_frame_hdr.start | (pp_page_size() - 1)) + 1;
    bool same = loaded == changes && !deleted;
    if (same && page < segment->end)
        mprotect((void *)page, segment->end - page, PROT_NONE);
    if (deleted ? unlink(changing) : rename(changed, changing))
        return 2;
    if (!pp_module_add_sampled(address) || !is_drafted(address))
        return 3;
    return (pp_module_unwind_file(module).end != 0) == same ? 0 : 4;
}

/* What the file does not prove to have is read from memory: wrong entries would give wrong stacks. */
TEST(unwind_information_of_a_file)
{
    static const struct {
        unsigned loaded, changes;
        bool deleted;
    } cases[] = {
        {0, 0, false},
        {0, NO_ENTRIES | OTHER_BUILD_ID, false},
        {0, NO_ENTRIES | OTHER_HEADER, false},
        {NO_BUILD_ID, NO_ENTRIES | NO_BUILD_ID, false},
        {0, NO_ENTRIES, true},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(meet_beside_a_file(cases[i].loaded, cases[i].changes, cases[i].deleted));
        assert_int_equal(waitpid(child, &status, 0), child);
        print_message("case %u: %d\n", i, WEXITSTATUS(status));
        assert_int_equal(status, 0);
    }
    unlink(changing);
    unlink(changed);
}

/* Returns where the function is, and was when it was met before; 0: each time it came to another place. */
static uintptr_t met_and_loaded_again(const char *path, void **handle)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uintptr_t address = load(path, handle);
        pp_modules_refresh();
        assert_true(pp_module_add_sampled(address));
        assert_int_equal(dlclose(*handle), 0);
        if (load(path, handle) == address)
            return address;
        assert_int_equal(dlclose(*handle), 0);
    }
    return 0;
}

static int read_unloaded(struct dl_phdr_info *object, size_t size, void *argument)
{
    (void)size;
    *(unsigned long long *)argument = object->dlpi_subs;
    return 1;
}

static unsigned long long unloaded_now(void)
{
    unsigned long long unloaded = 0;
    dl_iterate_phdr(read_unloaded, &unloaded);
    return unloaded;
}

struct copies {
    unsigned count;
    void *handles[MAX_COPIES];
    char paths[MAX_COPIES][64];
};

/* Returns where the last one's function is. */
static uintptr_t load_copies(const char *name, struct copies *copies)
{
    uintptr_t function = 0;
    for (unsigned i = 0; i < copies->count; i++) {
        snprintf(copies->paths[i], sizeof copies->paths[i], "%s/%s%u.so", scratch_path, name, i);
        make_library(copies->paths[i], 0);
        function = load(copies->paths[i], &copies->handles[i]);
    }
    return function;
}

static void unload_copies(struct copies *copies)
{
    for (unsigned i = 0; i < copies->count; i++) {
        assert_int_equal(dlclose(copies->handles[i]), 0);
        assert_int_equal(unlink(copies->paths[i]), 0);
    }
}

/* What is loaded into another namespace lowers the number of unloaded objects, in glibc up to 2.36: as many are
 * unloaded here as make up for that. */
TEST(unloaded_beside_another_namespace)
{
    void *elsewhere = dlmopen(LM_ID_NEWLM, LIBRARY, RTLD_NOW);
    assert_non_null(elsewhere);
    unsigned long long with = unloaded_now(), objects = 1;
    assert_int_equal(dlclose(elsewhere), 0);
    unsigned long long closed = unloaded_now() - with;
    while (objects * objects < closed)
        objects++;
    unsigned lowered = (unsigned)(closed - objects);
    if (lowered == 0 || lowered > MAX_COPIES)
        skip();
    struct copies some = {.count = lowered}, others = {.count = lowered};
    uintptr_t address = load_copies("some", &some);
    assert_true(pp_modules_refresh());
    has_rows(address);
    unsigned long long before = unloaded_now();
    uintptr_t other = load_copies("other", &others);
    unload_copies(&some);
    elsewhere = dlmopen(LM_ID_NEWLM, LIBRARY, RTLD_NOW);
    assert_int_equal(unloaded_now(), before);
    assert_true(pp_modules_refresh());
    assert_null(pp_module_find(address));
    has_rows(other);
    assert_int_equal(dlclose(elsewhere), 0);
    unload_copies(&others);
}

/* By its build-id a module is known to be what it was; without that anything may be there now. */
TEST(unloaded_and_loaded_again)
{
    const char *const paths[] = {LIBRARY, without_id};
    for (unsigned i = 0; i < 2; i++) {
        void *handle, *other;
        uintptr_t address = met_and_loaded_again(paths[i], &handle);
        if (!address)
            skip();
        assert_true(pp_modules_publish());
        assert_int_equal(is_published(address), i == 0);
        assert_true(pp_module_add_sampled(address));
        pp_modules_publish();
        assert_true(is_published(address));
        /* what else is unloaded makes no difference to one with a build-id */
        load(without_rows, &other);
        pp_modules_refresh();
        dlclose(other);
        pp_modules_refresh();
        assert_int_equal(is_published(address), i == 0);
        pp_modules_reclaim(yes);
        dlclose(handle);
    }
}

TEST(old_tables_stay_until_they_are_reclaimed)
{
    const struct pp_module_table *old = atomic_load(&pp_module_table);
    uintptr_t met = libc_function("qsort"), fresh = libc_function("regcomp");
    pp_module_add_sampled(met);
    pp_modules_publish();
    old = atomic_load(&pp_module_table);
    uint32_t rule = rule_in(old, met);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(pp_module_add_sampled(fresh + i * 0x4000));
        pp_modules_publish();
        pp_modules_reclaim(no);
    }
    assert_ptr_not_equal(old, atomic_load(&pp_module_table));
    assert_int_equal(rule_in(old, met), rule);
    assert_int_equal(rule_in(old, fresh), PP_RULE_UNKNOWN);
    pp_modules_reclaim(yes);
    assert_true(is_published(met) && is_published(fresh));
}

/* Rows are replaced again and again, and modules with drafts go. */
TEST(nothing_leaks)
{
    uintptr_t libc = libc_function("qsort") & ~(uintptr_t)0xfff;
    size_t before = 0, most;
    for (uintptr_t i = 0; i < CYCLES; i++) {
        void *handle;
        uintptr_t address = load(i % 2 ? LIBRARY : without_id, &handle);
        pp_modules_refresh();
        pp_module_add_sampled(libc + i * 113);
        pp_module_add_sampled(address);
        if (i % 3)
            pp_modules_publish();
        pp_modules_draft();
        dlclose(handle);
        if (i % 5)
            pp_modules_refresh();
        pp_modules_reclaim(yes);
        if (i == 20)
            before = pp_mapped_bytes(&most);
    }
    pp_modules_publish();
    pp_modules_reclaim(yes);
    size_t after = pp_mapped_bytes(&most);
    print_message("%zu bytes mapped before, %zu after\n", before, after);
    assert_true(after < before + MAX_GROWTH);
}

/* In a child of fork, which has no other thread: what was published holds, what was not can be met again. */
static int go_on_in_child(uintptr_t published, uintptr_t drafted)
{
    const struct pp_module_table *table = atomic_load(&pp_module_table);
    uint32_t rule = rule_in(table, published);
    if (rule < PP_RULE_FIRST)
        return 1;
    pp_modules_after_fork();
    if (rule_in(atomic_load(&pp_module_table), published) != rule)
        return 2;
    pp_modules_reclaim(yes);
    if (!pp_modules_refresh()) /* the counts are forgotten */
        return 3;
    if (rule_in(atomic_load(&pp_module_table), published) != rule)
        return 4;
    if (!pp_module_add_sampled(drafted) || !is_drafted(drafted))
        return 5;
    pp_modules_publish();
    pp_modules_reclaim(yes);
    if (!is_published(drafted) || !is_published(published))
        return 6;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    pp_modules_refresh();
    uintptr_t address = handle ? (uintptr_t)dlsym(handle, FUNCTION) : 0;
    if (!pp_module_add_sampled(address))
        return 7;
    dlclose(handle);
    pp_modules_publish();
    pp_modules_reclaim(yes);
    return is_published(drafted) ? 0 : 8;
}

static void fork_now(uintptr_t published, uintptr_t drafted)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(go_on_in_child(published, drafted));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Returns code of libc, from this address on, that was not met by tests before. */
static uintptr_t unmet(uintptr_t address)
{
    while (is_drafted(address))
        address += 64;
    return address;
}

TEST(fork_between_any_steps)
{
    uintptr_t published = libc_function("qsort"), drafted = unmet(libc_function("getaddrinfo"));
    void *handle;
    assert_true(pp_module_add_sampled(published));
    pp_modules_publish();
    fork_now(published, drafted);
    assert_true(pp_module_add_sampled(drafted));
    fork_now(published, drafted);
    assert_non_null(pp_modules_draft());
    fork_now(published, drafted);
    assert_true(pp_module_add_sampled(unmet(drafted + 0x2000)));
    fork_now(published, drafted);
    load(without_id, &handle);
    fork_now(published, drafted);
    assert_true(pp_modules_refresh());
    fork_now(published, drafted);
    dlclose(handle);
    fork_now(published, drafted);
    assert_true(pp_modules_publish());
    fork_now(published, drafted);
    pp_modules_reclaim(yes);
    fork_now(published, drafted);
    assert_true(is_published(drafted));
}

#define NOT_TO_BE_READ ((void *)16)

/* As if the fork came in the middle of pp_module_add_sampled or pp_modules_publish: whatever they were at is not
 * touched. */
static void go_on_in_the_middle(uintptr_t published, uintptr_t drafted, bool packed)
{
    struct pp_module_private *private = pp_module_find(drafted)->private;
    pid_t child = fork();
    if (child == 0) {
        const struct pp_loaded_object *object = &private->object;
        struct pp_unwind_source source = {.text_start = object->text.start, .text_end = object->text.end};
        if (packed)
        private->rows = pp_unwind_draft_pack(private->draft, &source);
        private->replaced = NOT_TO_BE_READ;
        pp_module_find((uintptr_t)go_on_in_child)->private->replaced = NOT_TO_BE_READ;
        private->draft->builder.rows.items = NOT_TO_BE_READ;
        private->draft->builder.rules.items = NOT_TO_BE_READ;
        _exit(private->rows ? go_on_in_child(published, drafted) : 9);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(fork_within_a_step)
{
    uintptr_t published = libc_function("qsort"), drafted = libc_function("fnmatch");
    assert_true(pp_module_add_sampled(published));
    pp_modules_publish();
    assert_true(pp_module_add_sampled(drafted));
    go_on_in_the_middle(published, drafted, false);
    go_on_in_the_middle(published, drafted, true);
}
