/* The row compiler: hand-made CFI, the CFI of what is loaded here, and damaged CFI. */
#include "../../preload/base/arena.h"
#include "../../preload/base/safe_copy.h"
#include "../../preload/capture/native_walk.h"
#include "../../preload/common/log_format.h"
#include "../../preload/modules/module_list.h"
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT        0x400000u
#define TEXT_SIZE   0x1000u
#define EH_FRAME    0x500000u
#define MAX_INVALID 0.001 /* of the rows of libc */
#define DAMAGE_RUNS 300

/* One CIE as gcc makes it and one FDE for [TEXT + 0x100, TEXT + 0x200) with the given instructions. */
static size_t make_eh_frame(uint8_t *to, const char *augmentation, const uint8_t *code, size_t size)
{
    uint8_t cie[64] = {0};
    size_t n = 4;
    n += 4; /* id 0 */
    cie[n++] = 1;
    n += (size_t)snprintf((char *)cie + n, 8, "%s", augmentation) + 1;
    cie[n++] = 1;                                           /* code alignment */
    cie[n++] = 0x78;                                        /* data alignment -8 */
    cie[n++] = 16;                                          /* return address column */
    cie[n++] = 1;                                           /* augmentation data: */
    cie[n++] = 0x1b;                                        /* pcrel sdata4 */
    static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1}; /* CFA = rsp + 8, return address at CFA - 8 */
    memcpy(cie + n, initial, sizeof initial);
    n += sizeof initial;
    uint32_t length = (uint32_t)n - 4;
    memcpy(cie, &length, 4);
    memcpy(to, cie, n);

    size_t fde = n;
    uint32_t words[4] = {(uint32_t)(4 + 8 + 1 + size), (uint32_t)(fde + 4), 0, 0x100};
    words[2] = TEXT + 0x100 - (EH_FRAME + (uint32_t)fde + 8);
    memcpy(to + n, words, sizeof words);
    n += sizeof words;
    to[n++] = 0; /* no augmentation data */
    memcpy(to + n, code, size);
    n += size;
    memset(to + n, 0, 4);
    return n + 4;
}

static struct pp_unwind_rows compiled;

static struct pp_module_range range_of(const struct pp_unwind_rows *rows, uintptr_t start, size_t size)
{
    return (struct pp_module_range){
        .start = start,
        .end = start + size,
        .rows = rows->rows,
        .rules = rows->rules,
        .blocks = rows->blocks,
        .block_shift = rows->block_shift,
        .row_count = rows->row_count,
    };
}

static void compile(const char *augmentation, const uint8_t *code, size_t size)
{
    uint8_t bytes[512];
    struct pp_section_copy eh_frame = {bytes, make_eh_frame(bytes, augmentation, code, size), EH_FRAME};
    pp_unmap(compiled.mapping, compiled.mapped);
    assert_true(pp_unwind_rows_compile(NULL, &eh_frame, TEXT, TEXT + TEXT_SIZE, 0, NULL, &compiled));
}
#define COMPILE(...) compile("zR", (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static const struct pp_unwind_rule *rule_at(uint32_t offset)
{
    struct pp_module_range range = range_of(&compiled, TEXT, TEXT_SIZE);
    return &compiled.rules[PP_ROW_RULE(compiled.rows[pp_unwind_find_row(&range, offset)].rule)];
}

static void test_gaps(void **state)
{
    (void)state;
    COMPILE(0);
    assert_int_equal(rule_at(0)->cfa_kind, PP_CFA_INVALID);
    assert_int_equal(rule_at(0xff)->cfa_kind, PP_CFA_INVALID);
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_REGISTER);
    assert_int_equal(rule_at(0x1ff)->cfa_offset, 8);
    assert_int_equal(rule_at(0x200)->cfa_kind, PP_CFA_INVALID);
    assert_int_equal(compiled.row_count, 3);
}

static void test_prologue(void **state)
{
    (void)state;
    /* push rbp; mov rsp, rbp; …; remember; leave; restore */
    COMPILE(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x50, 0x0a, 0x0c, 7, 8, 0xc6, 0x41, 0x0b);
    const struct pp_unwind_rule *rule = rule_at(0x101);
    assert_int_equal(rule->cfa_register, PP_REG_SP);
    assert_int_equal(rule->cfa_offset, 16);
    assert_int_equal(rule->where[PP_TRACKED_FP], -16);
    assert_int_equal(rule->where[PP_TRACKED_RA], -8);
    assert_int_equal(rule_at(0x104)->cfa_register, PP_REG_FP);
    assert_int_equal(rule_at(0x114)->cfa_register, PP_REG_SP);
    assert_false(rule_at(0x114)->saved >> PP_TRACKED_FP & 1);
    assert_ptr_equal(rule_at(0x115), rule_at(0x104));
}

static void test_realigned(void **state)
{
    (void)state;
    /* CFA = r10; rbp at [rbp]; CFA = *(rbp - 24) */
    COMPILE(0x45, 0x0c, 10, 0, 0x4c, 0x10, 6, 2, 0x76, 0, 0x48, 0x0f, 3, 0x76, 0x68, 0x06);
    assert_int_equal(rule_at(0x105)->cfa_register, 10);
    assert_true(rule_at(0x111)->from_base >> PP_TRACKED_FP & 1);
    const struct pp_unwind_rule *rule = rule_at(0x119);
    assert_int_equal(rule->cfa_kind, PP_CFA_DEREF);
    assert_int_equal(rule->cfa_register, PP_REG_FP);
    assert_int_equal(rule->cfa_offset, -24);
    assert_int_equal(rule->base, PP_REG_FP);
}

static void test_expressions(void **state)
{
    (void)state;
    /* rsp 8; r9 0; lit8; mul; plus; deref; plus_uconst 8 */
    COMPILE(0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8);
    const struct pp_unwind_rule *rule = rule_at(0x100);
    assert_int_equal(rule->cfa_kind, PP_CFA_DEREF);
    assert_int_equal(rule->cfa_index, 9);
    assert_int_equal(rule->cfa_shift, 3);
    assert_int_equal(rule->cfa_offset, 8);
    assert_int_equal(rule->cfa_addend, 8);
    /* rsp 8; rip 0; lit15; and; lit11; ge; lit3; shl; plus */
    COMPILE(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_PLT);
    assert_int_equal(rule_at(0x100)->cfa_addend, 11);
    /* one that nobody follows: two dereferences */
    COMPILE(0x0f, 4, 0x77, 8, 0x06, 0x06);
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_INVALID);
}

static void test_return_address(void **state)
{
    (void)state;
    COMPILE(0x07, 16); /* undefined: outermost */
    assert_true(rule_at(0x100)->lost >> PP_TRACKED_RA & 1);
    COMPILE(0x0e, 0, 0x09, 16, 5); /* vfork: in rdi */
    assert_true(rule_at(0x100)->in_register >> PP_TRACKED_RA & 1);
    assert_int_equal(rule_at(0x100)->where[PP_TRACKED_RA], 5);
    COMPILE(0x09, 7, 8); /* another stack pointer, and nobody knows why */
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_INVALID);
    COMPILE(0x16, 16, 2, 0x77, 0); /* the value of an expression */
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_INVALID);
}

static void test_longjmp(void **state)
{
    (void)state;
    /* the jmp_buf at rdi: rbx there, rbp in r9, the stack pointer in r8, where it goes in rdx */
    COMPILE(0x0c, 5, 0, 0x05, 3, 0, 0x09, 6, 9, 0x09, 7, 8, 0x09, 16, 1);
    const struct pp_unwind_rule *rule = rule_at(0x100);
    assert_int_equal(rule->cfa_kind, PP_CFA_REGISTER);
    assert_int_equal(rule->cfa_register, 8);
    assert_int_equal(rule->cfa_offset, 0);
    assert_int_equal(rule->in_register, 1u << PP_TRACKED_RA | 1u << PP_TRACKED_FP);
    assert_int_equal(rule->where[PP_TRACKED_RA], 1);
    assert_int_equal(rule->where[PP_TRACKED_FP], 9);
    assert_int_equal(rule->lost, 1u << PP_TRACKED_RBX);
}

static void test_damage_ends_in_invalid(void **state)
{
    (void)state;
    COMPILE(0x41, 0x0e, 16, 0x41, 0x3d, 0, 0, 0); /* unknown instruction */
    assert_int_equal(rule_at(0x101)->cfa_offset, 16);
    assert_int_equal(rule_at(0x102)->cfa_kind, PP_CFA_INVALID);
    COMPILE(0x41, 0x0b); /* restore without remember */
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_REGISTER);
    assert_int_equal(rule_at(0x101)->cfa_kind, PP_CFA_INVALID);
    COMPILE(0x41, 0x0e, 0x80); /* cut short */
    assert_int_equal(rule_at(0x101)->cfa_kind, PP_CFA_INVALID);
    uint8_t remembers[40];
    memset(remembers, 0x0a, sizeof remembers);
    compile("zR", remembers, sizeof remembers);
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_INVALID);
    /* A signal frame that does not look like the kernel's. */
    compile("zRS", (const uint8_t[]){0}, 1);
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_INVALID);
}

static void sum_flags(struct pp_module *module, void *arg)
{
    *(uint32_t *)arg |= module->flags;
}

static struct pp_module *libc_module(void)
{
    pp_modules_refresh(PP_ROWS_ALL);
    struct pp_module *module = pp_module_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_non_null(module);
    return module;
}

static void test_libc_is_complete(void **state)
{
    (void)state;
    struct pp_module *module = libc_module();
    const struct pp_unwind_rows *rows = &module->private->rows;
    uint32_t count; /* of the search table: after the version, three encodings and a pointer */
    memcpy(&count, (const void *)(module->private->object.eh_frame_hdr.start + 8), sizeof count);
    assert_int_equal(rows->functions + rows->damaged_functions, count);
    assert_int_equal(rows->damaged_functions, 0);
    unsigned invalid = 0, signal_frames = 0, outermost = 0;
    for (uint32_t i = 0; i < rows->row_count; i++) {
        const struct pp_unwind_rule *rule = &rows->rules[PP_ROW_RULE(rows->rows[i].rule)];
        invalid += PP_ROW_RULE(rows->rows[i].rule) == PP_RULE_INVALID;
        signal_frames += rule->cfa_kind == PP_CFA_SIGNAL;
        outermost += rule->lost >> PP_TRACKED_RA & 1;
    }
    print_message("libc: %u functions, %u rows, %u rules, %zu bytes, %u invalid rows\n", rows->functions,
                  rows->row_count, rows->rule_count, rows->mapped, invalid);
    assert_true(invalid <= MAX_INVALID * rows->row_count);
    assert_int_equal(signal_frames, 1);
    assert_true(outermost > 0);
    uint32_t flags = 0;
    pp_modules_each(sum_flags, &flags);
    assert_true(flags & PP_MODULE_MAIN);
    assert_true(flags & PP_MODULE_VDSO);
    assert_false(flags & PP_MODULE_PYTHON);
}

static void test_function_range(void **state)
{
    (void)state;
    static const char *const names[] = {"qsort", "malloc", "printf", "strtod", "getaddrinfo", "regcomp"};
    struct pp_module *module = libc_module();
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        uintptr_t address = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]), start = 0, end = 0;
        if (address < module->start || address >= module->end)
            continue; /* somebody else's malloc */
        assert_true(pp_module_function_range(module, address, &start, &end));
        assert_int_equal(start, address);
        uintptr_t same_start = 0, same_end = 0;
        assert_true(end > start && pp_module_function_range(module, end - 1, &same_start, &same_end));
        assert_int_equal(same_start, start);
        assert_int_equal(same_end, end);
    }
    uintptr_t start, end;
    assert_false(pp_module_function_range(module, module->end, &start, &end));
}

/* Whatever the bytes are, rows ascend and refer to rules. */
static void check_rows(const struct pp_unwind_rows *rows, uintptr_t start, size_t size)
{
    struct pp_module_range range = range_of(rows, start, size);
    assert_int_equal(rows->rows[0].pc, 0);
    for (uint32_t i = 0; i < rows->row_count; i++) {
        assert_true(i == 0 || rows->rows[i].pc > rows->rows[i - 1].pc);
        assert_true(PP_ROW_RULE(rows->rows[i].rule) < rows->rule_count);
    }
    for (size_t offset = 0; offset < size; offset += 4099) {
        uint32_t row = pp_unwind_find_row(&range, (uint32_t)offset);
        assert_true(rows->rows[row].pc <= offset);
        assert_true(row + 1 == rows->row_count || rows->rows[row + 1].pc > offset);
    }
}

static void test_damaged_libm(void **state)
{
    (void)state;
    void *handle = dlopen("libm.so.6", RTLD_NOW);
    assert_non_null(handle);
    pp_modules_refresh(PP_ROWS_ALL);
    struct pp_module *module = pp_module_find((uintptr_t)dlsym(handle, "cbrt"));
    assert_non_null(module);
    const struct pp_loaded_object *object = &module->private->object;
    size_t hdr_size = object->eh_frame_hdr.end - object->eh_frame_hdr.start;
    struct pp_eh_frame_hdr parsed;
    struct pp_section_copy hdr = {(const uint8_t *)object->eh_frame_hdr.start, hdr_size, object->eh_frame_hdr.start};
    assert_true(pp_eh_frame_hdr_parse(&hdr, &parsed));
    size_t size = object->eh_segment.end - parsed.eh_frame;
    uint8_t *hdr_bytes = pp_map(hdr_size), *bytes = pp_map(size);
    srand(1);
    for (unsigned run = 0; run < DAMAGE_RUNS; run++) {
        assert_true(pp_safe_copy(hdr_bytes, hdr.address, hdr_size) && pp_safe_copy(bytes, parsed.eh_frame, size));
        for (unsigned n = 0; n < 1u << run % 10; n++) {
            if (run % 2)
                bytes[(size_t)rand() % size] = (uint8_t)rand();
            else
                hdr_bytes[4 + (size_t)rand() % (hdr_size - 4)] ^= (uint8_t)(1 << rand() % 8);
        }
        size_t cut = run % 3 ? size : (size_t)rand() % size;
        struct pp_section_copy damaged_hdr = {hdr_bytes, hdr_size, hdr.address};
        struct pp_section_copy damaged = {bytes, cut, parsed.eh_frame};
        struct pp_unwind_rows rows;
        if (!pp_unwind_rows_compile(run % 5 ? &damaged_hdr : NULL, &damaged, module->start, module->end, 0, NULL,
                                    &rows))
            continue;
        check_rows(&rows, module->start, module->end - module->start);
        pp_unmap(rows.mapping, rows.mapped);
    }
    pp_unmap(hdr_bytes, hdr_size);
    pp_unmap(bytes, size);
    dlclose(handle);
}

static bool yes(void)
{
    return true;
}

static unsigned gate_depth, gate_entered;
static void enter_gate(void)
{
    assert_int_equal(gate_depth++, 0);
    gate_entered++;
}
static void leave_gate(void)
{
    assert_int_equal(--gate_depth, 0);
}

static void test_load_and_unload(void **state)
{
    (void)state;
    static const struct pp_gate gate = {enter_gate, leave_gate, NULL};
    pp_modules_set_gate(&gate);
    libc_module();
    assert_false(pp_modules_refresh(PP_ROWS_ALL));
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    uintptr_t address = (uintptr_t)dlsym(handle, "crc32");
    assert_null(pp_module_find(address));
    assert_true(pp_modules_refresh(PP_ROWS_ALL));
    struct pp_module *module = pp_module_find(address);
    assert_non_null(module);
    assert_true(module->private->rows.row_count > 0);
    uint32_t kept = libc_module()->private->number;
    dlclose(handle);
    assert_true(pp_modules_refresh(PP_ROWS_ALL));
    assert_null(pp_module_find(address));
    assert_int_equal(libc_module()->private->number, kept);
    pp_modules_reclaim(yes);
    assert_true(gate_entered > 0);
    assert_int_equal(gate_depth, 0);
}

static void test_after_fork(void **state)
{
    (void)state;
    libc_module();
    pid_t child = fork();
    if (child == 0) {
        pp_modules_after_fork();
        pp_modules_refresh(PP_ROWS_ALL);
        void *handle = dlopen("libz.so.1", RTLD_NOW);
        pp_modules_refresh(PP_ROWS_ALL);
        pp_modules_reclaim(yes);
        struct pp_module *module = handle ? pp_module_find((uintptr_t)dlsym(handle, "crc32")) : NULL;
        _exit(!handle || (module && module->private->rows.row_count) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Containers may deny process_vm_readv: rows are compiled all the same. */
static void test_denied_system_call(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof code / sizeof code[0], code};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(77);
        void *handle = dlopen("libz.so.1", RTLD_NOW);
        pp_modules_refresh(PP_ROWS_ALL);
        struct pp_module *module = handle ? pp_module_find((uintptr_t)dlsym(handle, "crc32")) : NULL;
        char byte;
        bool faulted = pp_safe_copy(&byte, 16, 1);
        _exit(!faulted && (!handle || (module && module->private->rows.row_count)) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_prologue),
        cmocka_unit_test(test_realigned),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_return_address),
        cmocka_unit_test(test_longjmp),
        cmocka_unit_test(test_damage_ends_in_invalid),
        cmocka_unit_test(test_libc_is_complete),
        cmocka_unit_test(test_function_range),
        cmocka_unit_test(test_damaged_libm),
        cmocka_unit_test(test_load_and_unload),
        cmocka_unit_test(test_after_fork),
        cmocka_unit_test(test_denied_system_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
