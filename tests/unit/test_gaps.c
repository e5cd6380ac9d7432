/* Assembly without unwind information, or with a wrong one, on AArch64. OpenSSL's has none there: its instructions tell
 * the way to its caller, at an instruction that was interrupted as well as at a call. glibc leaves out what a PLT has
 * pushed, and takes a jmp_buf for a frame. */
#include "../../preload/modules/modules.h"
#include "context_registers.h"
#include "preload/capture/native_walk.h"
#include "thread_stack.h"
#include "unit.h"
#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stdatomic.h>

#define FRAMES        64
#define FUNCTION_SIZE 128

static uintptr_t function, caller_sp; /* what is walked, and the stack pointer that it was called with */
static unsigned walks, whole;

/* Walks as the library does, which compiles what a walk stops at. */
static struct pp_native_stack walk(const ucontext_t *context, uintptr_t stack_top, struct pp_native_frame *frames)
{
    const struct pp_module_table *published = atomic_load(&pp_module_table);
    struct pp_native_stack stack;
    struct pp_walk_state stopped;
    do {
        stack = (struct pp_native_stack){.frames = frames, .stopped = &stopped, .max = FRAMES};
        atomic_store(&pp_module_table, pp_modules_draft());
        pp_native_walk(context, stack_top, &stack);
        atomic_store(&pp_module_table, published);
    } while (stack.continuable && pp_module_add_stopped(frames[stack.count - 1].ip, !stopped.exact));
    return stack;
}

/* Whether the stack is whole, and the function's caller is found. */
static bool walks_past(const ucontext_t *context)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_native_stack stack = walk(context, thread_stack_top(), frames);
    unsigned at = 0;
    while (at < stack.count && (frames[at].ip < function || frames[at].ip >= function + FUNCTION_SIZE))
        at++;
    return stack.reason == PP_REASON_NONE && at + 2 < stack.count && frames[at].cfa == caller_sp;
}

/* As OpenSSL's functions begin and end: by_frame restores registers by the frame pointer, from_frame the stack pointer
 * too, and leaf has no frame. Each is interrupted where it reads at 0, and by_frame calls x0 as well. */
__asm__(".text\n"
        ".globl by_frame, from_frame, leaf, runs_on, described, in_described\n"
        ".balign 64\n"
        "nop\n"
        "by_frame: hint #25\n" /* paciasp */
        "stp x29, x30, [sp, #-64]!\n"
        "mov x29, sp\n"
        "stp x19, x20, [sp, #16]\n"
        "stp x21, x22, [sp, #32]\n"
        "mov x19, #1\n"
        "mov x20, #2\n"
        "mov x21, #3\n"
        "mov x22, #4\n"
        "mov x9, #0\n"
        "sub sp, sp, #32\n"
        "ldr xzr, [x9]\n"
        "blr x0\n"
        "ldp x19, x20, [x29, #16]\n"
        "add sp, sp, #32\n"
        "ldp x21, x22, [x29, #32]\n"
        "ldp x29, x30, [sp], #64\n"
        "hint #29\n" /* autiasp */
        "ret\n"
        "from_frame: stp x29, x30, [sp, #-32]!\n"
        "mov x29, sp\n"
        "stp x19, x20, [sp, #16]\n"
        "mov x19, sp\n"
        "sub x19, x19, x0\n"
        "and x19, x19, #-16\n"
        "mov sp, x19\n"
        "mov x20, #2\n"
        "mov x9, #0\n"
        "ldr xzr, [x9]\n"
        "ldr x20, [sp]\n"
        "ldp x19, x20, [x29, #16]\n"
        "mov sp, x29\n"
        "ldr x29, [sp], #32\n"
        "ret\n"
        "leaf: mov x1, #4\n"
        "mov x9, #0\n"
        "1: subs x1, x1, #1\n"
        "ldr xzr, [x9]\n"
        "b.ne 1b\n"
        "ret\n"
        ".balign 64\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "nop\n"
        "runs_on: mul x0, x0, x0\n"
        "described: .cfi_startproc\n"
        "mul x0, x0, x0\n"
        "cbz x0, 1f\n"
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "in_described: bl leaf\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa_offset 0\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        "br x3\n"
        "1: ret\n"
        ".cfi_endproc\n"
        ".balign 64\n");
extern const char runs_on[], described[], in_described[];
void by_frame(void (*function)(void));
void from_frame(unsigned long size);
void leaf(void);

static void on_signal(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)info;
    walks++;
    whole += walks_past(interrupted);
    if (number == SIGSEGV)
        interrupted->uc_mcontext.pc += 4;
}

static void raise_signal(void)
{
    raise(SIGUSR1);
}

__attribute__((noinline)) static void call_all(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    caller_sp = sp;
    function = (uintptr_t)by_frame;
    by_frame(raise_signal);
    assert_int_equal(walks, 2);
    assert_int_equal(whole, 2);
    function = (uintptr_t)from_frame;
    from_frame(4096);
    assert_int_equal(walks, 3);
    assert_int_equal(whole, 3);
    function = (uintptr_t)leaf;
    leaf();
    assert_int_equal(walks, 7);
    assert_int_equal(whole, 7);
}

TEST(instructions_tell_the_caller)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pp_modules_refresh();
    call_all();
}

extern const Elf64_Dyn _DYNAMIC[];

/* Where the program's PLT has calls resolved that have not been made yet. */
static const uint32_t *resolver(void)
{
    for (const Elf64_Dyn *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_PLTGOT)
            return ((const uint32_t *const *)entry->d_un.d_ptr)[2];
    return NULL;
}

#define WORDS  64
#define FRAME  26 /* words that the resolver pushes */
#define CALLER ((uintptr_t)instructions_tell_the_caller + 4)

static bool is_call(uint32_t instruction)
{
    return (instruction & 0xfc000000u) == 0x94000000u;
}

/* The first entry of the PLT has pushed two words before it comes there, of which the other one is the return address.
 */
TEST(what_a_linkage_table_has_pushed_is_no_part_of_the_resolvers_caller)
{
    uintptr_t words[WORDS] = {[FRAME + 1] = CALLER};
    struct pp_native_frame frames[FRAMES];
    ucontext_t context = {0};
    const uint32_t *code = resolver();
    if (!code)
        skip(); /* all is resolved at the start */
    pp_modules_refresh();
    while (!is_call(*code))
        code++;
    put_pc(&context, (uintptr_t)code);
    put_register(&context, PP_REG_SP, (uintptr_t)words);
    struct pp_native_stack stack = walk(&context, (uintptr_t)&words[WORDS], frames);
    assert_true(stack.count > 1 && frames[0].ip == (uintptr_t)code);
    assert_int_equal(frames[0].cfa, (uintptr_t)&words[FRAME + 2]);
    assert_int_equal(frames[1].ip, CALLER - 1);
}

/* Whichever of its instructions is interrupted, setcontext's caller is found by the stack pointer, or not at all: never
 * by the context that is set. */
TEST(a_context_is_no_frame)
{
    uintptr_t words[2 * WORDS] = {0}, code = (uintptr_t)dlsym(RTLD_DEFAULT, "setcontext");
    struct pp_native_frame frames[FRAMES];
    unsigned stopped = 0;
    ucontext_t context = {0};
    assert_true(code);
    for (unsigned i = 0; i < 2 * WORDS; i++)
        words[i] = CALLER;
    pp_modules_refresh();
    put_register(&context, 0, (uintptr_t)&words[WORDS]);
    put_register(&context, PP_REG_SP, (uintptr_t)words);
    put_register(&context, PP_REG_RA, CALLER);
    for (unsigned i = 0; i < 32; i++, code += 4) {
        put_pc(&context, code);
        struct pp_native_stack stack = walk(&context, (uintptr_t)&words[2 * WORDS], frames);
        assert_true(stack.count == 1 || frames[0].cfa < (uintptr_t)&words[WORDS]);
        stopped += stack.reason == PP_REASON_NATIVE_NO_RULE && stack.count == 1;
    }
    assert_true(stopped > 10);
}

/* Where the caller is cannot be told: helpers push and pop for theirs, stgp is of Armv8.5, x29 is no frame pointer, and
 * exit does not return. */
__asm__(".text\n"
        ".globl before_pushes, before_pops, before_stgp, before_ld1, before_exit\n"
        ".balign 64\n"
        "nop\n"
        "pushes: stp x19, x20, [sp, #-16]!\n"
        "ret\n"
        "pops: mov x16, x30\n"
        "ldp x19, x20, [sp], #16\n"
        "ret x16\n"
        "before_pushes: mul x0, x0, x0\n"
        "bl pushes\n"
        "ldp x29, x30, [sp, #16]\n"
        "add sp, sp, #32\n"
        "ret\n"
        "before_pops: mul x0, x0, x0\n"
        "bl pops\n"
        "ldp x29, x30, [sp], #16\n"
        "ret\n"
        "before_stgp: .inst 0x69bf7fff\n" /* stgp xzr, xzr, [sp, #-32]! */
        "add sp, sp, #32\n"
        "ret\n"
        "before_ld1: ld1 {v0.16b}, [x29], #16\n"
        "ldr x30, [x29, #8]\n"
        "ldr x29, [sp], #16\n"
        "ret\n"
        "before_exit: mov x8, #93\n"
        "svc #0\n"
        "ret\n"
        ".balign 64\n");
extern const char before_pushes[], before_pops[], before_stgp[], before_ld1[], before_exit[];

static bool is_cut_at(const char *code)
{
    uintptr_t words[WORDS];
    struct pp_native_frame frames[FRAMES];
    ucontext_t context = {0};
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = CALLER;
    put_pc(&context, (uintptr_t)code);
    put_register(&context, PP_REG_SP, (uintptr_t)words);
    put_register(&context, PP_REG_FP, (uintptr_t)words);
    put_register(&context, PP_REG_RA, CALLER);
    struct pp_native_stack stack = walk(&context, (uintptr_t)&words[WORDS], frames);
    return stack.reason == PP_REASON_NATIVE_NO_RULE && stack.count == 1;
}

TEST(what_the_instructions_do_not_tell_is_cut)
{
    pp_modules_refresh();
    assert_true(is_cut_at(before_pushes));
    assert_true(is_cut_at(before_pops));
    assert_true(is_cut_at(before_stgp));
    assert_true(is_cut_at(before_ld1));
    assert_true(is_cut_at(before_exit));
}

static const struct pp_module_range *range_of(uintptr_t address)
{
    const struct pp_module_table *table = pp_modules_draft();
    for (uint32_t i = 0; i < table->count; i++)
        if (address >= table->ranges[i].start && address < table->ranges[i].end)
            return &table->ranges[i];
    return NULL;
}

/* The instructions of a gap run on into a function that has unwind information: its rows are not the gap's. */
TEST(a_function_after_a_gap_keeps_its_rows)
{
    const uintptr_t start = (uintptr_t)described, inside = (uintptr_t)in_described;
    pp_modules_refresh();
    assert_true(pp_module_add_stopped((uintptr_t)runs_on, false));
    assert_true(pp_module_add_stopped(inside, false));
    const struct pp_module_range *range = range_of(start);
    assert_non_null(range);
    const struct pp_unwind_row *row = &range->rows[pp_unwind_find_row(range, (uint32_t)(start - range->start))];
    assert_int_equal(row->pc, start - range->start);
    assert_true(row->rule & PP_ROW_FUNCTION_START);
    row = &range->rows[pp_unwind_find_row(range, (uint32_t)(inside - range->start))];
    assert_int_equal(range->rules[PP_ROW_RULE(row->rule)].cfa_offset, 16);
}
