#include "native_walk.h"
#include "safe_read.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define WORD           sizeof(uintptr_t)
#define EPILOGUE_MAX   16   /* bytes of code that are decoded */
#define NEAR           8192 /* bytes above sp that are loaded directly: list.sort's frame is larger than a page */
#define MAX_PREFETCHED 64   /* frames of the last walk that are prefetched */
#define MAX_COPIES     64   /* per walk, 0.5 µs each */
#define COPY_BYTES     256  /* aligned to their size, so that a copy stays in one page */

struct walk {
    struct pp_module_table *table;
    struct pp_rule_cache *cache;         /* NULL: none */
    struct pp_module_range *range;       /* the last range found: most steps stay in it */
    struct pp_module_range *exact_range; /* range of the interrupted code */
    uintptr_t own_low, own_top;          /* the thread's own stack; own_low 0: its lower end is unknown */
    uintptr_t low, top;                  /* bounds of what may be read */
    uint32_t valid;                      /* registers whose values are known, bits by DWARF number */
    uintptr_t registers[PP_REG_COUNT];
    uintptr_t pc;
    bool exact;       /* pc is the interrupted instruction; else a return address, after its call */
    bool interrupted; /* caller-saved registers still have the values of the interrupted code */
    /* sp is on a stack other than the thread's own (a coroutine's, Go's, a signal stack). The end of that stack is
     * unknown, and memory above it may be unmapped at any moment. */
    bool other_stack;
    unsigned copy_count;
    uintptr_t copy_start; /* 0: no copy yet */
    uintptr_t copy[COPY_BYTES / WORD];
};

struct pp_module_table *_Atomic pp_module_table;

static const uint8_t greg_of_dwarf[PP_REG_COUNT] = PP_GREG_OF_DWARF;
static const uint8_t tracked_register[PP_TRACKED_COUNT] = PP_TRACKED_REGISTERS;

/* Reads a word of the stack; false if it is not wholly inside. The thread's own stack is mapped from sp up, unless the
 * program has made a hole in it. But a frame's rule may be wrong and yield any address (assembly that uses rbp,
 * described as if it did not), so a word far above sp is read through a copy. async-signal-safe. */
static inline bool load(struct walk *walk, uintptr_t address, uintptr_t *value)
{
    if (address % WORD || address < walk->low || address > walk->top - WORD)
        return false;
    if (!walk->other_stack && address <= walk->registers[PP_REG_SP] + NEAR) {
        *value = *(const uintptr_t *)address;
        return true;
    }
    uintptr_t at = address & ~(uintptr_t)(COPY_BYTES - 1);
    if (at != walk->copy_start) {
        walk->copy_count++;
        walk->copy_start = 0;
        if (!pp_safe_read(pp_sys_getpid(), walk->copy, at, COPY_BYTES))
            return false;
        walk->copy_start = at;
    }
    *value = walk->copy[(address - at) / WORD];
    return true;
}

/* Sets the bounds of what may be read from sp on, and how; false: nothing. async-signal-safe. */
static bool enter_stack(struct walk *walk, uintptr_t sp)
{
    walk->low = sp > PP_RED_ZONE ? sp - PP_RED_ZONE : 0;
    walk->top = walk->own_top;
    walk->other_stack = walk->own_low && (sp < walk->own_low || sp >= walk->own_top);
    if (walk->other_stack)
        walk->top = PP_HIGHEST_ADDRESS & ~(WORD - 1);
    return sp < walk->top && walk->top >= WORD;
}

/* Returns the module range that holds the address, NULL if none. O(log modules). async-signal-safe. */
static struct pp_module_range *find_range(struct walk *walk, uintptr_t address)
{
    struct pp_module_range *range = walk->range;
    if (range && address >= range->start && address < range->end)
        return range;
    size_t low = 0, high = walk->table ? walk->table->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        range = &walk->table->ranges[middle];
        if (address < range->start)
            high = middle;
        else if (address >= range->end)
            low = middle + 1;
        else
            return walk->range = range;
    }
    return NULL;
}

static inline bool is_known(const struct walk *walk, unsigned reg)
{
    return reg < PP_REG_COUNT && walk->valid >> reg & 1;
}

/* Whether assembly may derive the CFA from this register at a return address although it is caller-saved: OpenSSL's
 * does (r11), as it knows its callee. Compilers never do. async-signal-safe. */
static inline bool is_known_to_assembly(const struct walk *walk, unsigned reg)
{
    return walk->interrupted && reg < PP_REG_COUNT && !(PP_CALLEE_SAVED_MASK >> reg & 1);
}

/* Computes the CFA by any rule but a signal frame's. async-signal-safe. */
static inline enum pp_reason find_cfa(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t *cfa)
{
    if (!is_known(walk, rule->cfa_register) &&
        !(rule->cfa_kind == PP_CFA_REGISTER && is_known_to_assembly(walk, rule->cfa_register)))
        return PP_REASON_NATIVE_NO_RULE;
    uintptr_t value = walk->registers[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa_offset;
    if (rule->cfa_kind == PP_CFA_DEREF) {
        if (rule->cfa_index != PP_NO_REGISTER) {
            if (!is_known(walk, rule->cfa_index))
                return PP_REASON_NATIVE_NO_RULE;
            value += walk->registers[rule->cfa_index] << rule->cfa_shift;
        }
        if (!load(walk, value, &value))
            return PP_REASON_NATIVE_BAD_STACK;
        value += (uintptr_t)(intptr_t)rule->cfa_addend;
    } else if (rule->cfa_kind == PP_CFA_PLT) {
        value += (walk->pc & 15) >= (uintptr_t)(intptr_t)rule->cfa_addend ? WORD : 0;
    }
    *cfa = value;
    return PP_REASON_NONE;
}

/* Computes the value of a tracked register in the caller. async-signal-safe. */
static inline enum pp_reason restore(struct walk *walk, const struct pp_unwind_rule *rule, unsigned slot, uintptr_t cfa,
                                     uintptr_t *value)
{
    uintptr_t where = (uintptr_t)(intptr_t)rule->where[slot], from = cfa;
    if (rule->in_register >> slot & 1) {
        if (!is_known(walk, (unsigned)where))
            return PP_REASON_NATIVE_NO_RULE;
        *value = walk->registers[where];
        return PP_REASON_NONE;
    }
    if (rule->from_base >> slot & 1) {
        if (!is_known(walk, rule->base))
            return PP_REASON_NATIVE_NO_RULE;
        from = walk->registers[rule->base];
        /* For a realigned frame gcc says "rbp is at [rbp]" up to the ret, even after pops have restored rbp and all
         * other registers: [rbp] is then outside this frame, and nothing is left to restore. */
        if (walk->exact && slot != PP_TRACKED_RA &&
            (from + where >= cfa || from + where < walk->registers[PP_REG_SP] - PP_RED_ZONE)) {
            *value = walk->registers[tracked_register[slot]];
            return PP_REASON_NONE;
        }
    }
    return load(walk, from + where, value) ? PP_REASON_NONE : PP_REASON_NATIVE_BAD_STACK;
}

/* Steps to the code that a signal interrupted: all registers are known again, pc is exact. async-signal-safe. */
static enum pp_reason step_out_of_signal(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t *end)
{
    if (!is_known(walk, rule->cfa_register))
        return PP_REASON_NATIVE_NO_RULE;
    uintptr_t sp = walk->registers[PP_REG_SP];
    uintptr_t gregs = walk->registers[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa_offset;
    if (!load(walk, gregs + PP_GREG_PC * WORD, &walk->pc))
        return PP_REASON_NATIVE_BAD_STACK;
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        if (!load(walk, gregs + greg_of_dwarf[i] * WORD, &walk->registers[i]))
            return PP_REASON_NATIVE_BAD_STACK;
    walk->valid = PP_ALL_REGISTERS_MASK;
    walk->exact = walk->interrupted = true;
    uintptr_t outer = walk->registers[PP_REG_SP];
    /* code interrupted by a handler on a signal stack may be on any other stack */
    if (walk->other_stack ? !enter_stack(walk, outer) : outer <= sp || outer >= walk->top)
        return PP_REASON_NATIVE_BAD_STACK;
    *end = outer;
    return PP_REASON_NONE;
}

/* Steps from a frame whose CFA is known to its caller. async-signal-safe. */
static enum pp_reason step_with_cfa(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t cfa)
{
    uintptr_t caller[PP_TRACKED_COUNT];
    unsigned restored = rule->saved | rule->in_register;
    for (unsigned left = restored; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        enum pp_reason reason = restore(walk, rule, slot, cfa, &caller[slot]);
        if (reason != PP_REASON_NONE)
            return reason;
    }
    walk->valid &= PP_CALLEE_SAVED_MASK;
    for (unsigned left = restored & ~(1u << PP_TRACKED_RA); left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        walk->registers[tracked_register[slot]] = caller[slot];
        walk->valid |= 1u << tracked_register[slot];
    }
    for (unsigned left = rule->lost; left; left &= left - 1)
        walk->valid &= ~(1u << tracked_register[__builtin_ctz(left)]);
    walk->registers[PP_REG_SP] = cfa;
    walk->pc = caller[PP_TRACKED_RA];
    walk->exact = false;
    return PP_REASON_NONE;
}

/* Steps to the caller. *outermost: there is none. *end: CFA of this frame, set if known. async-signal-safe. */
static enum pp_reason step(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t *end, bool *outermost)
{
    uintptr_t cfa, sp = walk->registers[PP_REG_SP];
    *outermost = rule->lost >> PP_TRACKED_RA & 1;
    enum pp_reason reason = find_cfa(walk, rule, &cfa);
    if (reason != PP_REASON_NONE)
        return *outermost ? PP_REASON_NONE : reason;
    /* Only interrupted code may have an empty frame (vfork keeps its return address in a register). */
    if (cfa % WORD || cfa < sp || (cfa == sp && !walk->exact) || cfa > walk->top || cfa - sp > PP_MAX_FRAME_SIZE)
        return *outermost ? PP_REASON_NONE : PP_REASON_NATIVE_BAD_STACK;
    *end = cfa;
    return *outermost ? PP_REASON_NONE : step_with_cfa(walk, rule, cfa);
}

/* Finds the rule for an address in the tables, NULL if there is none. async-signal-safe. */
static const struct pp_unwind_rule *search_rule(struct walk *walk, uintptr_t address, enum pp_reason *why)
{
    struct pp_module_range *range = find_range(walk, address);
    if (!range) {
        *why = walk->table ? PP_REASON_NATIVE_NO_MODULE : PP_REASON_NATIVE_NO_ROWS;
        return NULL;
    }
    if (range->without) {
        *why = PP_REASON_NATIVE_NO_RULE;
        return NULL;
    }
    if (!range->row_count) {
        __atomic_store_n(&range->wanted, 1, __ATOMIC_RELAXED);
        *why = PP_REASON_NATIVE_NO_ROWS;
        return NULL;
    }
    *why = PP_REASON_NONE;
    uint32_t row = pp_unwind_find_row(range, (uint32_t)(address - range->start));
    const struct pp_unwind_rule *rule = &range->rules[PP_ROW_RULE(range->rows[row].rule)];
    if (rule->cfa_kind != PP_CFA_INVALID || rule->lost >> PP_TRACKED_RA & 1)
        return rule;
    *why = PP_REASON_NATIVE_NO_RULE;
    return NULL;
}

static inline unsigned cache_entry(uintptr_t address)
{
    return (unsigned)((uint64_t)address * 0x9E3779B97F4A7C15u >> 32) % PP_RULE_CACHE_SIZE;
}

/* Finds the rule in the cache, else in the tables. Interrupted addresses hardly ever recur and are not cached.
 * async-signal-safe. */
static const struct pp_unwind_rule *find_rule(struct walk *walk, uintptr_t address, enum pp_reason *why)
{
    if (!walk->cache || !walk->table)
        return search_rule(walk, address, why);
    if (walk->exact) {
        const struct pp_unwind_rule *rule = search_rule(walk, address, why);
        walk->exact_range = rule ? walk->range : NULL;
        return rule;
    }
    unsigned at = cache_entry(address);
    if (walk->cache->entries[at].address != address || walk->cache->entries[at].generation != walk->table->generation) {
        const struct pp_unwind_rule *rule = search_rule(walk, address, why);
        if (!rule)
            return NULL;
        /* another thread may fork: its child must not find a torn entry */
        walk->cache->entries[at].generation = 0;
        atomic_signal_fence(memory_order_seq_cst);
        walk->cache->entries[at].address = address;
        walk->cache->entries[at].rule = *rule;
        atomic_signal_fence(memory_order_seq_cst);
        walk->cache->entries[at].generation = walk->table->generation;
    }
    *why = PP_REASON_NONE;
    return &walk->cache->entries[at].rule;
}

/* Steps out of code without unwind rows (a JIT's, perf's trampolines) if only an epilogue follows its call: add to rsp,
 * pop, ret. The thread will execute these very bytes. async-signal-safe. */
static bool step_by_epilogue(struct walk *walk)
{
    uint8_t code[EPILOGUE_MAX];
    uintptr_t sp = walk->registers[PP_REG_SP], value;
    if (walk->exact || !pp_safe_read(pp_sys_getpid(), code, walk->pc, sizeof code))
        return false;
    for (unsigned at = 0; at + PP_EPILOGUE_STEP_MAX < sizeof code;) {
        struct pp_epilogue_step step = pp_epilogue_step(code + at);
        at += step.size;
        if (step.kind == PP_EPILOGUE_NONE)
            return false;
        if (step.kind == PP_EPILOGUE_ADD) {
            sp += step.value;
            continue;
        }
        if (!load(walk, sp, &value))
            return false;
        sp += WORD;
        if (step.kind == PP_EPILOGUE_POP) {
            walk->registers[step.value] = value;
            walk->valid |= 1u << step.value;
            continue;
        }
        if (sp <= walk->registers[PP_REG_SP])
            return false;
        walk->valid &= PP_CALLEE_SAVED_MASK;
        walk->registers[PP_REG_SP] = sp;
        walk->pc = value;
        return true;
    }
    return false;
}

/* Walks from the state of `walk` to the outermost frame. async-signal-safe. */
static void walk_outward(struct walk *walk, bool readable, struct pp_native_stack *stack)
{
    bool outermost = false;
    do {
        stack->reason = PP_REASON_NATIVE_TOO_DEEP;
        if (stack->count == stack->max || walk->copy_count >= MAX_COPIES)
            break;
        struct pp_native_frame *frame = &stack->frames[stack->count++];
        uintptr_t lookup = walk->exact ? walk->pc : walk->pc - 1;
        frame->ip = lookup;
        frame->cfa = walk->registers[PP_REG_SP]; /* unless a rule gives its end */
        const struct pp_unwind_rule *rule = find_rule(walk, lookup, &stack->reason);
        if (!rule && stack->reason == PP_REASON_NATIVE_NO_MODULE && readable && step_by_epilogue(walk)) {
            frame->cfa = walk->registers[PP_REG_SP];
            stack->reason = PP_REASON_NONE;
            continue;
        }
        if (!rule)
            break;
        if (!readable) {
            stack->reason = PP_REASON_NATIVE_BAD_STACK;
        } else if (rule->cfa_kind == PP_CFA_SIGNAL) {
            frame->ip = walk->pc; /* the kernel "returns" to the restorer's first byte: no call precedes it */
            stack->reason = step_out_of_signal(walk, rule, &frame->cfa);
        } else {
            stack->reason = step(walk, rule, &frame->cfa, &outermost);
        }
    } while (stack->reason == PP_REASON_NONE && !outermost && walk->pc != 0);
    /* a zero return address is the first frame of a stack only near its top; elsewhere the frame was wrong */
    if (stack->reason == PP_REASON_NONE && !outermost && walk->top - walk->registers[PP_REG_SP] > PP_STACK_TOP_MAX)
        stack->reason = PP_REASON_NATIVE_BAD_STACK;
    stack->frame_pointer = is_known(walk, PP_REG_FP) ? walk->registers[PP_REG_FP] : 0;
}

/* Prefetches the frames of the last walk, most of which are still there. Each step waits for two cache misses, its
 * rule's and its stack's, and the next frame is not known before; this way the misses overlap. A useless prefetch does
 * no harm, wherever it points. async-signal-safe. */
static void prefetch_last_walk(struct walk *walk, const struct pp_native_stack *stack)
{
    struct pp_rule_cache *cache = stack->cache;
    if (!cache || !walk->table)
        return;
    uint32_t count = cache->walked < MAX_PREFETCHED ? cache->walked : MAX_PREFETCHED;
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch(&cache->entries[cache_entry(stack->frames[i].ip)]);
        __builtin_prefetch((const void *)(stack->frames[i].cfa - 2 * WORD));
    }
    /* interrupted code is mostly in the same module as last time */
    if (cache->range_generation == walk->table->generation)
        walk->range = cache->range;
}

/* Saves what the next walk's prefetch needs. async-signal-safe. */
static void save_for_prefetch(const struct walk *walk, const struct pp_native_stack *stack)
{
    struct pp_rule_cache *cache = stack->cache;
    if (!cache || !walk->table)
        return;
    cache->walked = stack->count;
    cache->range = walk->exact_range;
    cache->range_generation = walk->exact_range ? walk->table->generation : 0;
}

void pp_native_walk(const ucontext_t *context, uintptr_t stack_top, struct pp_native_stack *stack)
{
    struct walk walk;
    walk.table = atomic_load_explicit(&pp_module_table, memory_order_acquire);
    walk.cache = stack->cache;
    walk.range = walk.exact_range = NULL;
    prefetch_last_walk(&walk, stack);
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        walk.registers[i] = (uintptr_t)context->uc_mcontext.gregs[greg_of_dwarf[i]];
    walk.valid = PP_ALL_REGISTERS_MASK;
    walk.pc = pp_context_pc(context);
    walk.exact = walk.interrupted = true;
    walk.copy_count = 0;
    walk.copy_start = 0;
    walk.own_low = stack->stack_low;
    walk.own_top = stack_top;
    bool readable = enter_stack(&walk, walk.registers[PP_REG_SP]);
    stack->count = 0;
    walk_outward(&walk, readable, stack);
    save_for_prefetch(&walk, stack);
}

/* Starts a walk where the frames found so far end. async-signal-safe. */
static struct walk start_at_end(const struct pp_native_stack *stack, uintptr_t stack_top)
{
    struct walk walk = {.table = atomic_load_explicit(&pp_module_table, memory_order_acquire),
                        .cache = stack->cache,
                        .low = stack->count ? stack->frames[stack->count - 1].cfa : 0,
                        .top = stack_top,
                        .valid = 1u << PP_REG_SP};
    walk.registers[PP_REG_SP] = walk.low;
    return walk;
}

/* Appends a frame; false if its CFA is out of bounds or there is no room. async-signal-safe. */
static bool append_frame(struct pp_native_stack *stack, const struct walk *walk, uintptr_t ip, uintptr_t cfa)
{
    stack->reason = PP_REASON_NATIVE_BAD_STACK;
    if (cfa % WORD || cfa <= walk->low || cfa > walk->top || cfa - walk->low > PP_MAX_FRAME_SIZE)
        return false;
    stack->reason = PP_REASON_NATIVE_TOO_DEEP;
    if (stack->count == stack->max)
        return false;
    stack->frames[stack->count++] = (struct pp_native_frame){ip, cfa};
    return true;
}

void pp_native_resume(uintptr_t ip, uintptr_t cfa, uintptr_t stack_top, struct pp_native_stack *stack)
{
    struct walk walk = start_at_end(stack, stack_top);
    const struct pp_unwind_rule *rule = find_rule(&walk, ip, &stack->reason);
    if (!rule || rule->cfa_kind == PP_CFA_SIGNAL || !append_frame(stack, &walk, ip, cfa))
        return;
    stack->reason = step_with_cfa(&walk, rule, cfa);
    if (stack->reason == PP_REASON_NONE)
        walk_outward(&walk, true, stack);
}

void pp_native_resume_at_frame_pointer(uintptr_t ip, uintptr_t stack_top, struct pp_native_stack *stack)
{
    struct walk walk = start_at_end(stack, stack_top);
    uintptr_t at = stack->frame_pointer;
    if (!append_frame(stack, &walk, ip, at + 2 * WORD))
        return;
    if (!load(&walk, at, &walk.registers[PP_REG_FP]) || !load(&walk, at + WORD, &walk.pc)) {
        stack->reason = PP_REASON_NATIVE_BAD_STACK;
        return;
    }
    walk.valid |= 1u << PP_REG_FP;
    walk.registers[PP_REG_SP] = at + 2 * WORD;
    walk_outward(&walk, true, stack);
}
