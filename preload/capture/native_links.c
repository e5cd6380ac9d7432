/* SPDX-License-Identifier: Apache-2.0 */
#include "native_links.h"
#include "../arch/arch.h"
#include <stdatomic.h>
#include <string.h>

void pp_links_begin(struct pp_native_links *links, uint32_t generation)
{
    links->added = 0;
    if (links->generation != generation)
        links->kept = 0;
    /* another thread may fork: its child must not find half of a walk */
    links->generation = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

static uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

bool pp_links_join(struct pp_native_links *links, const struct pp_native_link *at, uintptr_t top, uint32_t room,
                   uint32_t *from)
{
    while (links->kept && links->links[links->kept - 1].sp < at->sp)
        links->kept--;
    if (!links->kept || links->kept > room || links->end > top)
        return false;
    const struct pp_native_link *inner = &links->links[links->kept - 1], *outermost = links->links;
    if (inner->sp != at->sp || inner->pc != at->pc || inner->fp != at->fp)
        return false;
    for (; inner != outermost; inner--) {
        const struct pp_native_link *outer = inner - 1;
        /* one way for both: which frames save the frame pointer cannot be predicted */
        intptr_t saved_at = PP_RETURN_ADDRESS_AT(inner->fp_at), fp_at = inner->fp_at ? inner->fp_at : saved_at;
        uintptr_t saved = word_at(outer->sp + (uintptr_t)saved_at);
        uintptr_t fp = inner->fp_at ? outer->fp : saved;
        if (pp_return_address(saved) != outer->pc || word_at(outer->sp + (uintptr_t)fp_at) != fp) {
            links->kept = (uint32_t)(inner - outermost);
            return false;
        }
    }
    *from = links->kept - 1;
    return true;
}

void pp_links_add(struct pp_native_links *links, const struct pp_native_link *left)
{
    if (links->added == PP_MAX_LINKS)
        links->added = 0;
    links->added++;
    links->links[PP_MAX_LINKS - links->added] = *left;
    if (links->kept > PP_MAX_LINKS - links->added)
        links->kept = PP_MAX_LINKS - links->added;
}

void pp_links_end(struct pp_native_links *links, uint32_t joined, uint32_t generation, uintptr_t end)
{
    memmove(&links->links[joined], &links->links[PP_MAX_LINKS - links->added], links->added * sizeof links->links[0]);
    links->kept = joined + links->added;
    links->end = end;
    atomic_signal_fence(memory_order_seq_cst);
    links->generation = generation;
}
