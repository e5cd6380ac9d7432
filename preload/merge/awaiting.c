/* SPDX-License-Identifier: Apache-2.0 */
#include "awaiting.h"

void pp_awaiting_add(struct pp_slot *slot, struct pp_awaiting *awaiting, const struct pp_record_context *record)
{
    const struct pp_record_frame *frames = (const struct pp_record_frame *)(record + 1);
    awaiting->count = record->frames;
    for (uint32_t i = 0; i < record->frames; i++) {
        uint32_t number = 0; /* which lasts: the cache entry may be redefined before the next record */
        pp_codes_find(slot, record->epoch, frames[i].entry, &number);
        awaiting->frames[i] = (struct pp_code_place){record->epoch, number, frames[i].unit};
    }
}

const struct pp_awaiting *pp_awaiting_find(const struct pp_slot *slot, uint32_t known, unsigned n)
{
    known &= slot->flush.contexts;
    return n < PP_MAX_AWAITERS && known & 1u << (PP_CONTEXT_AWAITER + n) ? &slot->awaiting[n] : NULL;
}
