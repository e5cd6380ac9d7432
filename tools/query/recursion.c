/* SPDX-License-Identifier: Apache-2.0 */
#include "recursion.h"

#include "../model/frame_text.h"

#define LONGEST 8 /* frames that repeat: some functions, or one with the interpreter's between */

/* Sets the innermost 2 * LONGEST nodes of the stack, and returns how many there are. */
static uint32_t innermost(const struct pt_profile *profile, uint32_t node, uint32_t nodes[2 * LONGEST])
{
    uint32_t count = 0;
    for (; node && count < 2 * LONGEST; node = profile->nodes.items[node].parent)
        nodes[count++] = node;
    return count;
}

/* Returns whether the innermost `length` frames are functions that the same number of frames further out are, too. */
static bool repeats(const struct pt_profile *profile, const uint32_t *texts, const uint32_t *nodes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        uint32_t inner = profile->nodes.items[nodes[i]].frame, outer = profile->nodes.items[nodes[i + length]].frame;
        if (texts[inner] != texts[outer] || profile->frames.items[inner].kind == PP_FRAME_PSEUDO)
            return false;
    }
    return true;
}

/* Returns the stack without the outer one of two repeats at its inner end. */
static uint32_t without_repeat(struct pt_profile *profile, const uint32_t *texts, uint32_t node)
{
    uint32_t nodes[2 * LONGEST], count = innermost(profile, node, nodes);
    for (uint32_t length = 1; length <= count / 2; length++) {
        if (!repeats(profile, texts, nodes, length))
            continue;
        node = profile->nodes.items[nodes[2 * length - 1]].parent;
        for (uint32_t i = length; i--;)
            node = pt_add_node(profile, node, profile->nodes.items[nodes[i]].frame);
        break;
    }
    return node;
}

void pt_fold_recursion(struct pt_profile *profile)
{
    uint32_t nodes = profile->nodes.count, count;
    PT_AUTO_FREE uint32_t *texts = pt_frame_texts(profile, false), *folded = pt_alloc(nodes, sizeof *folded);
    for (uint32_t i = 1; i < nodes; i++) {
        const struct pt_node node = profile->nodes.items[i];
        folded[i] = without_repeat(profile, texts, pt_add_node(profile, folded[node.parent], node.frame));
    }
    const struct pt_sample *samples = pt_retake_samples(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct pt_sample sample = samples[i];
        sample.node = folded[sample.node];
        pt_add_sample(profile, &sample);
    }
}
