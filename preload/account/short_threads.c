/* SPDX-License-Identifier: Apache-2.0 */
#include "short_threads.h"
#include <string.h>

#define SHORT_MAX_PERIODS 4
#define GROUPS            64   /* of threads, by kind and length */
#define CLAIMS            128  /* stacks kept of a group */
#define WAITING_MAX       4096 /* ended threads without a stack yet */
#define WAITING_FLUSHES   30   /* flushes after which a thread is given up */
#define FAIR_PARTS        2
#define PUSHED_PARTS      32 /* where p is not known */
#define PUSHED_STACKS     32 /* so many share what was pushed off at once, */
#define PUSHED_FLUSHES    2  /* and fewer when no more have come in so many flushes */

struct claim {
    struct pp_leaf leaf;
    int64_t due_ns;            /* what the stack represents and has not drawn yet, its own weight included, */
    int64_t more_ns;           /* and what it may draw beyond that */
    uint64_t pushed_budget_ns; /* of what was pushed off */
};

static struct group {
    uintptr_t kind;
    unsigned length; /* half octaves of T */
    unsigned claims, next, oldest;
    unsigned waiting; /* a group is replaced by another only when no thread waits in it */
    struct claim claim[CLAIMS];
} groups[GROUPS];
static unsigned next_group; /* that many have been in use */

static struct waiting {
    uint32_t group, thread, flushes;
    uint64_t tail_ns;
    bool pushed_off;
} waiting[WAITING_MAX];
static unsigned waiting_count;
static uint64_t waiting_ns;

static unsigned half_octaves(uint64_t ns)
{
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns | 1);
    /* sqrt(2) of the octave's start */
    return 2 * octave + ((double)ns >= 1.41421356 * (double)((uint64_t)1 << octave));
}

/* GROUPS when there is no room. */
static unsigned group_of(uintptr_t kind, uint64_t cpu_ns)
{
    unsigned length = half_octaves(cpu_ns), replaceable = GROUPS;
    for (unsigned i = 0; i < GROUPS; i++)
        if (groups[i].length == length && groups[i].kind == kind)
            return i;
    for (unsigned i = 0; i < GROUPS && replaceable == GROUPS; i++, next_group++)
        if (!groups[next_group % GROUPS].waiting)
            replaceable = next_group % GROUPS;
    if (replaceable < GROUPS) {
        memset(&groups[replaceable], 0, sizeof groups[replaceable]);
        groups[replaceable].kind = kind;
        groups[replaceable].length = length;
    }
    return replaceable;
}

/* Keeps the newest stacks. A stack that is replaced leaves what it had not drawn to its successor. */
static void add_claim(struct group *group, struct pp_leaf leaf, uint64_t part_ns)
{
    struct claim before = {0};
    unsigned at = group->claims;
    if (at < CLAIMS) {
        group->claims++;
    } else {
        at = group->oldest++ % CLAIMS;
        before = group->claim[at];
    }
    group->claim[at] = (struct claim){leaf, before.due_ns + (int64_t)part_ns - (int64_t)leaf.weight_ns,
                                      before.more_ns + (int64_t)((FAIR_PARTS - 1) * part_ns), PUSHED_PARTS * part_ns};
}

bool pp_short_threads_end(const struct pp_ended_thread *ended, uint64_t period_ns, uint64_t tick_ns)
{
    /* also where events are finer than the ticks: the first sample comes at a tick */
    uint64_t between_ns = period_ns > tick_ns ? period_ns : tick_ns;
    if (ended->cpu_ns == 0 || ended->cpu_ns > SHORT_MAX_PERIODS * between_ns)
        return false;
    unsigned group = group_of(ended->kind, ended->cpu_ns);
    if (group == GROUPS || waiting_count == WAITING_MAX)
        return false;
    /* T / p(T): a thread is sampled at the first tick of its life, and ticks come at an unknown phase: p = T / tick_ns
     * until it is certain */
    uint64_t represents_ns = ended->cpu_ns > tick_ns ? ended->cpu_ns : tick_ns;
    uint64_t part = ended->samples ? represents_ns / ended->samples : 0;
    for (uint32_t i = 0; i < ended->samples; i++)
        add_claim(&groups[group], ended->leaves[i], part);
    waiting[waiting_count++] = (struct waiting){group, ended->thread, 0, ended->tail_ns, ended->pushed_off};
    groups[group].waiting++;
    waiting_ns += ended->tail_ns;
    return true;
}

static bool credit_pushed_off(const struct waiting *thread, bool forgetting, pp_short_credit *credit)
{
    struct group *group = &groups[thread->group];
    if (!forgetting && thread->flushes < PUSHED_FLUSHES && group->claims < PUSHED_STACKS)
        return false;
    for (unsigned tries = group->claims; tries > 0; tries--) {
        struct claim *claim = &group->claim[group->next++ % group->claims];
        if (claim->pushed_budget_ns < thread->tail_ns)
            continue;
        claim->pushed_budget_ns -= thread->tail_ns;
        credit(thread->thread, claim->leaf, thread->tail_ns);
        return true;
    }
    return false;
}

/* The stack to which most is due comes first: samples that came late in their threads' lives weigh more by themselves,
 * and all represent as much. What was pushed off draws on budgets of its own: it would leave nothing to those that were
 * not, which may have no more than the fair parts. */
static bool credit_one(const struct waiting *thread, bool forgetting, pp_short_credit *credit)
{
    struct group *group = &groups[thread->group];
    struct claim *most = NULL;
    if (thread->pushed_off)
        return credit_pushed_off(thread, forgetting, credit);
    for (unsigned i = 0; i < group->claims; i++)
        if (!most || group->claim[i].due_ns > most->due_ns)
            most = &group->claim[i];
    if (!most || most->due_ns + most->more_ns < (int64_t)thread->tail_ns)
        return false;
    most->due_ns -= (int64_t)thread->tail_ns;
    credit(thread->thread, most->leaf, thread->tail_ns);
    return true;
}

/* Most processes have no short threads: memory that was never in use is not touched, as its pages would be made for
 * that. */
static void forget_groups(void)
{
    memset(groups, 0, (next_group < GROUPS ? next_group : GROUPS) * sizeof *groups);
    next_group = 0;
}

void pp_short_threads_settle(pp_short_credit *credit, void (*unsampled)(uint32_t thread, uint64_t cpu_ns),
                             bool forgetting)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < waiting_count; i++) {
        struct waiting *thread = &waiting[i];
        bool credited = credit_one(thread, forgetting, credit);
        if (!credited && !forgetting && ++thread->flushes < WAITING_FLUSHES) {
            waiting[kept++] = *thread;
            continue;
        }
        waiting_ns -= thread->tail_ns;
        groups[thread->group].waiting--;
        if (!credited)
            unsampled(thread->thread, thread->tail_ns);
    }
    waiting_count = kept;
    if (forgetting)
        forget_groups();
}

uint64_t pp_short_threads_waiting_ns(void)
{
    return waiting_ns;
}

void pp_short_threads_reset(void)
{
    forget_groups();
    waiting_count = 0;
    waiting_ns = 0;
}
