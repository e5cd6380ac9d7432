/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/hash.h"
#include "context.h"
#include "recall.h"
#include <string.h>

bool pp_context_put(const struct pp_context_reader *reader, enum pp_context_kind kind, const struct pp_context *context,
                    uint32_t *known)
{
    struct pp_slot *slot = reader->slot;
    uint8_t *characters = slot->scratch->context_text;
    const struct pp_record_text *text = &context->text.record;
    if (text->bytes && !pp_object_copy(&reader->objects, characters, context->text.data, text->bytes)) {
        pp_context_lacks(reader, PP_REASON_CONTEXT_NAME);
        return true;
    }
    uint64_t digest = context->identity ? pp_hash(characters, text->bytes) + context->identity + context->trace_id[0] +
                                              context->frames_digest + text->width
                                        : 0;
    *known |= 1u << kind;
    if (digest == slot->thread.contexts[kind]) {
        pp_recall_put(reader, kind, digest);
        return true;
    }
    uint32_t frame_bytes = context->frames * (uint32_t)sizeof(struct pp_record_frame);
    uint32_t size = ((uint32_t)sizeof(struct pp_record_context) + frame_bytes + text->bytes + 7) & ~7u;
    struct pp_record_context *record = pp_ring_reserve(&slot->ring, size, PP_RECORD_CONTEXT);
    if (!record)
        return false;
    record->identity = context->identity;
    memcpy(record->trace_id, context->trace_id, sizeof record->trace_id);
    record->kind = kind;
    record->no_id = context->no_id;
    record->text = *text;
    record->epoch = slot->code_epoch;
    record->frames = context->frames;
    memcpy(record + 1, slot->scratch->awaiting_resolved, frame_bytes);
    memcpy((uint8_t *)(record + 1) + frame_bytes, characters, text->bytes);
    pp_ring_commit(&slot->ring, record);
    slot->thread.contexts[kind] = digest;
    pp_recall_put(reader, kind, digest);
    return true;
}
