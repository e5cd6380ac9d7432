/* What instructions tell of the way to a return is what the unwind information of libraries says. */
#include "../../preload/arch/return_path.h"
#include "../../preload/base/safe_copy.h"
#include "../../preload/modules/modules.h"
#include "../../preload/unwind/unwind_rows.h"
#include "unit.h"
#include <dlfcn.h>

/* Of all instructions: 0.81 of libstdc++'s, of which many lead to an exception only, 0.94 of libc's; on x86-64 calls
 * must be followed. */
#define MIN_FOUND   (PP_RA_IN_REGISTER ? 0.75 : 0.15)
#define MAX_NO_RULE 0.01 /* of these: PLTs, signal frames */
/* Of libc's: glibc's arithmetic of long numbers pushes registers and does not say so. */
#define MAX_OTHER (PP_RA_IN_REGISTER ? 0 : 0.002)
/* One of so many instructions is tried, each in the long check; AArch64 is emulated. */
#define EVERY (PP_RA_IN_REGISTER ? 32 : 8)

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

/* What was restored has its place below the stack pointer, or on AArch64 above it: there registers are loaded and
 * stored before the stack pointer moves, or afterwards, and are in both for some instructions. */
static bool is_equal(const struct pp_return_path *path, const struct pp_unwind_rule *rule)
{
    bool by_sp = rule->cfa_register == PP_REG_SP && !PP_RA_IN_REGISTER;
    if (rule->cfa_register == path->cfa_register && rule->cfa_offset != path->cfa_offset)
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

static unsigned every(void)
{
    const char *is_long = getenv("CHECK_LONG"); /* empty in the short check */
    return is_long && *is_long ? 1 : EVERY;
}

/* x86-64's instructions are where objdump says; padding is left out. */
static void try_listed(struct comparison *c, const char *file)
{
    char command[4096], line[512], *end;
    unsigned count = 0, step = every();
    snprintf(command, sizeof command, "objdump -d --no-show-raw-insn '%s' 2>/dev/null", file);
    FILE *objdump = popen(command, "r");
    assert_non_null(objdump);
    while (fgets(line, sizeof line, objdump)) {
        uintptr_t address = strtoul(line, &end, 16);
        bool padding = strstr(end, "nop") || strstr(end, "xchg   %ax,%ax");
        if (line[0] == ' ' && strncmp(end, ":\t", 2) == 0 && !padding && count++ % step == 0)
            try_at(c, c->module->bias + address);
    }
    pclose(objdump);
}

/* AArch64's are words, and in functions where there is a rule. */
static void try_words(struct comparison *c)
{
    for (uintptr_t at = c->module->start; at < c->module->end; at += 4 * every())
        if (rule_at(c, at))
            try_at(c, at);
}

static void compare_library(const char *library, const char *name, double most)
{
    Dl_info info;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL), *function = handle ? dlsym(handle, name) : NULL;
    if (!function || !dladdr(function, &info)) {
        print_message("no %s here\n", library);
        return;
    }
    pp_modules_refresh();
    struct comparison c = {.module = pp_module_find((uintptr_t)function)};
    assert_non_null(c.module);
    c.code = (struct pp_code){.start = c.module->start, .end = c.module->end, .read = pp_safe_copy};
    if (PP_RA_IN_REGISTER)
        try_words(&c);
    else
        try_listed(&c, info.dli_fname);
    print_message("%s: %lu instructions, %lu tell, %lu of these have a frame pointer, %lu no rule\n", library, c.tried,
                  c.found, c.by_frame_pointer, c.no_rule);
    assert_true((double)c.other <= most * (double)c.found);
    assert_true((double)c.no_rule <= MAX_NO_RULE * (double)c.found);
    assert_true((double)c.found >= MIN_FOUND * (double)c.tried);
}

TEST(as_unwind_information_has_it)
{
    if (!PP_RA_IN_REGISTER && system("objdump --version >/dev/null 2>&1") != 0)
        skip();
    compare_library("libc.so.6", "gnu_get_libc_version", MAX_OTHER);
    compare_library("libm.so.6", "cbrt", 0);
    compare_library("libz.so.1", "crc32", 0);
    compare_library("libstdc++.so.6", "__cxa_throw", 0);
}

#define WORD 4
#define STEP (PP_RA_IN_REGISTER ? WORD : 1) /* between instructions */

static uint8_t any[4096];

static bool read_any(void *to, uintptr_t from, size_t size)
{
    memcpy(to, any + (from - WORD), size);
    return true;
}

/* AArch64's: what the library finds, and how far it holds. Encodings are those of GNU as. */
TEST(known_code)
{
    enum { SP = PP_REG_SP, FP = PP_REG_FP, NONE = -1 };
    static const struct {
        uint32_t code[6];
        unsigned at; /* instructions */
        int cfa, base;
        bool saved; /* the return address and the frame pointer, as stp x29, x30 at the frame's start saves them */
        unsigned size;
    } known[] = {
        /* leaves: with a signed x30; system calls; branches and other stores; no numbers but those of vectors and sp */
        {{0xd503233f, 0x71003c1f, 0xd50323bf, 0xd65f03c0}, 0, 0, SP, false, 13},
        {{0xd2800e28, 0xd4000001, 0xd50b7420, 0xd65f03c0}, 0, 0, SP, false, 13},
        {{0x14000002, 0x94000002, 0x8b2463e4, 0xd65f0bff}, 0, 0, SP, false, 1},
        {{0x54000040, 0xf9400060, 0xa9022066, 0xd65f03c0}, 0, 0, SP, false, 1},
        {{0xd503201f, 0x6e3c4673, 0x3d8003f4, 0xd65f03c0}, 0, 0, SP, false, 13},
        /* stp x29, x30, [sp, #-16]!; bl; ldp x29, x30, [sp], #16; ret */
        {{0xa9bf7bfd, 0x94000002, 0xa8c17bfd, 0xd65f03c0}, 0, 0, SP, false, 1},
        {{0xa9bf7bfd, 0x94000002, 0xa8c17bfd, 0xd65f03c0}, 1, 16, SP, true, 1},
        {{0xa9bf7bfd, 0x94000002, 0xa8c17bfd, 0xd65f03c0}, 2, 16, SP, true, 1},
        {{0xa9bf7bfd, 0x94000002, 0xa8c17bfd, 0xd65f03c0}, 3, 0, SP, false, 1},
        /* sub sp, sp, #16; stp x29, x30, [sp]; blr x1; ldp x29, x30, [sp]; add sp, sp, #16; ret */
        {{0xd10043ff, 0xa9007bfd, 0xd63f0020, 0xa9407bfd, 0x910043ff, 0xd65f03c0}, 1, 16, SP, false, 5},
        {{0xd10043ff, 0xa9007bfd, 0xd63f0020, 0xa9407bfd, 0x910043ff, 0xd65f03c0}, 2, 16, SP, true, 1},
        {{0xd10043ff, 0xa9007bfd, 0xd63f0020, 0xa9407bfd, 0x910043ff, 0xd65f03c0}, 4, 16, SP, false, 1},
        {{0xd282020c, 0x8b2c63ff, 0xd65f03c0}, 0, 4112, SP, false, 5}, /* mov x12, #4112; add sp, sp, x12 */
        {{0x910003bf, 0xa8c17bfd, 0xd65f03c0}, 0, 16, FP, true, 1},    /* mov sp, x29; ldp x29, x30, [sp], #16 */
        {{0xa8c17bfd, 0x14000001, 0xa9bf7bfd, 0xa8c17bfd, 0xd65f03c0}, 0, 16, SP, true, 1}, /* calls at its end */
        /* ldr x30, [x29, #8]; ldr x29, [sp], #16: what x29 points to is where it is restored from */
        {{0xf94007be, 0xf84107fd, 0xd65f03c0}, 0, 16, SP, true, 1},
        {{0xf94007be, 0x910003bf, 0xf84107fd, 0xd65f03c0}, 0, 16, FP, true, 1}, /* … with mov sp, x29 between */
        {{0xf94003f3, 0xf94007be, 0x910003bf, 0xf84107fd, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* ldr x19, [sp] first */
        /* stp x29, x30, [sp, #-16]!; mov x29, sp; ldr x30, [x29, #8]; ldr x29, [sp], #16 */
        {{0xa9bf7bfd, 0x910003fd, 0xf94007be, 0xf84107fd, 0xd65f03c0}, 0, 0, SP, false, 1},
        /* … with sub sp, sp, #16; mov sp, x29 between */
        {{0xa9bf7bfd, 0x910003fd, 0xd10043ff, 0x910003bf, 0xa8c17bfd, 0xd65f03c0}, 0, 0, SP, false, 1},
        {{0xf94007be, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0},             /* ldr x30, [x29, #8]: from where? */
        {{0xf94003bd, 0x910043ff, 0xd65f03c0}, 0, NONE, SP, false, 0},             /* ldr x29, [x29] */
        {{0xb4000060, 0x910043ff, 0xd65f03c0, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* ways differ: add sp, sp, #16 */
        {{0x94000002, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0},             /* bl: x30 is lost */
        {{0x94000002, 0xa9bf7bfd, 0xa8c17bfd, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* … and another function begins */
        {{0xf940001e, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0},             /* ldr x30, [x0] */
        /* x30 is stored by x29 or x10, and not yet: where it is restored from does not have it */
        {{0xf90007be, 0xf94007be, 0xf84207fd, 0xd65f03c0}, 0, NONE, SP, false, 0},
        {{0xa93c795d, 0xd503201f, 0xa8c47bfd, 0xd65f03c0}, 0, NONE, SP, false, 0},
        {{0xa905781d, 0xd503201f, 0xd65f03c0}, 0, 0, SP, false, 9},    /* setjmp */
        {{0xaa0003f3, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* mov x19, x0 */
        {{0xaa0003ec, 0x8b2c63ff, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* mov x12, x0; add sp, sp, x12 */
        {{0x9100005f, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* mov sp, x2 */
        {{0xd10083ff, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* sub sp, sp, #32 */
        {{0xd61f0220, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* br x17 */
        {{0xd4200000, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* brk #0 */
        {{0x17ffffff, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* b .-4: before the code */
        {{0x14000000, 0xd503201f, 0xd65f03c0}, 0, NONE, SP, false, 0}, /* b . */
        {{0xd503201f, 0xd503201f, 0xd503201f}, 0, NONE, SP, false, 0}, /* no return */
    };
    for (unsigned i = 0; PP_RA_IN_REGISTER && i < sizeof known / sizeof *known; i++) {
        struct pp_code code = {.start = WORD, .end = WORD + sizeof known[i].code, .read = read_any};
        struct pp_return_path path;
        memcpy(any, known[i].code, sizeof known[i].code);
        bool found = pp_return_path(&code, WORD + known[i].at * WORD, &path);
        assert_int_equal(found, known[i].cfa != NONE);
        if (!found)
            continue;
        assert_int_equal(path.cfa_register, known[i].base);
        assert_int_equal(path.cfa_offset, known[i].cfa);
        assert_int_equal(path.size, known[i].size);
        assert_int_equal(path.saved, known[i].saved ? 1u << PP_REG_FP | 1u << PP_REG_RA : 0);
        assert_int_equal(path.at[PP_REG_RA], known[i].saved ? -8 : 0);
    }
}

/* All ways end, within the code. */
TEST(any_bytes)
{
    static const uint8_t likely[] = {0x48, 0x0f, 0xe8, 0xe9, 0x74, 0xc3, 0x58, 0x41, 0x83, 0x66, 0x00, 0xff};
    static const uint32_t words[] = {0xd65f03c0, 0xa8c17bfd, 0xf94007f3, 0x910043ff,
                                     0x94000002, 0x54000040, 0xa9bf7bfd};
    unsigned found = 0;
    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        for (size_t i = 0; i < 256; i++)
            if (PP_RA_IN_REGISTER && rand() % 2)
                memcpy(any + (size_t)rand() % (sizeof any / WORD) * WORD, words + (size_t)rand() % 7, WORD);
            else
                any[(size_t)rand() % sizeof any] =
                    rand() % 2 ? likely[(size_t)rand() % sizeof likely] : (uint8_t)rand();
        struct pp_code code = {.start = WORD, .end = WORD + sizeof any, .read = read_any};
        struct pp_return_path path;
        uintptr_t at = WORD + (uintptr_t)rand() % (sizeof any / STEP) * STEP;
        if (!pp_return_path(&code, at, &path))
            continue;
        found++;
        assert_true(path.size >= 1 && path.size <= sizeof any);
        assert_true(path.cfa_offset >= (PP_RA_IN_REGISTER ? 0 : 8));
    }
    assert_true(found > 100);
}
