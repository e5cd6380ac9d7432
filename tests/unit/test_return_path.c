/* What instructions tell of the way to a return is what the unwind information of libraries says. */
#include "../../preload/arch/return_path.h"
#include "../../preload/base/safe_copy.h"
#include "../../preload/modules/modules.h"
#include "../../preload/unwind/unwind_rows.h"
#include "unit.h"
#include <dlfcn.h>

#define MIN_FOUND   0.15  /* of all instructions; most are in functions that call others */
#define MAX_NO_RULE 0.01  /* of these: PLTs, signal frames */
#define MAX_OTHER   0.002 /* of libc's: glibc's arithmetic of long numbers pushes registers and does not say so */

static const uint8_t tracked[PP_TRACKED_COUNT] = PP_TRACKED_REGISTERS;

struct comparison {
    struct pp_module *module;
    struct pp_module_range range;
    struct pp_code code;
    unsigned long tried, found, other, by_frame_pointer, no_rule;
};

static const struct pp_unwind_rule *rule_at(struct comparison *c, uintptr_t address)
{
    assert_true(pp_module_add_sampled(address));
    const struct pp_module_table *table = pp_modules_draft();
    for (uint32_t i = 0; i < table->count; i++)
        if (table->ranges[i].start == c->module->start)
            c->range = table->ranges[i];
    uint32_t row = pp_unwind_find_row(&c->range, (uint32_t)(address - c->range.start));
    uint32_t number = PP_ROW_RULE(c->range.rows[row].rule);
    return number < PP_RULE_FIRST ? NULL : &c->range.rules[number];
}

/* What was restored has its place below the stack pointer. */
static bool is_equal(const struct pp_return_path *path, const struct pp_unwind_rule *rule)
{
    bool by_sp = rule->cfa_register == PP_REG_SP;
    if (by_sp && rule->cfa_offset != path->cfa_offset)
        return false;
    for (unsigned slot = 0; slot < PP_TRACKED_COUNT; slot++) {
        bool saved = rule->saved >> slot & 1, found = path->saved >> tracked[slot] & 1;
        if (saved && found && rule->where[slot] != path->at[tracked[slot]])
            return false;
        if (by_sp && saved != found && !(saved && rule->where[slot] < -rule->cfa_offset) &&
            !(rule->in_register >> slot & 1)) /* vfork's return address is both */
            return false;
    }
    return true;
}

static void try_at(struct comparison *c, uintptr_t address)
{
    struct pp_return_path path;
    c->tried++;
    if (!pp_return_path(&c->code, address, &path))
        return;
    c->found++;
    const struct pp_unwind_rule *rule = rule_at(c, address);
    if (!rule || rule->cfa_kind != PP_CFA_REGISTER || rule->lost >> PP_TRACKED_RA & 1) {
        c->no_rule++;
        return;
    }
    c->by_frame_pointer += rule->cfa_register != PP_REG_SP;
    if (!is_equal(&path, rule)) {
        c->other++;
        print_message("%lx: sp + %d, not %d\n", address - c->module->bias, path.cfa_offset, rule->cfa_offset);
    }
}

static void compare_library(const char *library, const char *name, double most)
{
    Dl_info info;
    char command[4096], line[512], *end;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *function = handle ? dlsym(handle, name) : NULL;
    if (!function || !dladdr(function, &info)) {
        print_message("no %s here\n", library);
        return;
    }
    pp_modules_refresh();
    struct comparison c = {.module = pp_module_find((uintptr_t)function)};
    assert_non_null(c.module);
    c.code = (struct pp_code){.start = c.module->start, .end = c.module->end, .read = pp_safe_copy};
    snprintf(command, sizeof command, "objdump -d --no-show-raw-insn '%s' 2>/dev/null", info.dli_fname);
    FILE *objdump = popen(command, "r");
    assert_non_null(objdump);
    while (fgets(line, sizeof line, objdump)) {
        uintptr_t address = strtoul(line, &end, 16);
        bool padding = strstr(end, "nop") || strstr(end, "xchg   %ax,%ax");
        if (line[0] == ' ' && strncmp(end, ":\t", 2) == 0 && !padding)
            try_at(&c, c.module->bias + address);
    }
    pclose(objdump);
    print_message("%s: %lu instructions, %lu tell, %lu of these have a frame pointer, %lu no rule\n", library, c.tried,
                  c.found, c.by_frame_pointer, c.no_rule);
    assert_true((double)c.other <= most * (double)c.found);
    assert_true((double)c.no_rule <= MAX_NO_RULE * (double)c.found);
    assert_true((double)c.found >= MIN_FOUND * (double)c.tried);
}

TEST(as_unwind_information_has_it)
{
    if (PP_RA_IN_REGISTER) /* leaves only: test_aarch64_code.c */
        return;
    if (system("objdump --version >/dev/null 2>&1") != 0)
        skip();
    compare_library("libc.so.6", "gnu_get_libc_version", MAX_OTHER);
    compare_library("libm.so.6", "cbrt", 0);
    compare_library("libz.so.1", "crc32", 0);
    compare_library("libstdc++.so.6", "__cxa_throw", 0);
}

static uint8_t any[4096];

static bool read_any(void *to, uintptr_t from, size_t size)
{
    memcpy(to, any + (from - 1), size);
    return true;
}

/* All ways end, within the code. */
TEST(any_bytes)
{
    static const uint8_t likely[] = {0x48, 0x0f, 0xe8, 0xe9, 0x74, 0xc3, 0x58, 0x41, 0x83, 0x66, 0x00, 0xff};
    unsigned found = 0;
    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        for (size_t i = 0; i < 256; i++)
            any[(size_t)rand() % sizeof any] = rand() % 2 ? likely[(size_t)rand() % sizeof likely] : (uint8_t)rand();
        struct pp_code code = {.start = 1, .end = 1 + sizeof any, .read = read_any};
        struct pp_return_path path;
        uintptr_t at = 1 + (uintptr_t)rand() % sizeof any;
        if (!pp_return_path(&code, at, &path))
            continue;
        found++;
        assert_true(path.size >= 1 && path.size <= sizeof any);
        assert_true(path.cfa_offset >= 8);
    }
    assert_true(PP_RA_IN_REGISTER || found > 100);
}
