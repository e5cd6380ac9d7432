/* SPDX-License-Identifier: Apache-2.0 */
#include "native_step.h"

const struct pp_module_table *_Atomic pp_module_table;
struct pp_unloads pp_unloads;

/* Keeps the state of a walk that may go on once the flush thread knows more. async-signal-safe. */
static void stop(const struct walk *walk, struct pp_native_stack *stack)
{
    stack->continuable = stack->stopped && (stack->reason == PP_REASON_NATIVE_NO_ROWS ||
                                            (stack->reason == PP_REASON_NATIVE_NO_MODULE && !stack->modules_checked));
    if (stack->continuable)
        *stack->stopped = walk->at;
}

/* Returns how the walk has arrived at this frame; pc 0: it cannot be linked. async-signal-safe. */
static inline struct pp_native_link link_here(const struct walk *walk)
{
    bool linked = walk->links && !walk->at.exact && !walk->at.other_stack && walk->at.readable;
    return (struct pp_native_link){
        .pc = linked && is_known(walk, PP_REG_FP) ? walk->at.pc : 0,
        .sp = walk->at.registers[PP_REG_SP],
        .fp = walk->at.registers[PP_REG_FP],
    };
}

/* Links the frame with its caller if the rule is as native_links.h wants it; `link`: of the frame. async-signal-safe.
 */
static void link_frame(struct walk *walk, const struct pp_unwind_rule *rule, struct pp_native_link *link, uintptr_t cfa)
{
    bool outermost = rule->lost >> PP_TRACKED_RA & 1;
    uintptr_t lowest = cfa + (uintptr_t)(intptr_t)rule->lowest;
    link->fp_at = rule->saved >> PP_TRACKED_FP & 1 ? rule->where[PP_TRACKED_FP] : 0;
    if (!link->pc || rule->cfa_kind != PP_CFA_REGISTER ||
        (rule->cfa_register != PP_REG_SP && rule->cfa_register != PP_REG_FP) ||
        (!outermost && (!rule->lowest || lowest < link->sp || cfa - link->sp > PP_STACK_NEAR ||
                        rule->where[PP_TRACKED_RA] != PP_RETURN_ADDRESS_AT(link->fp_at)))) {
        pp_links_drop(walk->links);
        return;
    }
    pp_links_add(walk->links, link);
}

/* Finishes the walk with the frames of the last walk if it arrives at these as the last walk did. async-signal-safe. */
static bool join_last_walk(struct walk *walk, const struct pp_native_link *at, struct pp_native_stack *stack)
{
    struct pp_native_links *last = walk->links;
    uint32_t from;
    if (!at->pc || !pp_links_join(last, at, walk->at.top, stack->max - stack->count, &from))
        return false;
    walk->cache->walked = stack->count;
    struct pp_native_frame *frame = &stack->frames[stack->count];
    for (const struct pp_native_link *link = &last->links[from]; link != last->links; link--)
        *frame++ = (struct pp_native_frame){link->pc - 1, link[-1].sp};
    *frame = (struct pp_native_frame){last->links->pc - 1, last->end};
    stack->count += from + 1;
    stack->reason = PP_REASON_NONE;
    pp_links_end(last, from + 1, walk->table->generation, last->end);
    return true;
}

/* Walks from the state of `walk` to the outermost frame. async-signal-safe. */
static void walk_outward(struct walk *walk, struct pp_native_stack *stack)
{
    bool outermost = false;
    stack->continuable = false;
    stack->frame_pointer = 0;
    do {
        struct pp_native_link link = link_here(walk);
        if (join_last_walk(walk, &link, stack))
            return;
        stack->reason = PP_REASON_NATIVE_TOO_DEEP;
        if (stack->count == stack->max || walk->copy_count >= MAX_COPIES)
            break;
        struct pp_native_frame *frame = &stack->frames[stack->count++];
        uintptr_t lookup = walk->at.exact ? walk->at.pc : walk->at.pc - 1;
        frame->ip = lookup;
        frame->cfa = walk->at.registers[PP_REG_SP]; /* unless a rule gives its end */
        const struct pp_unwind_rule *rule = find_rule(walk, lookup, &stack->reason);
        if (walk->at.replaced)
            frame->ip = PP_UNLOADED_CODE;
        if (!rule && stack->reason == PP_REASON_NATIVE_NO_MODULE && walk->at.readable && step_by_epilogue(walk)) {
            frame->cfa = walk->at.registers[PP_REG_SP];
            stack->reason = PP_REASON_NONE;
            walk->at.replaced = false;
            if (walk->links)
                pp_links_drop(walk->links);
            continue;
        }
        if (!rule)
            rule = rule_of_start(walk, stack->reason);
        if (!rule) {
            stop(walk, stack);
            break;
        }
        if (!walk->at.readable) {
            stack->reason = PP_REASON_NATIVE_BAD_STACK;
        } else if (rule->cfa_kind == PP_CFA_SIGNAL) {
            frame->ip = walk->at.pc; /* the kernel "returns" to the restorer's first byte: no call precedes it */
            stack->reason = step_out_of_signal(walk, rule, &frame->cfa);
        } else {
            stack->reason = step(walk, rule, &frame->cfa, &outermost);
        }
        if (walk->links)
            link_frame(walk, rule, &link, frame->cfa);
    } while (stack->reason == PP_REASON_NONE && !outermost && walk->at.pc != 0);
    /* a zero return address is the first frame of a stack only near its top; elsewhere the frame was wrong */
    if (stack->reason == PP_REASON_NONE && !outermost &&
        walk->at.top - walk->at.registers[PP_REG_SP] > PP_STACK_TOP_MAX)
        stack->reason = PP_REASON_NATIVE_BAD_STACK;
    if (walk->cache)
        walk->cache->walked = stack->count;
    if (walk->links && stack->reason == PP_REASON_NONE && outermost)
        pp_links_end(walk->links, 0, walk->table->generation, stack->frames[stack->count - 1].cfa);
    stack->frame_pointer = is_known(walk, PP_REG_FP) ? walk->at.registers[PP_REG_FP] : 0;
}

/* Prefetches the frames of the last walk, most of which are still there. Each step waits for two cache misses, its
 * rule's and its stack's, and the next frame is not known before; this way the misses overlap. A useless prefetch does
 * no harm, wherever it points. async-signal-safe. */
static void prefetch_last_walk(const struct walk *walk, const struct pp_native_stack *stack)
{
    const struct pp_rule_cache *cache = stack->cache;
    if (!cache || !walk->table)
        return;
    for (uint32_t i = 0; i < cache->walked; i++) {
        __builtin_prefetch(&cache->entries[cache_entry(stack->frames[i].ip)]);
        __builtin_prefetch((const void *)(stack->frames[i].cfa - 2 * WORD));
    }
    for (uint32_t i = cache->last.kept; i; i--)
        __builtin_prefetch((const void *)(cache->last.links[i - 1].sp - 2 * WORD));
}

/* Has the walk go by the caller's table, else by the published one. What earlier walks have found holds only if all
 * modules are still there. async-signal-safe. */
static inline void use_table(struct walk *walk, const struct pp_native_stack *stack)
{
    walk->outdated = !stack->table && pp_modules_may_be_gone();
    walk->table = stack->table ? stack->table : atomic_load_explicit(&pp_module_table, memory_order_acquire);
    walk->settled = !stack->table || stack->settled;
    walk->time = stack->time;
    walk->cache = walk->outdated ? NULL : stack->cache;
}

void pp_native_walk(const ucontext_t *registers, uintptr_t stack_top, struct pp_native_stack *stack)
{
    struct walk walk;
    use_table(&walk, stack);
    walk.links = walk.cache && walk.table ? &walk.cache->last : NULL;
    walk.range = NULL;
    walk.stack = NULL;
    prefetch_last_walk(&walk, stack);
    if (walk.links)
        pp_links_begin(walk.links, walk.table->generation);
    pp_context_registers(registers, walk.at.registers);
    walk.at.valid = PP_ALL_REGISTERS_MASK;
    walk.at.pc = pp_context_pc(registers);
    walk.at.exact = walk.at.interrupted = true;
    walk.at.replaced = false;
    walk.copy_count = 0;
    walk.copy_start = 0;
    walk.at.thread_low = stack->stack_low;
    walk.at.thread_top = stack_top;
    enter_stack(&walk, walk.at.registers[PP_REG_SP]);
    stack->count = 0;
    walk_outward(&walk, stack);
}

/* Starts a walk that goes on with the frames found so far. async-signal-safe. */
static void start_again(struct walk *walk, const struct pp_native_stack *stack)
{
    use_table(walk, stack);
    walk->links = NULL;
    walk->range = NULL;
    walk->stack = stack->copy;
    walk->copy_count = 0;
    walk->copy_start = 0;
}

void pp_native_continue(struct pp_native_stack *stack)
{
    struct walk walk;
    start_again(&walk, stack);
    walk.at = *stack->stopped;
    stack->count--; /* the frame whose rule was missing is found again */
    walk_outward(&walk, stack);
}

bool pp_native_saves_frame_pointer(const struct pp_native_stack *stack, uintptr_t ip)
{
    struct walk walk;
    enum pp_reason why;
    start_again(&walk, stack);
    const struct pp_unwind_rule *rule = search_rule(&walk, ip, &why);
    return rule && rule->saved >> PP_TRACKED_FP & 1;
}

bool pp_native_read(const struct pp_native_stack *stack, void *to, uintptr_t from, size_t size)
{
    return stack->copy ? read_copy(stack->copy, to, from, size) : pp_safe_read(pp_sys_getpid(), to, from, size);
}

/* Starts a walk where the frames found so far end. async-signal-safe. */
static void start_at_end(struct walk *walk, const struct pp_native_stack *stack, uintptr_t stack_top)
{
    uintptr_t end = stack->count ? stack->frames[stack->count - 1].cfa : 0;
    start_again(walk, stack);
    walk->at = (struct pp_walk_state){.low = end, .top = stack_top, .valid = 1u << PP_REG_SP, .readable = true};
    walk->at.registers[PP_REG_SP] = end;
}

/* Appends a frame; false if its CFA is out of bounds or there is no room. async-signal-safe. */
static bool append_frame(struct pp_native_stack *stack, const struct walk *walk, uintptr_t ip, uintptr_t cfa)
{
    stack->reason = PP_REASON_NATIVE_BAD_STACK;
    if (cfa % WORD || cfa <= walk->at.low || cfa > walk->at.top || cfa - walk->at.low > PP_MAX_FRAME_SIZE)
        return false;
    stack->reason = PP_REASON_NATIVE_TOO_DEEP;
    if (stack->count == stack->max)
        return false;
    stack->frames[stack->count++] = (struct pp_native_frame){ip, cfa};
    return true;
}

void pp_native_resume(uintptr_t ip, uintptr_t cfa, uintptr_t stack_top, struct pp_native_stack *stack)
{
    struct walk walk;
    start_at_end(&walk, stack, stack_top);
    const struct pp_unwind_rule *rule = find_rule(&walk, ip, &stack->reason);
    if (!rule || rule->cfa_kind == PP_CFA_SIGNAL || !append_frame(stack, &walk, ip, cfa))
        return;
    stack->reason = step_with_cfa(&walk, rule, cfa);
    if (stack->reason == PP_REASON_NONE)
        walk_outward(&walk, stack);
}

void pp_native_resume_at_frame_pointer(uintptr_t ip, uintptr_t stack_top, struct pp_native_stack *stack)
{
    struct walk walk;
    start_at_end(&walk, stack, stack_top);
    uintptr_t at = stack->frame_pointer;
    if (!append_frame(stack, &walk, ip, at + 2 * WORD))
        return;
    if (!load(&walk, at, &walk.at.registers[PP_REG_FP]) || !load(&walk, at + WORD, &walk.at.pc)) {
        stack->reason = PP_REASON_NATIVE_BAD_STACK;
        return;
    }
    walk.at.pc = pp_return_address(walk.at.pc);
    walk.at.valid |= 1u << PP_REG_FP;
    walk.at.registers[PP_REG_SP] = at + 2 * WORD;
    walk_outward(&walk, stack);
}
