/* SPDX-License-Identifier: Apache-2.0 */
#include "label_sets.h"
#include "../common/label_kinds.h"
#include <string.h>

#define ITEM(kind, limit)  kind,
#define LIMIT(kind, limit) [kind] = (limit),
#define KEY(kind, limit)   [kind] = PP_KEY_##kind,

enum kind { WHOLE, APP, PP_LABEL_KINDS(ITEM) APP_KEYS };

static const uint32_t limits[] = {[WHOLE] = PP_LABEL_SETS_WHOLE,
                                  [APP] = PP_LABEL_SETS_APP,
                                  [APP_KEYS] = PP_LABEL_SETS_APP_KEYS,
                                  PP_LABEL_KINDS(LIMIT)};

static unsigned kind_of(const char *key)
{
    static const char *const keys[] = {PP_LABEL_KINDS(KEY)};
    for (unsigned kind = APP + 1; kind < APP_KEYS; kind++)
        if (strcmp(key, keys[kind]) == 0)
            return kind;
    return APP;
}

/* Copies a set with the values up to a kind replaced; returns its length. */
static uint32_t with_others(char out[PP_LABELS_BYTES], const char *set, uint32_t length, unsigned up_to)
{
    uint32_t used = 0;
    for (const char *key = set, *value; key < set + length; key = value + strlen(value) + 1) {
        value = key + strlen(key) + 1;
        unsigned kind = kind_of(key);
        const char *texts[] = {kind == APP && up_to == APP_KEYS ? PP_VALUE_OTHER : key,
                               kind <= up_to ? PP_VALUE_OTHER : value};
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
    for (unsigned kind = WHOLE; length && !id && kind <= APP_KEYS; kind++) {
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
