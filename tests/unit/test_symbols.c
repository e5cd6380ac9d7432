/* Names of functions: from the file of a module, from the vDSO's image, and none from a file that is another one. */
#include "preload/base/arena.h"
#include "preload/base/mappings.h"
#include "preload/common/log_format.h"
#include "preload/modules/elf_symbols.h"
#include "preload/modules/module_list.h"
#include "unit.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define DAMAGE_RUNS 200

static char object[80]; /* the file that a test makes */

void before_each(void)
{
    scratch_make();
    snprintf(object, sizeof object, "%s/object", scratch_path);
}

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

TEST(test_own_functions)
{
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

/* A sanitizer makes the variables of C larger. */
__asm__(
    ".data\n.type a_static_variable, @object\n.size a_static_variable, 24\na_static_variable: .quad 1, 2, 3\n.text");
extern uint64_t a_static_variable[3];

/* By its name and size, without all the names of the table. */
TEST(test_variable)
{
    static const char *const names[] = {"no_such_function", "system", "syste"};
    struct pp_elf_source source = {.fd = open("/proc/self/exe", O_RDONLY)};
    uint64_t value = 0, size = sizeof a_static_variable;
    assert_true(source.fd >= 0);
    assert_true(pp_elf_source_variable(&source, false, "a_static_variable", size, &value));
    assert_int_equal(module_of((void *)&a_static_function)->bias + value, (uintptr_t)a_static_variable);
    assert_false(pp_elf_source_variable(&source, false, "a_static_variable", size + 8, &value));
    assert_false(pp_elf_source_variable(&source, false, "a_static_variabl", size, &value));
    assert_false(pp_elf_source_variable(&source, true, "a_static_variable", size, &value));
    assert_int_equal(pp_elf_source_mentions(&source, names, 3), 1u << 1);
    close(source.fd);
}

TEST(test_libc_functions)
{
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

TEST(test_vdso)
{
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

/* Names that were found stay when the file goes; the index is made again for another file of the same build. */
TEST(test_changing_file)
{
    void *z = dlopen("libz.so.1", RTLD_NOW);
    Dl_info info;
    if (!z || !dladdr(dlsym(z, "crc32"), &info))
        skip();
    char command[8400];
    copy_file(info.dli_fname, object, 1L << 30);
    void *copy = dlopen(object, RTLD_NOW);
    assert_non_null(copy);
    uintptr_t crc32 = (uintptr_t)dlsym(copy, "crc32"), adler32 = (uintptr_t)dlsym(copy, "adler32"), start;
    struct pp_module *module = module_of((void *)crc32);
    assert_string_equal(pp_module_symbol(module, crc32 + 1, &start), "crc32");
    /* the same build-id, everything at another place: as if it were stripped */
    snprintf(command, sizeof command, "objcopy --add-section .extra='%s' '%s' %s.new && mv %s.new %s", info.dli_fname,
             object, object, object, object);
    assert_int_equal(system(command), 0);
    assert_string_equal(pp_module_symbol(module, adler32, &start), "adler32");
    assert_int_equal(start, adler32);
    unlink(object);
    assert_string_equal(pp_module_symbol(module, crc32 + 2, &start), "crc32");
    assert_int_equal(start, crc32);
    assert_null(pp_module_symbol(module, (uintptr_t)dlsym(copy, "deflate"), &start));
    dlclose(copy);
    dlclose(z);
}

/* What is given back between two functions that are met is made again, and not given back before the second interval.
 */
TEST(test_rest)
{
    struct pp_module *libc = module_of((void *)&strtod);
    size_t most, before;
    uintptr_t start;
    pp_module_add_sampled((uintptr_t)&strtod);
    assert_non_null(pp_module_symbol(libc, (uintptr_t)dlsym(RTLD_DEFAULT, "strtod"), &start));
    before = pp_mapped_bytes(&most);
    pp_modules_rest();
    assert_int_equal(pp_mapped_bytes(&most), before);
    pp_modules_rest();
    assert_true(pp_mapped_bytes(&most) < before - 3000 * sizeof(uint64_t)); /* as many symbols has libc at least */
    assert_string_equal(pp_module_symbol(libc, (uintptr_t)dlsym(RTLD_DEFAULT, "wcstod"), &start), "wcstod");
    /* Another function is met: longer from now on. */
    pp_module_add_sampled((uintptr_t)dlsym(RTLD_DEFAULT, "wcstod"));
    before = pp_mapped_bytes(&most);
    for (unsigned n = 0; n < 3; n++)
        pp_modules_rest();
    assert_int_equal(pp_mapped_bytes(&most), before);
    pp_modules_rest();
    assert_true(pp_mapped_bytes(&most) < before - 3000 * sizeof(uint64_t));
}

/* What LLVM registers: an object that was not linked, its functions at high addresses, a section without any at 0. */
TEST(test_unlinked_object)
{
    char command[400];
    static uint8_t bytes[1 << 16];
    snprintf(command, sizeof command,
             "echo 'int f(int n) { return n + 1; }' | gcc -x c -ffunction-sections -c -o %s.o - && mv %s.o %s", object,
             object, object);
    assert_int_equal(system(command), 0);
    int fd = open(object, O_RDONLY);
    struct pp_elf_source source = {.fd = -1, .memory = bytes, .size = (size_t)read(fd, bytes, sizeof bytes)};
    struct pp_elf_sections sections;
    struct pp_elf_index index;
    struct pp_elf_symbol found;
    assert_true(pp_elf_sections_read(&source, &sections));
    for (size_t i = 0; i < sections.count; i++)
        if (sections.headers[i].sh_flags & SHF_EXECINSTR && sections.headers[i].sh_size)
            sections.headers[i].sh_addr = 0x7f0012345000;
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    memcpy(bytes + header.e_shoff, sections.headers, sections.count * sizeof *sections.headers);
    assert_true(pp_elf_index_read(&source, &index));
    pp_elf_index_find(&index, &source, 0x7f0012345001, &found);
    assert_string_equal(found.name, "f");
    assert_int_equal(found.value, 0x7f0012345000);
    pp_elf_index_free(&index);
    pp_elf_sections_free(&sections);
    close(fd);
}

/* Every address of a file has the name of the last function that begins at or below it and holds it. Returns how many
 * functions lie between stubs. */
static unsigned check_against_the_table(const char *path)
{
    unsigned in_bounds = 0;
    struct pp_elf_source source = {.fd = open(path, O_RDONLY)};
    struct pp_elf_sections sections;
    struct pp_elf_index index;
    const Elf64_Shdr *strings, *table;
    assert_true(pp_elf_sections_read(&source, &sections) && pp_elf_index_read(&source, &index));
    assert_non_null(table = pp_elf_table(&sections, SHT_SYMTAB, &strings));
    size_t count = table->sh_size / sizeof(Elf64_Sym);
    Elf64_Sym *symbols = malloc(table->sh_size);
    assert_true(pp_elf_source_read(&source, symbols, table->sh_size, table->sh_offset));
    for (size_t i = 0; i < count; i++) {
        uint64_t address = symbols[i].st_value + symbols[i].st_size / 2, value = 0;
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || !symbols[i].st_size)
            continue;
        for (size_t k = 0; k < count; k++)
            if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC && address - symbols[k].st_value < symbols[k].st_size &&
                symbols[k].st_value > value)
                value = symbols[k].st_value;
        struct pp_elf_symbol found, at_from, at_to;
        pp_elf_index_find(&index, &source, address, &found);
        assert_int_equal(found.value, value);
        in_bounds += address >= index.stubs_start && address < index.stubs_end;
        pp_elf_index_find(&index, &source, found.from, &at_from);
        pp_elf_index_find(&index, &source, found.to - 1, &at_to);
        assert_string_equal(at_from.name, found.name);
        assert_string_equal(at_to.name, found.name);
    }
    free(symbols);
    pp_elf_index_free(&index);
    pp_elf_sections_free(&sections);
    close(source.fd);
    return in_bounds;
}

TEST(test_against_the_table)
{
    unsigned in_bounds = check_against_the_table("/proc/self/exe");
    if (PP_ELF_MACHINE == EM_X86_64) /* AArch64's linkers give tables of stubs no entry size: all code may be stubs */
        assert_int_equal(in_bounds, 0);
}

/* The sort's first step tells almost none of them apart: all but one are in a millionth of the range. */
TEST(test_one_far_away)
{
    char command[400];
    snprintf(command, sizeof command,
             "{ for i in $(seq 1500); do echo \"int f$i(int n) { return n + $i; }\"; done && "
             "echo '__attribute__((section(\".far\"))) int g(int n) { return n; }'; } | "
             "gcc -x c -shared -nostdlib -Wl,--section-start=.far=0x70000000 -o %s -",
             object);
    assert_int_equal(system(command), 0);
    check_against_the_table(object);
}

#define IN_EACH   20000
#define CHAIN_MAX 64 /* items of a bucket; all of a section would be 20,000 */

/* The names of a section's functions are right, and no bucket of the index has many of them: a search walks a bucket.
 */
static void check_section(const struct pp_elf_index *index, const struct pp_elf_source *source, uint64_t start,
                          const char *prefix)
{
    struct pp_elf_symbol found;
    char name[32];
    uint64_t last = UINT64_MAX, chain = 0;
    for (uint64_t i = 0; i < IN_EACH; i++) {
        uint64_t value = start + 16 * i, bucket = (value - index->base) >> index->shift;
        bucket = bucket < index->bucket_count ? bucket : index->bucket_count - 1;
        chain = bucket == last ? chain + 1 : 1;
        last = bucket;
        assert_in_range(chain, 1, CHAIN_MAX);
        if (i % 50)
            continue;
        pp_elf_index_find(index, source, value + 7, &found);
        snprintf(name, sizeof name, "%s%u", prefix, (unsigned)i);
        assert_string_equal(found.name, name);
        assert_int_equal(found.value, value);
    }
}

/* What BOLT leaves: code in two sections, each with a segment of its own. The index spreads its buckets
 * over both. */
TEST(test_two_sections)
{
    char command[600];
    snprintf(command, sizeof command,
             "for name in hot cold; do [ $name = hot ] && section=.text || section=.bolt.org.text; "
             "printf '.section %%s,\"ax\",@progbits\\n.p2align 4\\n' $section; for i in $(seq 0 %d); do "
             "printf '.type %%s%%d,@function\\n%%s%%d: ret\\n.skip 15\\n.size %%s%%d,16\\n' "
             "$name $i $name $i $name $i; done; done | "
             "gcc -x assembler -z noexecstack -shared -nostdlib -Wl,--section-start=.text=0x400000 "
             "-Wl,--section-start=.bolt.org.text=0x200000 -o %s -",
             IN_EACH - 1, object);
    assert_int_equal(system(command), 0);
    static uint8_t bytes[8 << 20];
    int fd = open(object, O_RDONLY);
    struct pp_elf_source source = {.fd = -1, .memory = bytes, .size = (size_t)read(fd, bytes, sizeof bytes)};
    struct pp_elf_index index;
    assert_true(pp_elf_index_read(&source, &index));
    check_section(&index, &source, 0x400000, "hot");
    check_section(&index, &source, 0x200000, "cold");
    pp_elf_index_free(&index);
    close(fd);
}

/* Functions whose last byte has a label: of sizes that five binary digits hold, and of sizes just above. */
#define SIZES(X) X(31) X(32) X(33) X(64) X(65) X(992) X(993) X(1024) X(1025) X(131071) X(131073)
#define WITH_LABEL(size)                                                                                               \
    "outer_" #size ": .skip " #size " - 1, 0x90\ninner_" #size ": nop\n"                                               \
    ".type outer_" #size ", @function\n.size outer_" #size ", " #size "\n"
__asm__(".text\n" SIZES(WITH_LABEL));
#define DECLARE(size) extern char outer_##size[];
SIZES(DECLARE)

TEST(test_labels_at_ends)
{
    static const struct {
        char *at;
        size_t size;
        const char *name;
    } functions[] = {
#define ROW(size) {outer_##size, size, "outer_" #size},
        SIZES(ROW)};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uintptr_t at = (uintptr_t)functions[i].at, start = 0;
        assert_string_equal(pp_module_symbol(module_of((void *)at), at + functions[i].size - 1, &start),
                            functions[i].name);
        assert_int_equal(start, at);
    }
}

/* The file that a library was loaded from is replaced by another one: its names are those of somebody else. */
TEST(test_replaced_file)
{
    void *z = dlopen("libz.so.1", RTLD_NOW);
    Dl_info info;
    if (!z || !dladdr(dlsym(z, "crc32"), &info))
        skip();
    char copied[96], original[4096];
    snprintf(original, sizeof original, "%s", info.dli_fname);
    for (unsigned truncated = 0; truncated < 2; truncated++) {
        snprintf(copied, sizeof copied, "%s/libcopy%u.so", scratch_path, truncated);
        copy_file(original, copied, 1L << 30);
        void *copy = dlopen(copied, RTLD_NOW);
        assert_non_null(copy);
        uintptr_t address = (uintptr_t)dlsym(copy, "crc32"), start;
        struct pp_module *module = module_of((void *)address);
        assert_string_equal(module->path, copied);
        if (truncated)
            copy_file(original, copied, 5000);
        else
            copy_file("/proc/self/exe", copied, 1L << 30);
        assert_null(pp_module_symbol(module, address, &start));
        dlclose(copy);
    }
    dlclose(z);
}

/* Builds a library of functions f1, f2, ... from f`add` on, with a table of 160 KB. */
static void build(const char *path, const char *id, unsigned add)
{
    char command[600];
    snprintf(command, sizeof command,
             "for i in $(seq %u 20000); do echo \".globl f$i; .type f$i, @function; f$i: .cfi_startproc; ret; "
             ".cfi_endproc; .size f$i, 1\"; done | gcc -x assembler -shared -Wl,--build-id=%s -o %s.new - && "
             "mv %s.new %s",
             add, id, path, path, path);
    assert_int_equal(system(command), 0);
}

/* Returns the KB of the file's pages that this process has mapped and touched. */
static unsigned resident_kb(const char *path)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    unsigned sum = 0, kb;
    unsigned long start, end;
    bool is_its = false;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &start, &end) == 2)
            is_its = strstr(line, path) != NULL;
        else if (sscanf(line, "Rss: %u kB", &kb) == 1)
            sum += is_its ? kb : 0;
    }
    fclose(maps);
    return sum;
}

/* A library without a build-id is known by the inode that is mapped, which its table of functions need not be read for.
 */
TEST(test_without_build_id)
{
    struct stat status;
    uint64_t device;
    uintptr_t start;
    build(object, "none", 1);
    void *library = dlopen(object, RTLD_NOW);
    assert_non_null(library);
    uintptr_t first = (uintptr_t)dlsym(library, "f1"), second = (uintptr_t)dlsym(library, "f2");
    struct pp_module *module = module_of((void *)first);
    assert_int_equal(module->build_id_length, 0);
    assert_int_equal(stat(object, &status), 0);
    assert_int_equal(pp_mapped_inode(first, &device), status.st_ino);
    assert_int_equal(device, status.st_dev);
    assert_int_equal(pp_mapped_inode((uintptr_t)&status, &device), 0);
    assert_int_equal(pp_mapped_inode(8, &device), 0);
    unsigned resident = resident_kb(object);
    assert_string_equal(pp_module_symbol(module, first, &start), "f1");
    assert_true(resident_kb(object) <= resident + 64); /* its first page, with neighbours */
    /* other functions at these places, a copy of the file */
    build(object, "none", 2);
    assert_null(pp_module_symbol(module, second, &start));
    build(object, "none", 1);
    assert_string_equal(pp_module_symbol(module, second, &start), "f2");
    dlclose(library);
}

TEST(test_damaged_file)
{
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
        struct pp_elf_index index;
        uint8_t id[PP_BUILD_ID_MAX];
        pp_elf_source_build_id(&source, id, sizeof id);
        if (!pp_elf_index_read(&source, &index))
            continue;
        for (unsigned n = 0; n < 1000; n++) {
            struct pp_elf_symbol symbol;
            uint64_t address = (uint64_t)rand() % size;
            pp_elf_index_find(&index, &source, address, &symbol);
            assert_true(symbol.from <= address && address < symbol.to && strlen(symbol.name) <= PP_ELF_NAME_MAX);
        }
        pp_elf_index_free(&index);
    }
    free(bytes);
    close(fd);
}
