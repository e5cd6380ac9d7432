/* The rows of every function of libc, libpython and others are what readelf says of them. */
#include "../../preload/modules/modules.h"
#include "../../preload/unwind/unwind_rows.h"
#include "unit.h"
#include <dlfcn.h>

#define MAX_COLUMNS    24
#define MIN_FUNCTIONS  100
#define MAX_UNFOLLOWED 0.005 /* of the rows: expressions, signal frames, longjmp */

#ifdef __x86_64__
static const char *const registers[PP_REG_COLUMNS] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ra"};
#else
static const char *const registers[PP_REG_COLUMNS] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
    "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "ra",  "sp"};
#endif
static const uint8_t tracked[PP_TRACKED_COUNT] = PP_TRACKED_REGISTERS;

/* A function as readelf tells it. */
struct function {
    uintptr_t start, end;
    unsigned columns;
    int registers[MAX_COLUMNS]; /* by DWARF number; -1: the CFA, -2: any other */
    bool known;                 /* it has rows that can be compared */
};

struct comparison {
    struct pp_module *module;
    struct pp_module_range range;
    unsigned long functions, rows, unfollowed;
};

static int number_of(const char *name)
{
    if (strcmp(name, "CFA") == 0)
        return -1;
    for (int i = 0; i < PP_REG_COLUMNS; i++)
        if (strcmp(name, registers[i]) == 0)
            return i;
    return -2;
}

static bool read_columns(char *line, struct function *function)
{
    char *place, *word = strtok_r(line, " \n", &place);
    if (!word || strcmp(word, "LOC") != 0)
        return false;
    function->columns = 0;
    while ((word = strtok_r(NULL, " \n", &place)) && function->columns < MAX_COLUMNS)
        function->registers[function->columns++] = number_of(word);
    return true;
}

static void check_cfa(const struct pp_unwind_rule *rule, const char *text)
{
    char name[8];
    int offset = 0;
    if (sscanf(text, "%7[a-z0-9]%d", name, &offset) != 2)
        return; /* an expression */
    assert_int_equal(rule->cfa_kind, PP_CFA_REGISTER);
    assert_int_equal(rule->cfa_register, number_of(name));
    assert_int_equal(rule->cfa_offset, offset);
}

static void check_register(const struct pp_unwind_rule *rule, int number, const char *text)
{
    unsigned slot = 0;
    while (slot < PP_TRACKED_COUNT && tracked[slot] != number)
        slot++;
    if (slot == PP_TRACKED_COUNT)
        return;
    unsigned bit = 1u << slot;
    int offset;
    if (sscanf(text, "c%d", &offset) == 1) {
        assert_true(rule->saved & bit);
        assert_false(rule->from_base & bit);
        assert_int_equal(rule->where[slot], offset);
    } else if (PP_RA_IN_REGISTER && slot == PP_TRACKED_RA && strlen(text) == 1 && !(rule->lost & bit)) {
        assert_true(rule->in_register & bit); /* "u" or "s", a leaf's: it is where the call has put it */
        assert_int_equal(rule->where[slot], PP_REG_RA);
    } else if (strcmp(text, "u") == 0 && slot == PP_TRACKED_RA) {
        assert_true(rule->lost & bit);
    } else if (strcmp(text, "u") == 0 || strcmp(text, "s") == 0) {
        assert_false((rule->saved | rule->in_register) & bit);
    } else if (number_of(text) >= 0) {
        assert_true(rule->in_register & bit);
        assert_int_equal(rule->where[slot], number_of(text));
    }
}

static bool moves_stack_pointer(const struct function *function)
{
    for (unsigned i = 0; i < function->columns; i++)
        if (function->registers[i] == PP_REG_SP)
            return true;
    return false;
}

/* Compares a row up to the next one. The rule at its first byte is also the rule at its last. */
static void check_row(struct comparison *c, const struct function *function, char *line)
{
    char *place, *word = strtok_r(line, " \n", &place);
    uintptr_t pc = strtoul(word, NULL, 16) + c->module->bias;
    uint32_t row = pp_unwind_find_row(&c->range, (uint32_t)(pc - c->range.start));
    uint32_t number = PP_ROW_RULE(c->range.rows[row].rule);
    const struct pp_unwind_rule *rule = &c->range.rules[number];
    assert_int_not_equal(number, PP_RULE_UNKNOWN);
    assert_int_not_equal(number, PP_RULE_GAP);
    c->rows++;
    if (number == PP_RULE_INVALID || rule->cfa_kind == PP_CFA_SIGNAL || moves_stack_pointer(function)) {
        c->unfollowed++;
        return;
    }
    for (unsigned i = 0; i < function->columns && (word = strtok_r(NULL, " \n", &place)); i++) {
        if (function->registers[i] == -1)
            check_cfa(rule, word);
        else if (function->registers[i] >= 0)
            check_register(rule, function->registers[i], word);
    }
}

static void meet(struct comparison *c, const struct function *function)
{
    uintptr_t bias = c->module->bias, from, to;
    uintptr_t address = bias + function->start + (uintptr_t)rand() % (function->end - function->start);
    assert_true(pp_module_add_sampled(address));
    const struct pp_module_table *table = pp_modules_draft();
    for (uint32_t i = 0; i < table->count; i++)
        if (table->ranges[i].start == c->module->start)
            c->range = table->ranges[i];
    assert_true(pp_module_function_range(c->module, address, &from, &to));
    assert_int_equal(from, bias + function->start);
    assert_int_equal(to, bias + function->end);
    c->functions++;
}

static void compare(const char *path, uintptr_t address)
{
    char command[4096], line[1024];
    struct function function = {0};
    pp_modules_refresh();
    struct comparison c = {.module = pp_module_find(address)};
    assert_non_null(c.module);
    snprintf(command, sizeof command, "readelf --debug-dump=frames-interp '%s' 2>/dev/null", path);
    FILE *readelf = popen(command, "r");
    assert_non_null(readelf);
    srand(1);
    while (fgets(line, sizeof line, readelf)) {
        char *fde = strstr(line, " FDE "), *pc = strstr(line, " pc=");
        if (strstr(line, "Contents of the .debug_frame"))
            break;
        if (strstr(line, " CIE ") || strstr(line, " ZERO "))
            function.known = false;
        if (fde && pc) {
            function.known = sscanf(pc, " pc=%lx..%lx", &function.start, &function.end) == 2;
            assert_true(function.known && function.end > function.start);
            meet(&c, &function);
        } else if (function.known && strncmp(line, "00", 2) == 0) {
            check_row(&c, &function, line);
        } else if (function.known) {
            read_columns(line, &function);
        }
    }
    pclose(readelf);
    print_message("%s: %lu functions, %lu rows, %lu that no row describes\n", path, c.functions, c.rows, c.unfollowed);
    assert_true(c.functions >= MIN_FUNCTIONS);
    assert_true((double)c.unfollowed <= MAX_UNFOLLOWED * (double)c.rows);
}

static void compare_library(const char *library, const char *name)
{
    Dl_info info;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *function = handle ? dlsym(handle, name) : NULL;
    if (!function || !dladdr(function, &info)) {
        print_message("no %s here\n", library);
        return;
    }
    compare(info.dli_fname, (uintptr_t)function);
}

TEST(the_libraries_of_c)
{
    if (system("readelf --version >/dev/null 2>&1") != 0)
        skip();
    compare_library("libc.so.6", "gnu_get_libc_version");
    compare_library("libm.so.6", "cbrt");
    compare_library("libz.so.1", "crc32");
    compare_library("libstdc++.so.6", "__cxa_throw");
}

TEST(the_interpreter)
{
    static const char find[] = "python3 -c 'import sysconfig; v = sysconfig.get_config_var; "
                               "print(v(\"LIBDIR\") + \"/\" + v(\"INSTSONAME\"))' 2>/dev/null";
    char path[4096] = "";
    FILE *python = popen(find, "r");
    assert_non_null(python);
    if (fgets(path, sizeof path, python))
        path[strcspn(path, "\n")] = 0;
    pclose(python);
    if (!strstr(path, ".so") || system("readelf --version >/dev/null 2>&1") != 0)
        skip();
    compare_library(path, "Py_IsInitialized");
}
