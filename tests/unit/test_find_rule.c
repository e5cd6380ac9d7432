/* Finding rules: hand-made CFI, the CFI of what is loaded here, and damaged CFI. */
#include "../../preload/base/arena.h"
#include "../../preload/base/process.h"
#include "../../preload/base/safe_copy.h"
#include "../../preload/capture/native_walk.h"
#include "../../preload/common/log_format.h"
#include "../../preload/modules/module_list.h"
#include "made_eh_frame.h"
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

#define MAX_INVALID 0.001 /* of the rules of libc */
#define DAMAGE_RUNS 300
#define DAMAGE_PCS  200
/* Damaged entries lead anywhere that can be read; AddressSanitizer has memory of its own there. */
#ifdef __SANITIZE_ADDRESS__
#define IN_PLACE false
#else
#define IN_PLACE true
#endif

static struct made_eh_frame made;

/* One function, at 0x100 to 0x200. */
static void compile(const char *augmentation, const uint8_t *code, size_t size)
{
    made_start(&made, augmentation);
    made_function(&made, code, size);
}
#define COMPILE(...) compile("zR", (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* What is found by copies and in place is equal. */
static const struct pp_found_rule *found_at(uint32_t offset)
{
    static struct pp_rule_finder finders[2];
    static struct pp_found_rule found[2];
    for (int stays = 0; stays < 2; stays++) {
        struct pp_module_range range = made_range(&made, stays);
        memset(&finders[stays], 0, sizeof finders[stays]);
        pp_find_rule(&finders[stays], &range, range.start + offset, &found[stays]);
    }
    assert_memory_equal(&found[0], &found[1], sizeof found[0]);
    return &found[0];
}

static const struct pp_unwind_rule *rule_at(uint32_t offset)
{
    return &found_at(offset)->rule;
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
    assert_int_equal(found_at(0x180)->from, (uintptr_t)made.text + 0x100);
    assert_int_equal(found_at(0x180)->to, (uintptr_t)made.text + 0x200);
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
    struct pp_unwind_rule body = *rule_at(0x104);
    assert_memory_equal(rule_at(0x115), &body, sizeof body);
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

static void test_long_entry(void **state)
{
    (void)state;
    uint8_t code[3000] = {0};
    code[2997] = 0x41; /* past what is read at first */
    code[2998] = 0x0e;
    code[2999] = 16;
    compile("zR", code, sizeof code);
    assert_int_equal(rule_at(0x100)->cfa_offset, 8);
    assert_int_equal(rule_at(0x101)->cfa_offset, 16);
}

static void sum_flags(struct pp_module *module, void *arg)
{
    *(uint32_t *)arg |= module->flags;
}

static struct pp_module *libc_module(void)
{
    pp_modules_refresh();
    struct pp_module *module = pp_module_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_non_null(module);
    return module;
}

static void test_libc_is_complete(void **state)
{
    (void)state;
    static struct pp_rule_finder finder;
    struct pp_module_range range = pp_module_range_for(libc_module());
    assert_true(range.stays);
    uint32_t count; /* of the search table: after the version, three encodings and a pointer */
    memcpy(&count, (const void *)(range.eh_frame_hdr + 8), sizeof count);
    const struct pp_table_entry *entries = (const void *)(range.eh_frame_hdr + 12);
    unsigned rules = 0, invalid = 0, signal_frames = 0, outermost = 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t start = range.eh_frame_hdr + (uintptr_t)(intptr_t)entries[i].function;
        struct pp_fde function;
        assert_true(pp_find_function(&finder, &range, start, &function));
        assert_int_equal(function.start, start);
        struct pp_found_rule found;
        for (uintptr_t pc = start; pc < function.end; pc = found.to) {
            pp_find_rule(&finder, &range, pc, &found);
            assert_int_equal(found.from, pc);
            assert_true(found.to > pc && found.to <= function.end);
            bool ends = found.rule.lost >> PP_TRACKED_RA & 1;
            rules++;
            invalid += found.rule.cfa_kind == PP_CFA_INVALID && !ends;
            signal_frames += found.rule.cfa_kind == PP_CFA_SIGNAL;
            outermost += ends;
        }
    }
    print_message("libc: %u functions, %u rules, %u invalid\n", count, rules, invalid);
    assert_true(invalid <= MAX_INVALID * rules);
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

static size_t copy_readable(uint8_t *to, uintptr_t from, size_t most)
{
    size_t size = 0;
    while (size < most && pp_safe_copy(to + size, from + size, 256))
        size += 256;
    return size;
}

/* Whatever the bytes are, a rule can be followed and holds for the address. */
static void check_found(const struct pp_found_rule *found, uintptr_t pc)
{
    const struct pp_unwind_rule *rule = &found->rule;
    assert_true(found->from <= pc && pc < found->to);
    assert_true(rule->cfa_kind <= PP_CFA_SIGNAL);
    assert_false(rule->saved & rule->in_register);
    assert_false(rule->saved & rule->lost);
    assert_false(rule->from_base & ~rule->saved);
}

static void test_damaged_libm(void **state)
{
    (void)state;
    static struct pp_rule_finder finder;
    void *handle = dlopen("libm.so.6", RTLD_NOW);
    assert_non_null(handle);
    pp_modules_refresh();
    struct pp_module *module = pp_module_find((uintptr_t)dlsym(handle, "cbrt"));
    assert_non_null(module);
    struct pp_module_range range = pp_module_range_for(module);
    size_t most = (size_t)1 << 17, hdr_size = 8192;
    uint8_t *bytes = pp_map(most);
    /* a copy at another place describes code at the same distance */
    uintptr_t moved = (uintptr_t)bytes - range.eh_frame_hdr, hdr = range.eh_frame_hdr;
    range.start += moved;
    range.end += moved;
    range.eh_frame_hdr += moved;
    srand(1);
    unsigned usable = 0;
    for (unsigned run = 0; run < DAMAGE_RUNS; run++) {
        size_t size = copy_readable(bytes, hdr, most);
        assert_true(size > hdr_size);
        for (unsigned n = 0; n < 1u << run % 10; n++) {
            if (run % 2)
                bytes[(size_t)rand() % size] = (uint8_t)rand();
            else
                bytes[4 + (size_t)rand() % (hdr_size - 4)] ^= (uint8_t)(1 << rand() % 8);
        }
        range.stays = run % 3 == 0 && IN_PLACE;
        pp_rule_finder_forget(&finder);
        for (unsigned n = 0; n < DAMAGE_PCS; n++) {
            struct pp_found_rule found;
            uintptr_t pc = range.start + (uintptr_t)rand() % (range.end - range.start);
            pp_find_rule(&finder, &range, pc, &found);
            check_found(&found, pc);
            usable += found.rule.cfa_kind != PP_CFA_INVALID;
        }
    }
    assert_true(usable > DAMAGE_RUNS * DAMAGE_PCS / 10);
    pp_unmap(bytes, most);
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

static bool has_rule(const struct pp_module *module, uintptr_t address)
{
    static struct pp_rule_finder finder;
    struct pp_module_range range = pp_module_range_for(module);
    struct pp_found_rule found;
    pp_rule_finder_forget(&finder);
    pp_find_rule(&finder, &range, address, &found);
    return found.rule.cfa_kind == PP_CFA_REGISTER;
}

static void test_load_and_unload(void **state)
{
    (void)state;
    pp_modules_set_gate(enter_gate, leave_gate);
    libc_module();
    assert_false(pp_modules_refresh());
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    uintptr_t address = (uintptr_t)dlsym(handle, "crc32");
    assert_null(pp_module_find(address));
    assert_true(pp_modules_refresh());
    struct pp_module *module = pp_module_find(address);
    assert_non_null(module);
    assert_true(has_rule(module, address));
    assert_false(pp_module_range_for(module).stays);
    struct pp_module *kept = libc_module();
    uint32_t generation = atomic_load(&pp_module_table)->generation;
    dlclose(handle);
    assert_true(pp_modules_refresh());
    assert_null(pp_module_find(address));
    assert_ptr_equal(libc_module(), kept);
    assert_int_not_equal(atomic_load(&pp_module_table)->generation, generation);
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
        atomic_store(&pp_process.pid, getpid());
        pp_modules_after_fork();
        pp_modules_refresh();
        void *handle = dlopen("libz.so.1", RTLD_NOW);
        pp_modules_refresh();
        pp_modules_reclaim(yes);
        uintptr_t address = handle ? (uintptr_t)dlsym(handle, "crc32") : 0;
        struct pp_module *module = pp_module_find(address);
        _exit(!handle || (module && has_rule(module, address)) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A module whose sections are not there any more. */
static bool has_rule_at_nothing(void)
{
    static struct pp_rule_finder finder;
    struct pp_module_range range = {0x10000, 0x20000, 0x8000, false};
    struct pp_found_rule found;
    pp_find_rule(&finder, &range, 0x11000, &found);
    return found.rule.cfa_kind != PP_CFA_INVALID;
}

/* Containers may deny process_vm_readv: rules are found all the same. */
static void test_denied_system_call(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        atomic_store(&pp_process.pid, getpid());
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
        pp_modules_refresh();
        uintptr_t address = handle ? (uintptr_t)dlsym(handle, "crc32") : 0;
        struct pp_module *module = pp_module_find(address);
        char byte;
        bool faulted = pp_safe_copy(&byte, 16, 1);
        _exit(!faulted && (!handle || (module && has_rule(module, address))) && !has_rule_at_nothing() ? 0 : 1);
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
    atomic_store(&pp_process.pid, getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_prologue),
        cmocka_unit_test(test_realigned),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_return_address),
        cmocka_unit_test(test_longjmp),
        cmocka_unit_test(test_damage_ends_in_invalid),
        cmocka_unit_test(test_long_entry),
        cmocka_unit_test(test_libc_is_complete),
        cmocka_unit_test(test_function_range),
        cmocka_unit_test(test_damaged_libm),
        cmocka_unit_test(test_load_and_unload),
        cmocka_unit_test(test_after_fork),
        cmocka_unit_test(test_denied_system_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
