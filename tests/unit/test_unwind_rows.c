/* The row compiler: hand-made CFI, the CFI of what is loaded here, and damaged CFI. */
#include "../../preload/base/arena.h"
#include "../../preload/base/safe_copy.h"
#include "../../preload/capture/native_walk.h"
#include "../../preload/common/log_format.h"
#include "../../preload/modules/module_list.h"
#include "made_eh_frame.h"
#include "unit.h"
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_INVALID 0.001 /* of the rows of libc */
#define DAMAGE_RUNS 300
#define DAMAGE_PCS  200

static struct made_eh_frame made;
static struct pp_unwind_draft draft;
static struct pp_module_range range;

/* Meets one function, at 0x100 to 0x200, and what is before and after it. */
static void compile(const char *augmentation, const uint8_t *code, size_t size)
{
    static uint8_t memory[8192];
    memset(memory, 0, sizeof memory);
    made_start(&made, memory, augmentation);
    made_function(&made, 0x100, 0x100, code, size);
    struct pp_unwind_source source = made_source(&made);
    range = made_range(&made);
    pp_unwind_draft_free(&draft);
    assert_true(pp_unwind_draft_start(&draft, &range));
    assert_true(pp_unwind_draft_add(&draft, &source, source.text_start + 0x180));
    assert_true(pp_unwind_draft_add(&draft, &source, source.text_start));
    pp_unwind_draft_show(&draft, &range);
}
#define COMPILE(...) compile("zR", (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static const struct pp_unwind_rule *rule_at(uint32_t offset)
{
    return &range.rules[PP_ROW_RULE(range.rows[pp_unwind_find_row(&range, offset)].rule)];
}

TEST(test_gaps)
{
    COMPILE(0);
    assert_int_equal(rule_at(0)->cfa_kind, PP_CFA_INVALID);
    assert_int_equal(rule_at(0xff)->cfa_kind, PP_CFA_INVALID);
    assert_int_equal(rule_at(0x100)->cfa_kind, PP_CFA_REGISTER);
    assert_int_equal(rule_at(0x1ff)->cfa_offset, 8);
    assert_int_equal(rule_at(0x200)->cfa_kind, PP_CFA_INVALID);
    assert_int_equal(range.row_count, 4); /* the last is the end of what is known */
}

TEST(test_prologue)
{
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

TEST(test_realigned)
{
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

TEST(test_expressions)
{
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

TEST(test_return_address)
{
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

TEST(test_longjmp)
{
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

TEST(test_damage_ends_in_invalid)
{
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
    pp_modules_refresh();
    struct pp_module *module = pp_module_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_non_null(module);
    return module;
}

/* Meets all functions of the module's search table. Returns how many entries that has. */
static uint32_t meet_all(const struct pp_module *module)
{
    uintptr_t hdr = module->private->object.eh_frame_hdr.start;
    uint32_t count; /* after the version, three encodings and a pointer */
    memcpy(&count, (const void *)(hdr + 8), sizeof count);
    const int32_t(*entries)[2] = (const void *)(hdr + 12);
    for (uint32_t i = 0; i < count; i++)
        assert_true(pp_module_add_sampled(hdr + (uintptr_t)(intptr_t)entries[i][0]));
    return count;
}

static struct pp_module_range range_of(const struct pp_module *module)
{
    const struct pp_module_table *table = pp_modules_draft();
    assert_non_null(table);
    for (uint32_t i = 0; i < table->count; i++)
        if (table->ranges[i].start == module->start)
            return table->ranges[i];
    fail_msg("%s is not in the table", module->path);
    return (struct pp_module_range){0};
}

TEST(test_libc_is_complete)
{
    struct pp_module *module = libc_module();
    uint32_t count = meet_all(module);
    struct pp_module_range all = range_of(module);
    unsigned functions = 0, invalid = 0, signal_frames = 0, outermost = 0;
    for (uint32_t i = 0; i < all.row_count; i++) {
        const struct pp_unwind_rule *rule = &all.rules[PP_ROW_RULE(all.rows[i].rule)];
        functions += all.rows[i].rule >> 31;
        invalid += PP_ROW_RULE(all.rows[i].rule) == PP_RULE_INVALID;
        signal_frames += rule->cfa_kind == PP_CFA_SIGNAL;
        outermost += rule->lost >> PP_TRACKED_RA & 1;
    }
    print_message("libc: %u functions, %u rows, %u rules, %u invalid rows\n", functions, all.row_count, all.rule_count,
                  invalid);
    assert_int_equal(functions, count);
    assert_true(invalid <= MAX_INVALID * all.row_count);
    assert_int_equal(signal_frames, 1);
    assert_true(outermost > 0);
    uint32_t flags = 0;
    pp_modules_each(sum_flags, &flags);
    assert_true(flags & PP_MODULE_MAIN);
    assert_true(flags & PP_MODULE_VDSO);
    assert_false(flags & PP_MODULE_PYTHON);
}

TEST(test_function_range)
{
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
    /* code that no FDE has, below all functions, is in none */
    static const struct pp_unwind_row rows[] = {{0, PP_RULE_UNKNOWN}, {0x40, PP_RULE_INVALID}, {0x41, PP_RULE_UNKNOWN}};
    static const uint32_t blocks[] = {0, 2, 2};
    struct pp_module_range few = {.end = 0x100, .rows = rows, .row_count = 3, .blocks = blocks, .block_shift = 31};
    uint32_t from, to;
    assert_false(pp_unwind_rows_function(&few, 0x40, &from, &to));
}

/* Whatever the bytes are, rows ascend and refer to rules. */
static void check_rows(const struct pp_module_range *rows)
{
    assert_int_equal(rows->rows[0].pc, 0);
    for (uint32_t i = 0; i < rows->row_count; i++) {
        assert_true(i == 0 || rows->rows[i].pc > rows->rows[i - 1].pc);
        assert_true(PP_ROW_RULE(rows->rows[i].rule) < rows->rule_count);
    }
    for (uintptr_t offset = 0; offset < rows->end - rows->start; offset += 4099) {
        uint32_t row = pp_unwind_find_row(rows, (uint32_t)offset);
        assert_true(rows->rows[row].pc <= offset);
        assert_true(row + 1 == rows->row_count || rows->rows[row + 1].pc > offset);
    }
}

/* libm's header and entries, in a copy that describes code at the same distance from it. */
TEST(test_damaged_libm)
{
    void *handle = dlopen("libm.so.6", RTLD_NOW);
    assert_non_null(handle);
    pp_modules_refresh();
    struct pp_module *module = pp_module_find((uintptr_t)dlsym(handle, "cbrt"));
    assert_non_null(module);
    const struct pp_loaded_object *object = &module->private->object;
    uintptr_t from = object->eh_frame_hdr.start;
    size_t size = object->eh_segment.end - from, hdr_size = object->eh_frame_hdr.end - from;
    uint8_t *bytes = pp_map(size);
    uintptr_t moved = (uintptr_t)bytes - from;
    struct pp_module_range rows = {.start = module->start + moved, .end = module->end + moved};
    srand(1);
    for (unsigned run = 0; run < DAMAGE_RUNS; run++) {
        assert_true(pp_safe_copy(bytes, from, size));
        for (unsigned n = 0; n < 1u << run % 10; n++) {
            if (run % 2)
                bytes[hdr_size + (size_t)rand() % (size - hdr_size)] = (uint8_t)rand();
            else
                bytes[4 + (size_t)rand() % (hdr_size - 4)] ^= (uint8_t)(1 << rand() % 8);
        }
        struct pp_fde_index index = {0};
        struct pp_unwind_source source = {
            .text_start = rows.start,
            .text_end = rows.end,
            .hdr_start = (uintptr_t)bytes,
            .hdr_end = (uintptr_t)bytes + hdr_size,
            .segment_end = (uintptr_t)bytes + (run % 3 ? size : (size_t)rand() % size),
            .index = &index,
        };
        pp_unwind_draft_free(&draft);
        rows.row_count = 0;
        assert_true(pp_unwind_draft_start(&draft, &rows));
        for (unsigned n = 0; n < DAMAGE_PCS; n++)
            assert_true(pp_unwind_draft_add(&draft, &source, rows.start + (uintptr_t)rand() % (rows.end - rows.start)));
        pp_unwind_draft_show(&draft, &rows);
        check_rows(&rows);
        pp_vector_free(&index.functions);
    }
    pp_unwind_draft_free(&draft);
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

static bool has_rows(struct pp_module *module, uintptr_t address)
{
    uintptr_t start, end;
    return module && pp_module_function_range(module, address, &start, &end) && start <= address && address < end;
}

TEST(test_load_and_unload)
{
    pp_loaded_objects_set_gate(enter_gate, leave_gate);
    libc_module();
    assert_false(pp_modules_refresh());
    void *handle = dlopen("libz.so.1", RTLD_NOW);
    if (!handle)
        skip();
    uintptr_t address = (uintptr_t)dlsym(handle, "crc32");
    assert_null(pp_module_find(address));
    assert_true(pp_modules_refresh());
    assert_true(has_rows(pp_module_find(address), address));
    struct pp_module *kept = libc_module();
    dlclose(handle);
    assert_true(pp_modules_refresh());
    assert_null(pp_module_find(address));
    assert_ptr_equal(libc_module(), kept);
    pp_modules_reclaim(yes);
    assert_true(gate_entered > 0);
    assert_int_equal(gate_depth, 0);
}

TEST(test_after_fork)
{
    libc_module();
    pid_t child = fork();
    if (child == 0) {
        pp_modules_after_fork();
        pp_modules_refresh();
        void *handle = dlopen("libz.so.1", RTLD_NOW);
        pp_modules_refresh();
        pp_modules_reclaim(yes);
        uintptr_t address = handle ? (uintptr_t)dlsym(handle, "crc32") : 0;
        _exit(!handle || has_rows(pp_module_find(address), address) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Containers may deny process_vm_readv: rows are compiled all the same. */
TEST(test_denied_system_call)
{
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
        pp_modules_refresh();
        uintptr_t address = handle ? (uintptr_t)dlsym(handle, "crc32") : 0;
        char byte;
        bool faulted = pp_safe_copy(&byte, 16, 1);
        _exit(!faulted && (!handle || has_rows(pp_module_find(address), address)) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}
