/* What the workload of contexts.py says a sample belongs to, and whether what was captured agrees. */
#ifndef TORTURE_CONTEXTS_H
#define TORTURE_CONTEXTS_H

#include "../../preload/capture/slot.h"
#include "torture.h"

/* A mark, by enum pp_context_kind: what the sample belongs to of that kind is the text with this number. */
enum {
    CONTEXTS_UNKNOWN = 0, /* any text that was added, or nothing */
    CONTEXTS_NONE = 255,
};

/* The bytes of the marks. From then on samples are compared by their contexts only. */
TORTURE_EXPORT void contexts_marks(const uint8_t *marks);
/* Adds a text that samples may belong to, and says its number among those of that kind. */
TORTURE_EXPORT uint32_t contexts_text(uint32_t kind, const char *text);
/* What is read of this kind is read from the Python stack: where that is refused, nothing is known of it. */
TORTURE_EXPORT void contexts_by_frames(uint32_t kind);
/* Searches for sources, as the flush thread does. */
TORTURE_EXPORT void contexts_refresh(void);
TORTURE_EXPORT void contexts_report(void);
/* 3.11+: gives the frame of a coroutine this owner, and says which it had. */
TORTURE_EXPORT uint32_t contexts_frame_owner(uint8_t *coroutine, uint32_t owner);

bool contexts_are_on(void);
/* An awaiter's text has "NAME > FUNCTION > FUNCTION": those of the workload in which it waits. A span's has "NAME TRACE
 * SPAN": its ids, in hexadecimal digits. */
void contexts_consume(struct pp_slot *slot, const struct pp_record_context *record);
/* Returns NULL, or how the sample's contexts are wrong. */
const char *contexts_compare(const struct pp_record_sample *sample);

#endif
