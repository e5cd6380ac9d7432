/* SPDX-License-Identifier: Apache-2.0 */
#include "hot_path.h"

#include <stdlib.h>
#include <string.h>

#include "../query/application.h"
#include "../query/self.h"

#define OWN      0.25 /* of the samples, that the application's function must have */
#define COMMON   0.8  /* of an outermost call: a call in it that has as much says nothing */
#define MIN      0.25 /* of such a call: what has less says less than it */
#define UNPARTED 0.6  /* of the first call where they have parted: a call in it that has as much is said instead */

static const char importing[] = "<frozen importlib";

struct call {
    uint32_t parent, text, frame, package;
    uint64_t self_ns, ns, others_ns;
};

struct calls {
    PT_TABLE_OF(struct call) items; /* 0: the root; parents come first */
};
PT_DEFINE_ADD(static uint32_t add_call, struct calls, items, struct call, item->parent, item->text)

/* Returns whether the frame is a Python function, or CPU time without one, and not how Python imports. */
static bool is_shown(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    if (pt_self_frame(profile, number, PT_NONE) != number)
        return false;
    return frame->kind != PP_FRAME_PYTHON || strncmp(pt_string(profile, profile->functions.items[frame->subject].file),
                                                     importing, sizeof importing - 1) != 0;
}

/* Returns the calls of functions, whatever their lines and the native code between them. The caller frees the items. */
static struct calls calls_of(const struct pt_profile *profile, const uint32_t *texts, const uint32_t *packages,
                             const uint64_t *ns, const uint64_t *others_ns)
{
    struct calls calls = {0};
    uint32_t *call_of = pt_alloc(profile->nodes.count, sizeof *call_of);
    add_call(&calls, &(struct call){.parent = PT_NONE, .frame = PT_NONE});
    for (uint32_t i = 0; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        call_of[i] = i ? call_of[node->parent] : 0;
        if (i && is_shown(profile, node->frame))
            call_of[i] = add_call(&calls, &(struct call){.parent = call_of[i],
                                                         .text = texts[node->frame],
                                                         .frame = node->frame,
                                                         .package = packages[i]});
        calls.items.items[call_of[i]].ns += ns[i];
        calls.items.items[call_of[i]].others_ns += others_ns[i];
    }
    for (uint32_t i = 0; i < calls.items.count; i++)
        calls.items.items[i].self_ns = calls.items.items[i].ns;
    for (uint32_t i = calls.items.count; --i;) {
        calls.items.items[calls.items.items[i].parent].ns += calls.items.items[i].ns;
        calls.items.items[calls.items.items[i].parent].others_ns += calls.items.items[i].others_ns;
    }
    free(call_of);
    return calls;
}

/* Returns, by call, the call in it that has most; 0: there is none. The caller frees. */
static uint32_t *largest_calls(const struct calls *calls)
{
    uint32_t *largest = pt_alloc(calls->items.count, sizeof *largest);
    for (uint32_t i = 1; i < calls->items.count; i++) {
        uint32_t *of_parent = &largest[calls->items.items[i].parent];
        if (calls->items.items[i].ns > (*of_parent ? calls->items.items[*of_parent].ns : 0))
            *of_parent = i;
    }
    return largest;
}

/* Returns the application's function that most samples are in, what it calls outside of it included, unless it is what
 * starts the program: what no library calls, and what leads to the other samples, too. What middleware calls counts for
 * the packages. */
static struct pt_hot_function hot_application_function(const struct pt_profile *profile, const struct calls *calls)
{
    const struct call *items = calls->items.items;
    struct pt_hot_function hot = {0, 0};
    uint64_t *ns = pt_alloc(profile->strings.count, sizeof *ns); /* by text */
    bool *in_library = pt_alloc(calls->items.count, sizeof *in_library);
    uint32_t *own = pt_alloc(calls->items.count, sizeof *own);
    for (uint32_t i = 1; i < calls->items.count; i++) {
        const struct call *call = &items[i];
        bool application = pt_is_application(profile, call->frame);
        bool apart = items[call->parent].others_ns && call->parent && !call->others_ns;
        in_library[i] = in_library[call->parent] || !application;
        own[i] = application && (in_library[call->parent] || apart) ? call->text : own[call->parent];
        if (own[i] && call->package)
            own[i] = call->package;
        if (!own[i])
            continue;
        ns[own[i]] += call->self_ns;
        if (ns[own[i]] > hot.ns)
            hot = (struct pt_hot_function){own[i], ns[own[i]]};
    }
    free(own);
    free(in_library);
    free(ns);
    return hot;
}

/* Goes along the largest calls, and returns the text of the last that is worth saying; 0: there is none. */
static uint32_t walk(const struct pt_profile *profile, const struct calls *calls, const uint32_t *largest)
{
    const struct call *items = calls->items.items;
    uint32_t at = 0;
    bool starting = true, parted = false; /* only the application's have been called; not all samples are in the call */
    double first_ns = 0;                  /* where they have parted */
    for (uint32_t next = largest[0]; next; next = largest[at = next]) {
        double ns = (double)items[next].ns;
        parted = parted || !(starting || (double)items[at].ns >= COMMON * (double)items[largest[0]].ns);
        if (parted && first_ns <= 0)
            first_ns = (double)items[at].ns;
        if (at && ns < (parted ? UNPARTED * first_ns : MIN * (double)items[at].ns))
            break;
        starting = starting && pt_is_application(profile, items[next].frame);
    }
    return items[at].text;
}

/* Returns what was used in the function and all that it called. */
static uint64_t total_of(const struct calls *calls, uint32_t text)
{
    uint64_t total_ns = 0;
    bool *inside = pt_alloc(calls->items.count, sizeof *inside);
    for (uint32_t i = 1; i < calls->items.count; i++) {
        const struct call *call = &calls->items.items[i];
        inside[i] = inside[call->parent] || call->text == text;
        total_ns += inside[i] ? call->self_ns : 0;
    }
    free(inside);
    return total_ns;
}

struct pt_hot_function pt_hot_path_function(const struct pt_profile *profile, const uint32_t *texts,
                                            const uint32_t *packages, const uint64_t *ns, const uint64_t *others_ns)
{
    struct calls calls = calls_of(profile, texts, packages, ns, others_ns);
    struct pt_hot_function hot = hot_application_function(profile, &calls);
    if ((double)hot.ns < OWN * (double)calls.items.items[0].ns) {
        uint32_t *largest = largest_calls(&calls);
        hot.text = walk(profile, &calls, largest);
        hot.ns = total_of(&calls, hot.text);
        free(largest);
    }
    PT_FREE_TABLE(&calls.items);
    return hot;
}
