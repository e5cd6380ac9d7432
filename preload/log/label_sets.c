/* SPDX-License-Identifier: Apache-2.0 */
#include "label_sets.h"
#include <string.h>

#define OTHER "(other)"

/* The kinds of labels, in the order in which their values become "(other)": what tends to have the most values is
 * first, what tells most about a sample is last. */
enum kind { WHOLE, OWN, AWAITER, TASK, SPAN, GREENLET, ENDPOINT, OWN_KEYS };

/* A set in which the values up to a kind are "(other)" is added while the segment has fewer sets than this: at first
 * sets are whole, and each kind has room that those before it leave, whatever the program does. What has no value left
 * still has keys, which the program may make up as well. */
static const uint32_t limits[] = {
    [WHOLE] = 1000, [OWN] = 1100,      [AWAITER] = 1200,  [TASK] = 1600,
    [SPAN] = 1800,  [GREENLET] = 2000, [ENDPOINT] = 3000, [OWN_KEYS] = 4000,
};

static unsigned kind_of(const char *key)
{
    static const char *const keys[] = {
        [AWAITER] = "awaiter", [TASK] = "task", [SPAN] = "span", [GREENLET] = "greenlet", [ENDPOINT] = "endpoint",
    };
    for (unsigned kind = AWAITER; kind <= ENDPOINT; kind++)
        if (strcmp(key, keys[kind]) == 0)
            return kind;
    return OWN;
}

/* Copies a set with the values up to a kind replaced; returns its length. */
static uint32_t with_others(char out[PP_LABELS_BYTES], const char *set, uint32_t length, unsigned up_to)
{
    uint32_t used = 0;
    for (const char *key = set, *value; key < set + length; key = value + strlen(value) + 1) {
        value = key + strlen(key) + 1;
        unsigned kind = kind_of(key);
        const char *texts[] = {kind == OWN && up_to == OWN_KEYS ? OTHER : key, kind <= up_to ? OTHER : value};
        size_t bytes[] = {strlen(texts[0]) + 1, strlen(texts[1]) + 1};
        if (used + bytes[0] + bytes[1] > PP_LABELS_BYTES)
            break;
        memcpy(out + used, texts[0], bytes[0]);
        memcpy(out + used + bytes[0], texts[1], bytes[1]);
        used += (uint32_t)(bytes[0] + bytes[1]);
    }
    return used;
}

static void define(struct pp_tables *tables, uint32_t id, const char *set, uint32_t length)
{
    struct pp_buffer *out = &tables->fresh[PP_BLOCK_LABELS];
    pp_block_start(out, id);
    size_t record = pp_record_begin(out);
    for (const char *text = set; text < set + length; text += strlen(text) + 1)
        pp_put_varint(out, pp_string_id(tables, text, strlen(text)));
    pp_record_end(out, record);
}

uint32_t pp_labels_id(struct pp_tables *tables, const char *set, uint32_t length)
{
    char others[PP_LABELS_BYTES];
    uint32_t id = 0;
    for (unsigned kind = WHOLE; length && !id && kind <= OWN_KEYS; kind++) {
        bool fresh = false;
        const char *bytes = kind == WHOLE ? set : others;
        uint32_t used = kind == WHOLE ? length : with_others(others, set, length, kind);
        if (tables->labels.count < limits[kind])
            id = pp_intern(&tables->labels, bytes, used, &fresh);
        else
            id = pp_intern_find(&tables->labels, bytes, used);
        if (!fresh)
            continue;
        pp_intern_entry(&tables->labels, id)->value[0] = used != length || memcmp(bytes, set, length) != 0;
        define(tables, id, bytes, used);
    }
    return id;
}

bool pp_labels_have_other(struct pp_tables *tables, uint32_t id)
{
    return pp_intern_entry(&tables->labels, id)->value[0];
}
