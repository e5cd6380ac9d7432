#include "contexts.h"
#include "../../preload/capture/capture.h"
#include "../../preload/labels/context_facts.h"
#include "../../preload/merge/code_objects.h"
#include "../../preload/merge/record_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS 250
#define BYTES 512

static const volatile uint8_t *marks;
static struct kind {
    char texts[TEXTS][BYTES];
    unsigned count;
    bool present, by_frames;
    char current[BYTES];
    uint64_t right, wrong, missing, torn, none, others;
} kinds[PP_CONTEXT_KINDS];

void contexts_marks(const uint8_t *address)
{
    marks = address;
}

uint32_t contexts_text(uint32_t number, const char *text)
{
    struct kind *kind = &kinds[number];
    for (uint32_t i = 0; i < kind->count; i++)
        if (strcmp(kind->texts[i], text) == 0)
            return i + 1;
    if (kind->count == TEXTS)
        abort();
    snprintf(kind->texts[kind->count], BYTES, "%s", text);
    return ++kind->count;
}

void contexts_by_frames(uint32_t kind)
{
    kinds[kind].by_frames = true;
}

void contexts_refresh(void)
{
    pp_context_facts_refresh(false);
}

uint32_t contexts_frame_owner(uint8_t *coroutine, uint32_t owner)
{
    const struct pp_python_layout *layout = &atomic_load(&pp_capture.pythons[0])->layout;
    uint8_t *place = coroutine + layout->generator.frame + layout->frame.owner, before = *place;
    *place = (uint8_t)owner;
    return before;
}

bool contexts_are_on(void)
{
    return marks != NULL;
}

void contexts_consume(struct pp_slot *slot, const struct pp_record_context *record)
{
    struct kind *kind = &kinds[record->kind];
    const struct pp_record_frame *frames = (const struct pp_record_frame *)(record + 1);
    const uint8_t *characters = (const uint8_t *)(frames + record->frames);
    kind->present = record->identity != 0;
    size_t used = pp_record_text_utf8(kind->current, BYTES - 1, &record->text, characters);
    kind->current[used] = 0;
    if (record->kind == PP_CONTEXT_SPAN)
        used += (size_t)snprintf(kind->current + used, BYTES - used, " %016llx%016llx %016llx%s",
                                 (unsigned long long)record->trace_id[1], (unsigned long long)record->trace_id[0],
                                 (unsigned long long)record->identity, record->no_id ? " (made up)" : "");
    for (uint32_t i = 0; i < record->frames; i++) {
        uint32_t number;
        const struct pp_code *code = pp_codes_find(slot, record->epoch, frames[i].entry, &number);
        if (!code || strstr(code->filename, "torture/contexts"))
            used += (size_t)snprintf(kind->current + used, BYTES - used, " > %s", code ? code->qualname : "?");
    }
}

static bool is_one_of(const struct kind *kind)
{
    for (unsigned i = 0; i < kind->count; i++)
        if (strcmp(kind->texts[i], kind->current) == 0)
            return true;
    return false;
}

static const char *compare(const struct pp_record_sample *sample, unsigned number)
{
    struct kind *kind = &kinds[number];
    uint8_t mark = marks[number];
    bool present = kind->present && sample->contexts & 1u << number;
    if (!present && sample->python_reason != PP_REASON_NONE && kind->by_frames) {
        kind->torn++;
        return NULL;
    }
    if (!present) {
        kind->none += mark == CONTEXTS_NONE;
        kind->missing += mark != CONTEXTS_NONE && mark != CONTEXTS_UNKNOWN;
        return mark != CONTEXTS_NONE && mark != CONTEXTS_UNKNOWN ? "a context is missing" : NULL;
    }
    if (mark == CONTEXTS_UNKNOWN && is_one_of(kind)) {
        kind->others++;
        return NULL;
    }
    if (mark != CONTEXTS_UNKNOWN && mark != CONTEXTS_NONE && strcmp(kind->texts[mark - 1], kind->current) == 0) {
        kind->right++;
        return NULL;
    }
    kind->wrong++;
    return kind->current;
}

const char *contexts_compare(const struct pp_record_sample *sample)
{
    const char *why = NULL;
    for (unsigned i = 0; i < PP_CONTEXT_KINDS; i++) {
        const char *wrong = kinds[i].count ? compare(sample, i) : NULL;
        why = why ? why : wrong;
    }
    return why;
}

void contexts_report(void)
{
    for (unsigned i = 0; i < PP_CONTEXT_KINDS; i++)
        if (kinds[i].count)
            printf("kind=%u right=%llu wrong=%llu missing=%llu torn=%llu none=%llu others=%llu\n", i,
                   (unsigned long long)kinds[i].right, (unsigned long long)kinds[i].wrong,
                   (unsigned long long)kinds[i].missing, (unsigned long long)kinds[i].torn,
                   (unsigned long long)kinds[i].none, (unsigned long long)kinds[i].others);
}
