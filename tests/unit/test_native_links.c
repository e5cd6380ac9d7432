/* A walk that joins the last one finds what a walk without memory finds: stacks of random functions, of which some
 * words change from walk to walk. */
#include "context_registers.h"
#include "preload/capture/native_walk.h"
#include "random.h"
#include "unit.h"
#include <stdatomic.h>

#define CODE       ((uintptr_t)0x10000000)
#define FUNCTION   0x100 /* bytes of code */
#define WORDS      1024
#define DEPTH      12
#define MAX_FRAMES 32

#define RA      .saved = 1 << PP_TRACKED_RA, .where[PP_TRACKED_RA] = -8
#define RA_FP   .saved = 1 << PP_TRACKED_RA | 1 << PP_TRACKED_FP, .where = {[PP_TRACKED_RA] = -8, [PP_TRACKED_FP] = -16}
#define BY(reg) .cfa_kind = PP_CFA_REGISTER, .cfa_register = reg

enum { PLAIN, SAVES_FP, BY_FP, LOSES_FP, BY_WORD, BY_SAVED, OUTERMOST, OUTERMOST_BY_FP, FUNCTIONS };

static const struct pp_unwind_rule rules[PP_RULE_FIRST + FUNCTIONS] = {
    [PP_RULE_FIRST + PLAIN] = {BY(PP_REG_SP), .cfa_offset = 16, RA, .lowest = -8},
    [PP_RULE_FIRST + SAVES_FP] = {BY(PP_REG_SP), .cfa_offset = 32, RA_FP, .lowest = -16},
    [PP_RULE_FIRST + BY_FP] = {BY(PP_REG_FP), .cfa_offset = 16, RA_FP, .lowest = -16},
    [PP_RULE_FIRST + LOSES_FP] = {BY(PP_REG_SP), .cfa_offset = 24, RA, .lost = 1 << PP_TRACKED_FP, .lowest = -8},
    [PP_RULE_FIRST +
        BY_WORD] = {.cfa_kind = PP_CFA_DEREF, .cfa_register = PP_REG_SP, .cfa_index = PP_NO_REGISTER, RA, .lowest = -8},
    [PP_RULE_FIRST + BY_SAVED] = {BY(SAVED_REGISTER), .cfa_offset = 8, RA, .lowest = -8},
    [PP_RULE_FIRST + OUTERMOST] = {BY(PP_REG_SP), .cfa_offset = 8, .lost = 1 << PP_TRACKED_RA},
    [PP_RULE_FIRST + OUTERMOST_BY_FP] = {BY(PP_REG_FP), .cfa_offset = 8, .lost = 1 << PP_TRACKED_RA},
};
static const unsigned sizes[FUNCTIONS] = {16, 32, 48, 24, 32, 24, 8, 8};

/* Frames of a stack, innermost first. */
struct made {
    unsigned count;
    struct {
        unsigned function, call; /* which call in it */
        uintptr_t junk;          /* that is in the frame pointer where it matters to no frame further out */
    } frames[DEPTH];
};

static uintptr_t words[WORDS];
static _Alignas(struct pp_module_table) uint8_t memory[sizeof(struct pp_module_table) + sizeof(struct pp_module_range)];

static void publish(uint32_t generation, unsigned shift)
{
    static struct pp_unwind_row rows[FUNCTIONS];
    static const uint32_t blocks[2] = {0, FUNCTIONS - 1};
    struct pp_module_table *table = (struct pp_module_table *)memory;
    /* the same addresses, another module: its functions have changed places */
    for (unsigned i = 0; i < FUNCTIONS; i++)
        rows[i] = (struct pp_unwind_row){i * FUNCTION, PP_RULE_FIRST + (i + shift) % FUNCTIONS};
    table->generation = generation;
    table->count = 1;
    table->ranges[0] = (struct pp_module_range){.start = CODE,
                                                .end = CODE + FUNCTIONS * FUNCTION,
                                                .rows = rows,
                                                .rules = rules,
                                                .blocks = blocks,
                                                .block_shift = 31,
                                                .row_count = FUNCTIONS};
    atomic_store(&pp_module_table, table);
}

static void make_frame(struct made *made, unsigned i)
{
    made->frames[i].function = i + 1 < made->count ? random_below(OUTERMOST) : OUTERMOST + random_below(2);
    made->frames[i].call = 1 + random_below(3);
    made->frames[i].junk = (uintptr_t)&words[random_below(WORDS)];
}

/* Lays the frames out up to the end of the stack. A frame that needs the frame pointer gets it from where that was
 * saved last. */
static void lay_out(const struct made *made, unsigned shift, ucontext_t *context)
{
    uintptr_t at = (uintptr_t)&words[WORDS - 1], fp = 0, other = 0, *saved = &fp;
    for (unsigned i = 0; i < made->count; i++)
        at -= sizes[made->frames[i].function];
    memset(context, 0, sizeof *context);
    put_register(context, PP_REG_SP, (uintptr_t)at);
    fp = made->frames[0].junk;
    for (unsigned i = 0; i < made->count; i++) {
        unsigned function = made->frames[i].function;
        uintptr_t pc = CODE + (function + FUNCTIONS - shift) % FUNCTIONS * FUNCTION + 0x10 * made->frames[i].call;
        uintptr_t *frame = (uintptr_t *)at, cfa = at + sizes[function];
        if (i)
            frame[-1] = pc;
        else
            put_pc(context, pc);
        if (function == BY_FP)
            *saved = cfa - 16;
        else if (function == OUTERMOST_BY_FP)
            *saved = cfa - 8;
        else if (function == BY_SAVED)
            other = cfa - 8;
        else if (function == BY_WORD)
            *frame = cfa;
        if (function == BY_FP || function == SAVES_FP) {
            saved = (uintptr_t *)(cfa - 16);
            *saved = made->frames[i].junk;
        }
        at = cfa;
    }
    put_register(context, PP_REG_FP, (uintptr_t)fp);
    put_register(context, SAVED_REGISTER, (uintptr_t)other);
}

/* Changes a word of the stack, or a register, to what is found elsewhere on the stack. */
static void change_a_word(ucontext_t *context)
{
    uintptr_t *sp = (uintptr_t *)pp_context_sp(context), *end = &words[WORDS - 1];
    uintptr_t value =
        random_below(2) ? sp[random_below((uint32_t)(end - sp))] : (uintptr_t)&sp[random_below((uint32_t)(end - sp))];
    if (random_below(4))
        sp[random_below((uint32_t)(end - sp))] = value;
    else
        put_register(context, random_below(2) ? PP_REG_FP : SAVED_REGISTER, value);
}

/* Walks with and without memory. Returns whether the walk has joined the last one. */
static bool walk_twice(const ucontext_t *context, struct pp_rule_cache *cache, unsigned max)
{
    static struct pp_native_frame frames[MAX_FRAMES], plain_frames[MAX_FRAMES];
    uintptr_t top = (uintptr_t)(words + WORDS);
    struct pp_native_stack stack = {.frames = frames, .cache = cache, .max = max},
                           plain = {.frames = plain_frames, .max = max};
    pp_native_walk(context, top, &stack);
    pp_native_walk(context, top, &plain);
    assert_int_equal(stack.reason, plain.reason);
    assert_int_equal(stack.count, plain.count);
    assert_memory_equal(frames, plain_frames, plain.count * sizeof plain_frames[0]);
    return cache->walked < stack.count;
}

TEST(random_stacks)
{
    static struct pp_rule_cache cache;
    struct made made = {.count = DEPTH};
    unsigned joined = 0, rounds = 200000, shift = 0;
    publish(1, shift);
    for (unsigned i = 0; i < made.count; i++)
        make_frame(&made, i);
    for (unsigned round = 0; round < rounds; round++) {
        /* mostly only the inner frames are other ones, as in a program */
        unsigned changed = random_below(4) ? random_below(1 + random_below(made.count)) : made.count;
        if (random_below(8) == 0) {
            unsigned count = 2 + random_below(DEPTH - 1);
            unsigned from = count > made.count ? count - made.count : 0;
            memmove(&made.frames[from], &made.frames[made.count > count ? made.count - count : 0],
                    (count - from) * sizeof made.frames[0]);
            made.count = count;
            changed = from;
        }
        for (unsigned i = 0; i < changed; i++)
            make_frame(&made, i);
        made.frames[random_below(made.count)].junk = (uintptr_t)&words[random_below(WORDS)];
        if (random_below(64) == 0)
            publish(2 + round, shift = random_below(FUNCTIONS));
        ucontext_t context;
        lay_out(&made, shift, &context);
        if (random_below(2))
            change_a_word(&context);
        joined += walk_twice(&context, &cache, random_below(8) ? MAX_FRAMES : 1 + random_below(DEPTH));
    }
    print_message("%u of %u walks have joined the last one\n", joined, rounds);
    assert_in_range(joined, rounds / 8, rounds / 2);
    atomic_store(&pp_module_table, NULL);
}
