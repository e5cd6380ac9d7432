/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from a native frame to its caller: finds the rule of the frame's code and computes what it says. A part of
 * native_walk.c, which alone includes it: the compiler makes one function of a walk. */
#ifndef PP_CAPTURE_NATIVE_STEP_H
#define PP_CAPTURE_NATIVE_STEP_H

#include "../base/libc_kind.h"
#include "native_walk.h"
#include "safe_read.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define WORD         sizeof(uintptr_t)
#define EPILOGUE_MAX 16  /* bytes of code that are decoded */
#define MAX_COPIES   64  /* per walk, 0.5 µs each */
#define START_MAX    512 /* bytes that libc has on a stack when it calls main or a thread's function; musl 150 */
#define COPY_BYTES   256 /* aligned to their size, so that a copy stays in one page */

struct walk {
    const struct pp_module_table *table;
    struct pp_rule_cache *cache;         /* NULL: none */
    struct pp_native_links *links;       /* of the last walk, and this one's; NULL: none */
    const struct pp_module_range *range; /* the last range found: most steps stay in it */
    uint32_t row;                        /* and row */
    uint16_t copy_count;
    bool outdated;               /* modules of the table may be gone: the handler's walk */
    bool settled;                /* none is newer than the sample: the flush thread's */
    struct pp_module_time time;  /* of the sample, where it is not settled */
    struct pp_stack_copy *stack; /* NULL: the stack itself is walked */
    struct pp_walk_state at;
    uintptr_t copy_start; /* 0: no copy yet */
    uintptr_t copy[COPY_BYTES / WORD];
};

static const uint8_t tracked_register[PP_TRACKED_COUNT] = PP_TRACKED_REGISTERS;

/* Reads a part of a stack's copy; false if not all of it is there. */
static bool read_copy(struct pp_stack_copy *copy, void *to, uintptr_t from, size_t size)
{
    if (size > copy->size || from - copy->start > copy->size - size) {
        copy->exceeded = true;
        return false;
    }
    memcpy(to, copy->bytes + (from - copy->start), size);
    return true;
}

/* Reads a word of the stack; false if it is not wholly inside. The thread's own stack is mapped from sp up, unless the
 * program has made a hole in it. But a frame's rule may be wrong and yield any address (assembly that uses
 * the frame pointer, described as if it did not), so a word far above sp is read through a copy. async-signal-safe. */
static inline bool load(struct walk *walk, uintptr_t address, uintptr_t *value)
{
    if (address % WORD || address < walk->at.low || address > walk->at.top - WORD)
        return false;
    if (walk->stack)
        return read_copy(walk->stack, value, address, WORD);
    if (!walk->at.other_stack && address <= walk->at.registers[PP_REG_SP] + PP_STACK_NEAR) {
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

/* Sets the bounds of what may be read from sp on, and how. async-signal-safe. */
static void enter_stack(struct walk *walk, uintptr_t sp)
{
    walk->at.low = sp > PP_RED_ZONE ? sp - PP_RED_ZONE : 0;
    walk->at.top = walk->at.thread_top;
    walk->at.other_stack = walk->at.thread_low && (sp < walk->at.thread_low || sp >= walk->at.thread_top);
    if (walk->at.other_stack)
        walk->at.top = PP_HIGHEST_ADDRESS & ~(WORD - 1);
    walk->at.readable = sp < walk->at.top && walk->at.top >= WORD;
}

/* Whether the module of the table was there when the sample was taken. A handler knows it by its build-id. What a
 * handler did not know is of a module that the flush thread has found after the last call of dlclose.
 * async-signal-safe. */
static bool was_there(struct walk *walk, const struct pp_module_range *range)
{
    uint64_t id;
    if (walk->outdated)
        walk->at.replaced =
            !range->stays &&
            (!range->id_at || !pp_safe_read(pp_sys_getpid(), &id, range->id_at, sizeof id) || id != range->id);
    else
        walk->at.replaced = !walk->settled && (walk->at.replaced ? range->since.unloads != walk->time.unloads
                                                                 : pp_is_newer(range->since, walk->time));
    return !walk->at.replaced;
}

/* Returns the module range that holds the address, NULL if none. O(log modules). async-signal-safe. */
static const struct pp_module_range *find_range(struct walk *walk, uintptr_t address)
{
    const struct pp_module_range *range = walk->range;
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
            return was_there(walk, range) ? (walk->range = range) : NULL;
    }
    return NULL;
}

static inline bool is_known(const struct walk *walk, unsigned reg)
{
    return reg < PP_REG_COUNT && walk->at.valid >> reg & 1;
}

/* Whether assembly may derive the CFA from this register at a return address although it is caller-saved: OpenSSL's
 * does (r11), as it knows its callee. Compilers never do. async-signal-safe. */
static inline bool is_known_to_assembly(const struct walk *walk, unsigned reg)
{
    return walk->at.interrupted && reg < PP_REG_COUNT && !(PP_CALLEE_SAVED_MASK >> reg & 1);
}

/* Computes the CFA by any rule but a signal frame's. async-signal-safe. */
static inline enum pp_reason find_cfa(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t *cfa)
{
    if (!is_known(walk, rule->cfa_register) &&
        !(rule->cfa_kind == PP_CFA_REGISTER && is_known_to_assembly(walk, rule->cfa_register)))
        return PP_REASON_NATIVE_NO_RULE;
    uintptr_t value = walk->at.registers[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa_offset;
    if (rule->cfa_kind == PP_CFA_DEREF) {
        if (rule->cfa_index != PP_NO_REGISTER) {
            if (!is_known(walk, rule->cfa_index))
                return PP_REASON_NATIVE_NO_RULE;
            value += walk->at.registers[rule->cfa_index] << rule->cfa_shift;
        }
        if (!load(walk, value, &value))
            return PP_REASON_NATIVE_BAD_STACK;
        value += (uintptr_t)(intptr_t)rule->cfa_addend;
    } else if (rule->cfa_kind == PP_CFA_PLT) {
        value += pp_plt_pushed(walk->at.pc, (uint8_t)rule->cfa_addend);
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
        *value = walk->at.registers[where];
        return PP_REASON_NONE;
    }
    if (rule->from_base >> slot & 1) {
        if (!is_known(walk, rule->base))
            return PP_REASON_NATIVE_NO_RULE;
        from = walk->at.registers[rule->base];
        /* For a realigned frame gcc says that the frame pointer is where it points, up to the return, even after pops
         * have restored it and all other registers: that is then outside this frame, and nothing is left to restore. */
        if (walk->at.exact && slot != PP_TRACKED_RA &&
            (from + where >= cfa || from + where < walk->at.registers[PP_REG_SP] - PP_RED_ZONE)) {
            *value = walk->at.registers[tracked_register[slot]];
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
    uintptr_t sp = walk->at.registers[PP_REG_SP];
    uintptr_t saved = walk->at.registers[rule->cfa_register] + (uintptr_t)(intptr_t)rule->cfa_offset;
    if (!load(walk, saved + PP_SAVED_WORD_PC * WORD, &walk->at.pc))
        return PP_REASON_NATIVE_BAD_STACK;
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        if (!load(walk, saved + pp_saved_word[i] * WORD, &walk->at.registers[i]))
            return PP_REASON_NATIVE_BAD_STACK;
    walk->at.valid = PP_ALL_REGISTERS_MASK;
    walk->at.exact = walk->at.interrupted = true;
    uintptr_t outer = walk->at.registers[PP_REG_SP];
    /* code interrupted by a handler on a signal stack may be on any other stack */
    if (walk->at.other_stack)
        enter_stack(walk, outer);
    else
        walk->at.readable = outer > sp && outer < walk->at.top;
    if (!walk->at.readable)
        return PP_REASON_NATIVE_BAD_STACK;
    *end = outer;
    return PP_REASON_NONE;
}

/* Restores registers that are all saved in words near sp, which takes a quarter of the time: nearly every frame's.
 * False: they are not. async-signal-safe. */
static inline bool restore_words(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t cfa)
{
    if (!rule->lowest || walk->stack || walk->at.other_stack || cfa > walk->at.top ||
        cfa > walk->at.registers[PP_REG_SP] + PP_STACK_NEAR || cfa + (uintptr_t)(intptr_t)rule->lowest < walk->at.low)
        return false;
    for (unsigned left = rule->saved & ~(1u << PP_TRACKED_RA); left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        walk->at.registers[tracked_register[slot]] = *(const uintptr_t *)(cfa + (uintptr_t)(intptr_t)rule->where[slot]);
    }
    walk->at.pc = pp_return_address(*(const uintptr_t *)(cfa + (uintptr_t)(intptr_t)rule->where[PP_TRACKED_RA]));
    return true;
}

/* Restores registers like restore_words does, by all other rules. async-signal-safe. */
static enum pp_reason restore_all(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t cfa)
{
    uintptr_t caller[PP_TRACKED_COUNT] = {0};
    unsigned restored = rule->saved | rule->in_register;
    for (unsigned left = restored; left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        enum pp_reason reason = restore(walk, rule, slot, cfa, &caller[slot]);
        if (reason != PP_REASON_NONE)
            return reason;
    }
    for (unsigned left = restored & ~(1u << PP_TRACKED_RA); left; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        walk->at.registers[tracked_register[slot]] = caller[slot];
    }
    walk->at.pc = pp_return_address(caller[PP_TRACKED_RA]);
    return PP_REASON_NONE;
}

/* Steps from a frame whose CFA is known to its caller. async-signal-safe. */
static enum pp_reason step_with_cfa(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t cfa)
{
    if (!restore_words(walk, rule, cfa)) {
        enum pp_reason reason = restore_all(walk, rule, cfa);
        if (reason != PP_REASON_NONE)
            return reason;
    }
    walk->at.valid &= PP_CALLEE_SAVED_MASK;
    walk->at.valid |= pp_registers_of_slots(rule->saved | rule->in_register);
    walk->at.valid &= ~pp_registers_of_slots(rule->lost);
    walk->at.registers[PP_REG_SP] = cfa;
    walk->at.exact = false;
    return PP_REASON_NONE;
}

/* Steps to the caller. *outermost: there is none. *end: CFA of this frame, set if known. async-signal-safe. */
static enum pp_reason step(struct walk *walk, const struct pp_unwind_rule *rule, uintptr_t *end, bool *outermost)
{
    uintptr_t cfa, sp = walk->at.registers[PP_REG_SP];
    *outermost = rule->lost >> PP_TRACKED_RA & 1;
    enum pp_reason reason = find_cfa(walk, rule, &cfa);
    if (reason != PP_REASON_NONE)
        return *outermost ? PP_REASON_NONE : reason;
    /* Only interrupted code may have an empty frame (vfork keeps its return address in a register). */
    if (cfa % WORD || cfa < sp || (cfa == sp && !walk->at.exact) || cfa > walk->at.top || cfa - sp > PP_MAX_FRAME_SIZE)
        return *outermost ? PP_REASON_NONE : PP_REASON_NATIVE_BAD_STACK;
    *end = cfa;
    return *outermost ? PP_REASON_NONE : step_with_cfa(walk, rule, cfa);
}

/* Returns the rule for a caller without unwind rows that is libc's: what calls main, or a thread's function, and then
 * ends the process or the thread with the result. Nothing but their arguments is between it and the end of the stack.
 * NULL: it is another. async-signal-safe. */
static const struct pp_unwind_rule *rule_of_start(const struct walk *walk, enum pp_reason why)
{
    static const struct pp_unwind_rule outermost = {
        .cfa_kind = PP_CFA_REGISTER, .cfa_register = PP_REG_SP, .lost = 1u << PP_TRACKED_RA};
    static _Atomic uintptr_t known[2]; /* where these calls return to */
    uint8_t code[PP_PASS_ON_SIZE];
    if (!pp_libc_kind.undescribed || why != PP_REASON_NATIVE_NO_RULE || walk->at.exact || !walk->at.readable ||
        walk->at.top - walk->at.registers[PP_REG_SP] > START_MAX)
        return NULL;
    for (unsigned i = 0; i < 2; i++)
        if (atomic_load_explicit(&known[i], memory_order_relaxed) == walk->at.pc)
            return &outermost;
    if (!pp_safe_read(pp_sys_getpid(), code, walk->at.pc, sizeof code))
        return NULL;
    for (unsigned i = 0; i < 2; i++)
        if (pp_passes_on_to(code, walk->at.pc, pp_libc_kind.ends[i])) {
            atomic_store_explicit(&known[i], walk->at.pc, memory_order_relaxed);
            return &outermost;
        }
    return NULL;
}

/* Finds the rule for an address in the tables, NULL if there is none. async-signal-safe. */
static const struct pp_unwind_rule *search_rule(struct walk *walk, uintptr_t address, enum pp_reason *why)
{
    const struct pp_module_range *range = find_range(walk, address);
    if (!range) {
        *why = walk->table ? PP_REASON_NATIVE_NO_MODULE : PP_REASON_NATIVE_NO_ROWS;
        return NULL;
    }
    *why = range->without ? PP_REASON_NATIVE_NO_RULE : PP_REASON_NATIVE_NO_ROWS;
    if (range->without || !range->row_count)
        return NULL;
    uint32_t row = pp_unwind_find_row(range, (uint32_t)(address - range->start));
    walk->row = row;
    uint32_t number = PP_ROW_RULE(range->rows[row].rule);
    const struct pp_unwind_rule *rule = &range->rules[number];
    if (number == PP_RULE_UNKNOWN)
        return NULL;
    *why = PP_REASON_NONE;
    if (rule->cfa_kind != PP_CFA_INVALID || rule->lost >> PP_TRACKED_RA & 1)
        return rule;
    *why = PP_REASON_NATIVE_NO_RULE;
    return NULL;
}

static inline unsigned cache_entry(uintptr_t address)
{
    return (unsigned)((uint64_t)address * 0x9E3779B97F4A7C15u >> 32) % PP_RULE_CACHE_SIZE;
}

/* Keeps the row that a search has found. async-signal-safe. */
static void keep_row(const struct walk *walk, const struct pp_unwind_rule *rule, struct pp_recent_rows *recent)
{
    const struct pp_module_range *range = walk->range;
    uint32_t i = recent->next++ % PP_RECENT_ROWS;
    uintptr_t start = range->start + range->rows[walk->row].pc;
    uintptr_t end = walk->row + 1 < range->row_count ? range->start + range->rows[walk->row + 1].pc : range->end;
    /* another thread may fork: its child must not find a torn entry */
    recent->places[i].size = 0;
    atomic_signal_fence(memory_order_seq_cst);
    recent->rules[i] = *rule;
    recent->places[i].start = start;
    atomic_signal_fence(memory_order_seq_cst);
    recent->places[i].size = end - start;
    recent->range = (uint32_t)(range - walk->table->ranges);
}

/* Finds the rule for the interrupted code: such addresses hardly ever recur, but their rows do. async-signal-safe. */
static const struct pp_unwind_rule *find_exact_rule(struct walk *walk, uintptr_t address, enum pp_reason *why)
{
    struct pp_recent_rows *recent = &walk->cache->recent;
    *why = PP_REASON_NONE;
    if (recent->generation == walk->table->generation) {
        for (unsigned i = 0; i < PP_RECENT_ROWS; i++)
            if (address - recent->places[i].start < recent->places[i].size)
                return &recent->rules[i];
        if (recent->range < walk->table->count)
            walk->range = &walk->table->ranges[recent->range];
    } else {
        memset(recent->places, 0, sizeof recent->places);
        atomic_signal_fence(memory_order_seq_cst);
        recent->generation = walk->table->generation;
    }
    const struct pp_unwind_rule *rule = search_rule(walk, address, why);
    if (rule)
        keep_row(walk, rule, recent);
    return rule;
}

/* Finds the rule in the cache, else in the tables. async-signal-safe. */
static const struct pp_unwind_rule *find_rule(struct walk *walk, uintptr_t address, enum pp_reason *why)
{
    if (!walk->cache || !walk->table)
        return search_rule(walk, address, why);
    if (walk->at.exact)
        return find_exact_rule(walk, address, why);
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

/* Steps out of code without unwind rows (a JIT's, perf's trampolines) if only an epilogue follows its call: add to the
 * stack pointer, pop, return. The thread will execute these very bytes. async-signal-safe. */
static bool step_by_epilogue(struct walk *walk)
{
    uint8_t code[EPILOGUE_MAX];
    uintptr_t sp = walk->at.registers[PP_REG_SP], ra = 0, value;
    if (walk->at.exact || !pp_safe_read(pp_sys_getpid(), code, walk->at.pc, sizeof code))
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
        if (step.kind == PP_EPILOGUE_POP_FRAME) {
            if (!load(walk, sp, &walk->at.registers[PP_REG_FP]) || !load(walk, sp + WORD, &ra))
                return false;
            walk->at.valid |= 1u << PP_REG_FP;
            sp += step.value;
            continue;
        }
        value = ra;
        if (!PP_RA_IN_REGISTER || step.kind == PP_EPILOGUE_POP) {
            if (!load(walk, sp, &value))
                return false;
            sp += WORD;
        }
        if (step.kind == PP_EPILOGUE_POP) {
            walk->at.registers[step.value] = value;
            walk->at.valid |= 1u << step.value;
            continue;
        }
        if (sp <= walk->at.registers[PP_REG_SP] || (PP_RA_IN_REGISTER && !ra))
            return false;
        walk->at.valid &= PP_CALLEE_SAVED_MASK;
        walk->at.registers[PP_REG_SP] = sp;
        walk->at.pc = pp_return_address(value);
        return true;
    }
    return false;
}

#endif
