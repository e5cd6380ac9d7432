/* A walk that stopped for want of rows continues on a copy of the stack, and finds what the walk of the stack itself
 * finds; on copies of any length it reads nothing outside them and says why it ended. */
#include "../../preload/base/safe_copy.h"
#include "../../preload/capture/capture.h"
#include "../../preload/capture/safe_read.h"
#include "../../preload/capture/slot_memory.h"
#include "../../preload/merge/finish_sample.h"
#include "../../preload/modules/modules.h"
#include "../../preload/unwind/unwind_rows.h"
#include "preload/handler/handler.h"
#include "thread_stack.h"
#include "unit.h"
#include <alloca.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#define FRAMES     256
#define OBJECTS    256
#define PAGE       page_bytes()
#define COPY_MAX   (256u << 10)
#define STACK_SIZE (64u << 10)

static void (*at_bottom)(const ucontext_t *context);

/* Functions with frames of all kinds; each calls the next of the list. */
typedef void chained(unsigned i);
static chained *const links[];
static volatile unsigned sink;
static unsigned sorting, signalling;

#define PLAIN(n)                                                                                                       \
    __attribute__((noinline)) static void plain_##n(unsigned i)                                                        \
    {                                                                                                                  \
        volatile char local[24 * (n) + 8];                                                                             \
        local[0] = local[sizeof local - 1] = (char)i;                                                                  \
        links[i + 1](i + 1);                                                                                           \
        local[1] = local[0];                                                                                           \
    }
#define ALLOCA(n)                                                                                                      \
    __attribute__((noinline)) static void alloca_##n(unsigned i)                                                       \
    {                                                                                                                  \
        char *p = alloca(i * 40 + (n));                                                                                \
        memset(p, 1, i * 40 + (n));                                                                                    \
        links[i + 1](i + 1);                                                                                           \
        sink += (unsigned)p[i + (n) / 2];                                                                              \
    }
#define ALIGNED(n)                                                                                                     \
    __attribute__((noinline)) static void aligned_##n(unsigned i)                                                      \
    {                                                                                                                  \
        _Alignas(64) volatile double lanes[8 + (n)];                                                                   \
        char *p = alloca(i + (n));                                                                                     \
        memset(p, 1, i + (n));                                                                                         \
        lanes[0] = p[i];                                                                                               \
        links[i + 1](i + 1);                                                                                           \
        sink += (unsigned)(lanes[0] + p[0]);                                                                           \
    }
PLAIN(1)
PLAIN(2)
PLAIN(3)
PLAIN(40)
ALLOCA(8)
ALLOCA(100)
ALLOCA(3000)
ALIGNED(1)
ALIGNED(7)
ALIGNED(30)

static int compare(const void *a, const void *b)
{
    (void)a, (void)b;
    links[sorting + 1](sorting + 1);
    return sink > 0;
}

__attribute__((noinline)) static void by_qsort(unsigned i)
{
    int values[2] = {2, 1};
    sorting = i;
    qsort(values, 2, sizeof *values, compare);
    sink += (unsigned)values[0];
}

static void on_signal(int number)
{
    links[signalling + 1](signalling + 1);
    sink += (unsigned)number;
}

#ifdef __aarch64__
/* What the kernel's vDSO has, without unwind information as there: an emulator's is in no object. */
__asm__(".globl restorer\n.hidden restorer\nnop\nrestorer: mov x8, #139\nsvc #0");
extern const char restorer[];

static void handle(int number, void (*handler)(int))
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        const char *restorer;
        unsigned long mask;
    } action = {handler, 0x04000000 /* SA_RESTORER */, restorer, 0};
    assert_int_equal(pp_syscall4(SYS_rt_sigaction, number, (long)&action, 0, sizeof action.mask), 0);
}
#else
static void handle(int number, void (*handler)(int))
{
    signal(number, handler);
}
#endif

void before_all(void)
{
    handle(SIGUSR2, on_signal);
    pp_modules_refresh();
}

__attribute__((noinline)) static void by_signal(unsigned i)
{
    signalling = i;
    raise(SIGUSR2);
    sink += i;
}

__attribute__((noinline)) static void bottom(unsigned i)
{
    ucontext_t context;
    getcontext(&context);
    at_bottom(&context);
    sink += i;
}

static chained *const links[] = {plain_1,  alloca_8,  aligned_1, by_qsort,   plain_2, aligned_7, alloca_100,  by_signal,
                                 plain_40, aligned_1, plain_3,   aligned_30, plain_3, alloca_8,  alloca_3000, bottom};

/* A test that begins at the bottom of these. */
#define AT_BOTTOM(name)                                                                                                \
    static void name(const ucontext_t *context);                                                                       \
    TEST(test_##name)                                                                                                  \
    {                                                                                                                  \
        at_bottom = name;                                                                                              \
        links[0](0);                                                                                                   \
    }                                                                                                                  \
    static void name(const ucontext_t *context)

struct table {
    struct pp_module_table *table;
    struct pp_unwind_row *rows; /* its own of one module */
};

static struct {
    struct pp_native_frame frames[FRAMES];
    struct pp_native_stack stack;
} whole;

static struct pp_native_stack walk_by(const struct pp_module_table *table, const ucontext_t *context,
                                      struct pp_native_frame frames[FRAMES], struct pp_walk_state *stopped)
{
    const struct pp_module_table *published = atomic_load(&pp_module_table);
    struct pp_native_stack stack = {.frames = frames, .stopped = stopped, .max = FRAMES};
    atomic_store(&pp_module_table, table);
    pp_native_walk(context, thread_stack_top(), &stack);
    atomic_store(&pp_module_table, published);
    return stack;
}

static struct pp_module_table *copy_table(const struct pp_module_table *table)
{
    size_t size = sizeof *table + table->count * sizeof *table->ranges;
    struct pp_module_table *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, table, size);
    return copy;
}

/* Meets all functions of the stack; `whole` is then the walk of the stack itself. Returns the table by which it is
 * complete. */
static struct pp_module_table *meet_all(const ucontext_t *context)
{
    struct pp_walk_state stopped;
    for (;;) {
        whole.stack = walk_by(pp_modules_draft(), context, whole.frames, &stopped);
        if (!whole.stack.continuable)
            break;
        assert_true(pp_module_add_sampled(whole.frames[whole.stack.count - 1].ip));
    }
    assert_int_equal(whole.stack.reason, PP_REASON_NONE);
    assert_true(whole.stack.count > sizeof links / sizeof links[0]);
    return copy_table(pp_modules_draft());
}

static struct pp_module_table *without_rows(const struct pp_module_table *table)
{
    struct pp_module_table *copy = copy_table(table);
    for (uint32_t i = 0; i < copy->count; i++)
        copy->ranges[i].row_count = 0;
    return copy;
}

/* A table in which everything but the function that holds the address is known. */
static struct table without_function(const struct pp_module_table *table, uintptr_t address)
{
    struct table copy = {copy_table(table), NULL};
    for (uint32_t i = 0; i < table->count; i++) {
        struct pp_module_range *range = &copy.table->ranges[i];
        if (address < range->start || address >= range->end)
            continue;
        uint32_t start, end, met = pp_unwind_find_row(range, (uint32_t)(address - range->start));
        if (!pp_unwind_rows_function(range, (uint32_t)(address - range->start), &start, &end)) {
            start = range->rows[met].pc; /* of code that is known by its instructions */
            end = met + 1 < range->row_count ? range->rows[met + 1].pc : UINT32_MAX;
        }
        copy.rows = malloc(range->row_count * sizeof *copy.rows);
        memcpy(copy.rows, range->rows, range->row_count * sizeof *copy.rows);
        for (uint32_t row = 0; row < range->row_count; row++)
            if (copy.rows[row].pc >= start && copy.rows[row].pc < end)
                copy.rows[row].rule = PP_RULE_UNKNOWN;
        range->rows = copy.rows;
        return copy;
    }
    fail_msg("no module holds %#lx", address);
    return copy;
}

/* Makes a copy of the stack from where the walk stopped, directly before or after memory that cannot be read. */
static struct pp_stack_copy copy_stack(const struct pp_walk_state *stopped, size_t most, bool guard_before)
{
    static uint8_t *pages;
    if (!pages) {
        pages = mmap(NULL, COPY_MAX + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(pages != MAP_FAILED);
        assert_int_equal(mprotect(pages, PAGE, PROT_NONE), 0);
        assert_int_equal(mprotect(pages + PAGE + COPY_MAX, PAGE, PROT_NONE), 0);
    }
    uintptr_t start = stopped->registers[PP_REG_SP] - PP_RED_ZONE;
    start = ((start > stopped->low ? start : stopped->low) + 7) & ~(uintptr_t)7;
    size_t size = stopped->top - start < most ? stopped->top - start : most;
    assert_true(size <= COPY_MAX);
    uint8_t *to = pages + PAGE + (guard_before ? 0 : COPY_MAX - size);
    assert_true(pp_safe_copy(to, start, size)); /* AddressSanitizer would complain of memcpy */
    return (struct pp_stack_copy){.start = start, .size = size, .bytes = to};
}

static void continue_by(const struct pp_module_table *table, struct pp_native_stack *stack, struct pp_stack_copy *copy,
                        const struct pp_walk_state *stopped)
{
    struct pp_walk_state state = *stopped;
    assert_true(stack->continuable);
    stack->stopped = &state;
    stack->table = table;
    stack->copy = copy;
    pp_native_continue(stack);
}

/* Returns how many frames are those of the stack itself. */
static unsigned count_same(const struct pp_native_stack *stack)
{
    unsigned same = 0;
    while (same < stack->count && same < whole.stack.count && stack->frames[same].ip == whole.frames[same].ip &&
           stack->frames[same].cfa == whole.frames[same].cfa)
        same++;
    return same;
}

static void assert_whole(const struct pp_native_stack *stack)
{
    assert_int_equal(stack->reason, PP_REASON_NONE);
    assert_int_equal(count_same(stack), whole.stack.count);
    assert_int_equal(stack->count, whole.stack.count);
    assert_int_equal(stack->frame_pointer, whole.stack.frame_pointer);
    assert_false(stack->continuable);
}

AT_BOTTOM(stop_everywhere)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_walk_state stopped;
    struct pp_module_table *all = meet_all(context), *none = without_rows(all);
    struct pp_native_stack stack = walk_by(none, context, frames, &stopped);
    assert_int_equal(stack.count, 1);
    struct pp_stack_copy copy = copy_stack(&stopped, COPY_MAX, true);
    continue_by(all, &stack, &copy, &stopped);
    assert_whole(&stack);
    bool stopped_at[FRAMES] = {false};
    unsigned stops = 0, signal_frames = 0;
    for (unsigned i = 0; i < whole.stack.count; i++) {
        struct table most = without_function(all, whole.frames[i].ip);
        stack = walk_by(most.table, context, frames, &stopped);
        assert_true(stack.count <= i + 1 && stack.reason == PP_REASON_NATIVE_NO_ROWS);
        stops += !stopped_at[stack.count];
        stopped_at[stack.count] = true;
        signal_frames += stack.count > 1 && stopped.exact;
        copy = copy_stack(&stopped, COPY_MAX, i % 2);
        continue_by(all, &stack, &copy, &stopped);
        assert_whole(&stack);
        assert_false(copy.exceeded);
        free(most.rows);
        free(most.table);
    }
    assert_true(stops > whole.stack.count - 8); /* some functions are there more than once */
    assert_int_equal(signal_frames, 1);         /* the code that was interrupted within the stack */
    free(none);
    free(all);
}

static void set_since(struct pp_module_table *table, struct pp_module_time since)
{
    for (uint32_t i = 0; i < table->count; i++)
        table->ranges[i].since = since;
}

/* A handler knows a module that may be gone by its build-id; else the flush thread goes on only by those that are as
 * new as the sample. */
AT_BOTTOM(stop_at_other_modules)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_walk_state stopped, state;
    free(meet_all(context));
    pp_modules_publish();
    struct pp_module_table *all = copy_table(atomic_load(&pp_module_table)), *other = copy_table(all);
    for (uint32_t i = 0; i < other->count; i++) {
        other->ranges[i].stays = false;
        other->ranges[i].id++;
    }
    atomic_fetch_add(&pp_unloads.begun, 1);
    struct pp_native_stack stack = walk_by(all, context, frames, &stopped);
    assert_whole(&stack);
    stack = walk_by(other, context, frames, &stopped);
    atomic_fetch_sub(&pp_unloads.begun, 1);
    assert_int_equal(stack.count, 1);
    assert_int_equal(frames[0].ip, PP_UNLOADED_CODE);
    assert_true(stopped.replaced && stack.continuable && stack.reason == PP_REASON_NATIVE_NO_MODULE);
    struct pp_stack_copy copy = copy_stack(&stopped, COPY_MAX, true);
    for (uint32_t unloads = 4; unloads <= 6; unloads++)
        for (unsigned settled = 0; settled < 2; settled++) {
            struct pp_native_stack more = stack;
            more.time = (struct pp_module_time){5, 5};
            more.settled = settled;
            set_since(all, (struct pp_module_time){unloads, 6});
            state = stopped;
            continue_by(all, &more, &copy, &state);
            if (settled || unloads == 5)
                assert_whole(&more);
            else
                assert_true(more.count == 1 && frames[0].ip == PP_UNLOADED_CODE);
        }
    free(all);
    free(other);
}

/* As the flush thread continues when each function is compiled only when its turn comes. */
AT_BOTTOM(stop_again_and_again)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_walk_state stopped;
    struct pp_module_table *all = meet_all(context), *none = without_rows(all);
    struct pp_native_stack stack = walk_by(none, context, frames, &stopped);
    struct pp_stack_copy copy = copy_stack(&stopped, COPY_MAX, true);
    struct pp_walk_state state = stopped;
    unsigned before = 1;
    for (unsigned i = 1; i < whole.stack.count; i++) {
        /* the next frame's function is unknown, and all others */
        struct table most = without_function(all, whole.frames[i].ip);
        stack.stopped = &state;
        stack.table = most.table;
        stack.copy = &copy;
        if (stack.continuable)
            pp_native_continue(&stack);
        assert_true(stack.count >= before);
        before = stack.count;
        free(most.rows);
        free(most.table);
    }
    stack.table = all;
    pp_native_continue(&stack);
    assert_whole(&stack);
    free(none);
    free(all);
}

AT_BOTTOM(cut_everywhere)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_walk_state stopped;
    struct pp_module_table *all = meet_all(context);
    for (unsigned i = 0; i < whole.stack.count; i++) {
        struct table most = without_function(all, whole.frames[i].ip);
        struct pp_native_stack first = walk_by(most.table, context, frames, &stopped);
        size_t size = copy_stack(&stopped, COPY_MAX, true).size;
        unsigned last = 0;
        for (size_t cut = i % 8; cut <= size; cut += 8) {
            struct pp_native_stack stack = first;
            struct pp_stack_copy copy = copy_stack(&stopped, cut & ~(size_t)7, cut / 8 % 2);
            continue_by(all, &stack, &copy, &stopped);
            unsigned same = count_same(&stack);
            assert_true(stack.count >= first.count && same + 1 >= stack.count);
            assert_int_equal(stack.frames[stack.count - 1].ip, whole.frames[stack.count - 1].ip);
            assert_true(stack.count >= last);
            last = stack.count;
            if (stack.reason == PP_REASON_NONE) {
                assert_int_equal(stack.count, whole.stack.count);
            } else {
                assert_int_equal(stack.reason, PP_REASON_NATIVE_BAD_STACK);
                assert_true(copy.exceeded);
            }
        }
        assert_int_equal(last, whole.stack.count);
        free(most.rows);
        free(most.table);
    }
    free(all);
}

/* Registers and bounds that lead anywhere: nothing outside the copy is read. */
AT_BOTTOM(follow_damage)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_walk_state stopped;
    struct pp_module_table *all = meet_all(context), *none = without_rows(all);
    struct pp_native_stack first = walk_by(none, context, frames, &stopped);
    srand(1);
    for (unsigned run = 0; run < 20000; run++) {
        struct pp_native_stack stack = first;
        struct pp_stack_copy copy = copy_stack(&stopped, 256 + (size_t)rand() % 8192 / 8 * 8, run % 2);
        struct pp_walk_state damaged = stopped;
        uintptr_t *words = (uintptr_t *)(uintptr_t)copy.bytes;
        for (unsigned n = 0; n < 1u << run % 6; n++)
            words[(size_t)rand() % (copy.size / 8)] ^= (uintptr_t)1 << rand() % 64;
        if (run % 3 == 0)
            damaged.registers[rand() % PP_REG_COUNT] ^= (uintptr_t)1 << rand() % 64;
        if (run % 7 == 0)
            damaged.pc = whole.frames[(unsigned)rand() % whole.stack.count].ip;
        damaged.other_stack = run % 5 == 0;
        if (damaged.other_stack)
            damaged.top = PP_HIGHEST_ADDRESS & ~(uintptr_t)7;
        continue_by(all, &stack, &copy, &damaged);
        assert_true(stack.count >= 1 && stack.count <= FRAMES);
    }
    free(none);
    free(all);
}

/* A sample of a thread whose own stack is `low` to `top`, taken when no function was met, and finished. */
static const struct pp_record_sample *first_sample(const ucontext_t *context, uintptr_t low, uintptr_t top)
{
    static struct pp_slot slot;
    const struct pp_module_table *published = atomic_load(&pp_module_table);
    struct pp_module_table *none = without_rows(published);
    const struct pp_record *record;
    assert_true(pp_slot_memory_begin(&slot));
    while ((record = pp_ring_peek(&slot.ring)))
        pp_ring_release(&slot.ring, record);
    atomic_store(&slot.thread.stack_low, low);
    atomic_store(&slot.thread.stack_top, top);
    atomic_store(&pp_module_table, none);
    pp_take_sample(&slot, context, 0, 0);
    atomic_store(&pp_module_table, published);
    pp_slot_memory_end(&slot);
    free(none);
    record = pp_ring_peek(&slot.ring);
    assert_non_null(record);
    assert_int_equal(record->type, PP_RECORD_UNFINISHED);
    return pp_sample_finish((const struct pp_record_unfinished *)record);
}

static void on_thread_stack(const ucontext_t *context)
{
    uintptr_t top = thread_stack_top();
    free(meet_all(context));
    const struct pp_record_sample *sample = first_sample(context, top - STACK_SIZE, top);
    const uint64_t *ips = (const uint64_t *)(sample + 1);
    assert_int_equal(sample->native_reason, PP_REASON_NONE);
    assert_int_equal(sample->native_frames, whole.stack.count);
    for (unsigned i = 0; i < whole.stack.count; i++)
        assert_int_equal(ips[i], whole.frames[i].ip);
}

TEST(test_on_own_stack)
{
    at_bottom = on_thread_stack;
    links[0](0);
}

static void begin_links(void)
{
    links[0](0);
}

/* All of a coroutine's stack is copied, although nothing can be read above it. */
static void on_coroutine(const ucontext_t *context)
{
    struct pp_native_frame frames[FRAMES];
    struct pp_walk_state stopped;
    uintptr_t top = thread_stack_top(), low = top - STACK_SIZE;
    struct pp_native_stack stack;
    const struct pp_module_table *published = atomic_load(&pp_module_table);
    for (;;) {
        stack = (struct pp_native_stack){.frames = frames, .stopped = &stopped, .max = FRAMES, .stack_low = low};
        atomic_store(&pp_module_table, pp_modules_draft());
        pp_native_walk(context, top, &stack);
        atomic_store(&pp_module_table, published);
        if (!stack.continuable)
            break;
        assert_true(pp_module_add_sampled(frames[stack.count - 1].ip));
    }
    assert_true(stack.count > sizeof links / sizeof links[0]);
    const struct pp_record_sample *sample = first_sample(context, low, top);
    const uint64_t *ips = (const uint64_t *)(sample + 1);
    assert_int_equal(sample->native_reason, stack.reason); /* makecontext's code before its first byte has no rule */
    assert_int_equal(sample->native_frames, stack.count);
    for (unsigned i = 0; i < stack.count; i++)
        assert_int_equal(ips[i], frames[i].ip);
}

TEST(test_on_other_stack)
{
    static ucontext_t here, there;
    uint8_t *other_stack = mmap(NULL, STACK_SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(other_stack != MAP_FAILED);
    assert_int_equal(mprotect(other_stack + STACK_SIZE, PAGE, PROT_NONE), 0);
    getcontext(&there);
    there.uc_stack.ss_sp = other_stack;
    there.uc_stack.ss_size = STACK_SIZE;
    there.uc_link = &here;
    at_bottom = on_coroutine;
    makecontext(&there, begin_links, 0);
    assert_int_equal(swapcontext(&here, &there), 0);
    munmap(other_stack, STACK_SIZE + PAGE);
}
