/* Source lines and inlined functions, from this test's own executable; and what becomes of damaged debug information.
 */
#include "random.h"
#include "tools/base/memory.h"
#include "tools/symbols/debug_files.h"
#include "tools/symbols/debug_info.h"
#include "unit.h"
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

#include <elfutils/libdwelf.h>

#define DAMAGES   2000 /* copies of the file, each with another damage */
#define BYTES_HIT 24
#define LOOKED_UP 64
#define CUTS      60

/* Where the inlined function is executed. Written so that each call is on a line of its own. */
static inline __attribute__((always_inline)) uint64_t inner_place(void)
{
    uint64_t here;
    __asm__ volatile("lea 0(%%rip), %0" : "=r"(here));
    return here;
}
enum { INNER_LINE = __LINE__ - 3 };

static inline __attribute__((always_inline)) uint64_t middle_place(void)
{
    return inner_place() + 0;
}
enum { MIDDLE_LINE = __LINE__ - 2 };

uint64_t pyprof_test_outer_place(void);
__attribute__((noinline)) uint64_t pyprof_test_outer_place(void)
{
    return middle_place() + 0;
}
enum { OUTER_LINE = __LINE__ - 2 };

static struct {
    char path[4096];
    char *build_id;
    uint64_t bias, text, text_size;
    unsigned char *bytes;
    size_t size;
    struct section {
        size_t start, size;
    } sections[64]; /* with debug information */
    unsigned section_count;
} self;

static int note_first(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static void read_sections(Elf *elf)
{
    size_t names;
    Elf_Scn *section = NULL;
    elf_getshdrstrndx(elf, &names);
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && strcmp(name, ".text") == 0) {
            self.text = header.sh_addr;
            self.text_size = header.sh_size;
        }
        if (name && strncmp(name, ".debug", 6) == 0 && header.sh_size && self.section_count < 64)
            self.sections[self.section_count++] = (struct section){header.sh_offset, header.sh_size};
    }
}

void before_all(void)
{
    assert_true(readlink("/proc/self/exe", self.path, sizeof self.path - 1) > 0);
    dl_iterate_phdr(note_first, &self.bias);
    elf_version(EV_CURRENT);
    int descriptor = open(self.path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(descriptor, ELF_C_READ, NULL);
    const void *id;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &id);
    self.build_id = pt_hex(id, length > 0 ? (size_t)length : 0);
    read_sections(elf);
    elf_end(elf);
    self.size = (size_t)lseek(descriptor, 0, SEEK_END);
    self.bytes = malloc(self.size);
    assert_non_null(self.bytes);
    assert_int_equal(pread(descriptor, self.bytes, self.size, 0), (ssize_t)self.size);
    close(descriptor);
}

void after_all(void)
{
    free(self.build_id);
    free(self.bytes);
}

static const char *base_name(const char *path)
{
    return path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

TEST(inlined_functions_come_with_the_places_of_their_calls)
{
    static const struct {
        const char *symbol;
        uint32_t line;
    } wanted[] = {{"inner_place", INNER_LINE}, {"middle_place", MIDDLE_LINE}, {"pyprof_test_outer_place", OUTER_LINE}};
    struct pt_scope scopes[PT_MAX_SCOPES];
    struct pt_mapped mapped;
    pt_mapped_begin(&mapped);
    struct pt_debug_info *info = pt_debug_info_open(self.path, self.build_id, &mapped);
    assert_non_null(info);
    uint32_t count = pt_debug_info_find(info, pyprof_test_outer_place() - 1 - self.bias, scopes);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(scopes[i].symbol, wanted[i].symbol);
        assert_string_equal(base_name(scopes[i].file), "test_tools_debug_info.c");
        assert_int_equal(scopes[i].line, wanted[i].line);
    }
    assert_int_equal(pt_debug_info_find(info, 0x10, scopes), 0);
    assert_int_equal(pt_debug_info_find(info, UINT64_MAX, scopes), 0);
    pt_debug_info_close(info);
    pt_mapped_end(&mapped);
}

TEST(another_build_is_not_read)
{
    PT_AUTO_FREE char *other = strdup(self.build_id);
    struct pt_mapped mapped;
    pt_mapped_begin(&mapped);
    other[0] = other[0] == '0' ? '1' : '0';
    assert_null(pt_debug_info_open(self.path, other, &mapped));
    assert_null(pt_debug_info_open("/", self.build_id, &mapped));
    assert_null(pt_debug_info_open("/dev/null", self.build_id, &mapped));
    assert_null(pt_debug_info_open("/nonexistent", self.build_id, &mapped));
    pt_mapped_end(&mapped);
}

/* Looks addresses up all over the file; what comes out must be readable. */
static size_t look_around(const char *path)
{
    struct pt_scope scopes[PT_MAX_SCOPES];
    struct pt_mapped mapped;
    pt_mapped_begin(&mapped);
    struct pt_debug_info *info = pt_debug_info_open(path, self.build_id, &mapped);
    size_t sum = 0;
    for (unsigned i = 0; info && i < LOOKED_UP; i++) {
        uint64_t address = i ? self.text + self.text_size / LOOKED_UP * i + i % 3
                             : (uint64_t)(uintptr_t)pyprof_test_outer_place - self.bias;
        uint32_t count = pt_debug_info_find(info, address, scopes);
        assert_true(count <= PT_MAX_SCOPES);
        for (uint32_t j = 0; j < count; j++) {
            sum += scopes[j].symbol ? strlen(scopes[j].symbol) : 0;
            sum += scopes[j].file ? strlen(scopes[j].file) : 0;
        }
    }
    pt_debug_info_close(info);
    pt_mapped_end(&mapped);
    return sum;
}

TEST(damaged_debug_information_does_no_harm)
{
    char path[64];
    int file = memfd_create("damaged", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_int_equal(write(file, self.bytes, self.size), (ssize_t)self.size);
    assert_true(look_around(path) > 0);
    for (unsigned i = 0; i < DAMAGES; i++) {
        size_t places[BYTES_HIT];
        for (unsigned j = 0; j < BYTES_HIT; j++) {
            const struct section *section = &self.sections[random_below(self.section_count)];
            /* where units begin and abbreviations are said, now and then */
            size_t reach = j % 2 && section->size > 4096 ? 4096 : section->size;
            unsigned char byte = random_below(4) ? (unsigned char)random_below(256) : 0xff;
            places[j] = section->start + random_below((uint32_t)reach);
            assert_int_equal(pwrite(file, &byte, 1, (off_t)places[j]), 1);
        }
        look_around(path);
        for (unsigned j = 0; j < BYTES_HIT; j++)
            assert_int_equal(pwrite(file, self.bytes + places[j], 1, (off_t)places[j]), 1);
    }
    close(file);
}

TEST(a_file_that_is_cut_short_does_no_harm)
{
    char path[64];
    for (unsigned i = 0; i < CUTS; i++) {
        int file = memfd_create("cut", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        size_t size = self.size / CUTS * i;
        assert_int_equal(write(file, self.bytes, size), (ssize_t)size);
        look_around(path);
        close(file);
    }
}

TEST(debug_files_are_looked_for_where_others_put_them)
{
    static const struct {
        const char *variables[3]; /* DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, HOME */
        const char *wanted;
    } cases[] = {
        {{"/c", "/x", "/h"}, "/c/abcdef/debuginfo"},
        {{NULL, "/x", "/h"}, "/x/debuginfod_client/abcdef/debuginfo"},
        {{"", "", "/h"}, "/h/.cache/debuginfod_client/abcdef/debuginfo"},
        {{NULL, NULL, NULL}, NULL},
    };
    static const char *const names[] = {"DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME", "HOME"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < 3; j++)
            if (cases[i].variables[j])
                setenv(names[j], cases[i].variables[j], 1);
            else
                unsetenv(names[j]);
        PT_AUTO_FREE char *path = pt_debug_path("abcdef", 1);
        assert_true(path ? cases[i].wanted && strcmp(path, cases[i].wanted) == 0 : !cases[i].wanted);
    }
    char *path = pt_debug_path("abcdef", 0);
    assert_string_equal(path, "/usr/lib/debug/.build-id/ab/cdef.debug");
    free(path);
    assert_null(pt_debug_path("", 0));
}
