/* SPDX-License-Identifier: Apache-2.0 */
#include "code_definition.h"
#include "frame_rules.h"

#define TEXT_BYTES_MAX 1024u /* of a name; longer names are truncated */
/* Larger line tables are not copied, and their code shows its first line. Two of this size fit into the ring. */
#define LINE_TABLE_MAX(ring) ((ring)->size * 3 / 8)

#define TEMPLATE_LINES_MAX 8192u         /* bytes */
#define FIRST_GLOBAL       "environment" /* of a template's code, which Jinja gives it before it runs */
#define LAST_GLOBALS       4u            /* no name but Jinja's own follows the lines */

/* What a definition needs of a code object. */
struct parts {
    struct pp_str qualname, filename, template_lines;
    uintptr_t table_bytes;
    uint32_t flags;
    bool template_extends;
};

/* Makes the copies that the scratch memory lists; of a code object that is alive all is there, and no system call is
 * needed. async-signal-safe. */
static bool copy_listed(struct pp_scratch *scratch, uint32_t count, size_t bytes, bool alive)
{
    const struct iovec *to = scratch->copies_to, *from = scratch->copies_from;
    if (!alive)
        return pp_sys_safe_copy(atomic_load_explicit(&pp_process.pid, memory_order_relaxed), to, count, from, count) ==
               (long)bytes;
    for (uint32_t i = 0; i < count; i++)
        memcpy(to[i].iov_base, from[i].iov_base, from[i].iov_len);
    return true;
}

/* async-signal-safe. */
static void list(struct pp_scratch *scratch, uint32_t i, void *to, uintptr_t from, size_t size)
{
    scratch->copies_to[i] = (struct iovec){to, size};
    scratch->copies_from[i] = (struct iovec){(void *)from, size};
}

/* Finds the texts and the line table by their headers; all are empty if these cannot be copied. async-signal-safe. */
PP_RARE static struct parts find_parts(const struct pp_python_layout *layout, struct pp_scratch *scratch,
                                       const struct pp_code *code, uintptr_t address, bool alive)
{
    struct parts parts = {.table_bytes = 0};
    uint8_t qualname[PP_STR_HEADER_MAX], filename[PP_STR_HEADER_MAX];
    size_t header_bytes = layout->text.state + 4u;
    list(scratch, 0, qualname, code->qualname, header_bytes);
    list(scratch, 1, filename, code->filename, header_bytes);
    list(scratch, 2, &parts.table_bytes, code->line_table + layout->bytes.length, sizeof parts.table_bytes);
    list(scratch, 3, &parts.flags, address + layout->code.flags, sizeof parts.flags);
    if (!copy_listed(scratch, 4, 2 * header_bytes + sizeof parts.table_bytes + sizeof parts.flags, alive))
        return (struct parts){.table_bytes = 0};
    parts.qualname = pp_str_find(layout, code->qualname, qualname, TEXT_BYTES_MAX);
    parts.filename = pp_str_find(layout, code->filename, filename, TEXT_BYTES_MAX);
    return parts;
}

/* Whether the code may be what Jinja has made of a template: it is not in a Python file, nor without a file but for
 * "<template>". async-signal-safe. */
static bool may_be_template(const struct pp_object_reader *reader, const struct pp_str *filename)
{
    uint8_t end[12]; /* three characters */
    uint32_t width = filename->record.width, bytes = 3 * width;
    if (filename->record.bytes < bytes || filename->record.cut ||
        !pp_object_copy(reader, end, filename->data + filename->record.bytes - bytes, bytes))
        return false;
    const char last[] = {(char)end[0], (char)end[width], (char)end[2 * width], '\0'};
    return last[2] == '>' ? last[0] == 't' && last[1] == 'e' : memcmp(last, ".py", 3) != 0;
}

/* Finds which lines of the template a frame's code was made of, if Jinja has made it: a text among the last globals,
 * which another thread may replace while this one is within a C function that has released the GIL. async-signal-safe.
 */
PP_RARE static void find_template_lines(const struct pp_object_reader *reader, const struct pp_python_frame *frame,
                                        struct parts *parts)
{
    struct pp_object_reader careful = *reader;
    uintptr_t globals, address, values, key, text;
    struct pp_dict_keys keys;
    careful.direct = false;
    if (!may_be_template(reader, &parts->filename) ||
        !pp_object_word(&careful, frame->address + reader->python->layout.frame.globals, &globals) ||
        !pp_dict_open(&careful, globals, &address, &values) || values || !pp_dict_keys_open(&careful, address, &keys) ||
        !pp_object_word(&careful, keys.entries + keys.key, &key) || !pp_str_is(&careful, key, FIRST_GLOBAL))
        return;
    for (uint64_t i = 1; i <= LAST_GLOBALS && i <= keys.count; i++) {
        uintptr_t entry = keys.entries + (keys.count - i) * keys.size + keys.key;
        if (pp_object_word(&careful, entry, &key) && pp_str_is(&careful, key, "debug_info") &&
            pp_object_word(&careful, entry + sizeof key, &text) &&
            pp_str_open(&careful, text, TEMPLATE_LINES_MAX, &parts->template_lines)) {
            parts->template_extends = pp_frame_local_find(reader, frame->code, "parent_template") != PP_NO_LOCAL;
            return;
        }
    }
}

PP_RARE bool pp_code_define(const struct pp_object_reader *reader, struct pp_slot *slot, const struct pp_code *code,
                            const struct pp_python_frame *frame, uint32_t entry, struct pp_code_entry *made)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    struct pp_scratch *scratch = slot->scratch;
    struct parts parts = find_parts(layout, scratch, code, frame->code, reader->direct);
    find_template_lines(reader, frame, &parts);
    uint32_t qualname_bytes = parts.qualname.record.bytes, filename_bytes = parts.filename.record.bytes;
    uint32_t table_bytes = parts.table_bytes <= LINE_TABLE_MAX(&slot->ring) ? (uint32_t)parts.table_bytes : 0;
    uint32_t lines_bytes = parts.template_lines.record.bytes;
    uint32_t bytes = qualname_bytes + filename_bytes + table_bytes + lines_bytes;
    uint32_t size = ((uint32_t)sizeof(struct pp_record_code) + bytes + 7) & ~7u;
    struct pp_record_code *record = pp_ring_reserve(&slot->ring, size, PP_RECORD_CODE);
    if (!record)
        return false;
    /* the padding too: the flush thread compares whole records */
    memset((uint8_t *)record + size - sizeof(uint64_t), 0, sizeof(uint64_t));
    record->entry = entry;
    record->epoch = slot->code_epoch;
    record->line_table_format = layout->code.line_table_format;
    record->first_line = code->first_line;
    record->first_traceable = code->first_traceable;
    record->flags = parts.flags;
    record->line_table_bytes = table_bytes;
    record->qualname = parts.qualname.record;
    record->filename = parts.filename.record;
    record->template_lines = parts.template_lines.record;
    record->template_extends = parts.template_extends;
    uint8_t *out = (uint8_t *)(record + 1);
    list(scratch, 0, out, parts.qualname.data, qualname_bytes);
    list(scratch, 1, out + qualname_bytes, parts.filename.data, filename_bytes);
    list(scratch, 2, out + qualname_bytes + filename_bytes, code->line_table + layout->bytes.data, table_bytes);
    list(scratch, 3, out + bytes - lines_bytes, parts.template_lines.data, lines_bytes);
    if (!copy_listed(scratch, lines_bytes ? 4 : 3, bytes, reader->direct && !lines_bytes)) {
        record->qualname.width = record->filename.width = record->template_lines.width = 0;
        record->line_table_bytes = 0;
    }
    made->role = pp_frame_role_of(record, reader, frame->code);
    pp_ring_commit(&slot->ring, record);
    uint8_t rule = made->role.rule;
    uint32_t rules = 0;
    if (rule != PP_FRAME_ANY)
        rules = atomic_fetch_or_explicit(&pp_capture.frame_rules, 1u << rule, memory_order_relaxed);
    /* the first request tells that the framework's imports have ended: its variables are there by now */
    bool serves_first = rule >= PP_FRAME_JOB && rule < PP_FRAME_WORK && !(rules >> rule & 1);
    if (serves_first || ((rule == PP_FRAME_LOOP || rule == PP_FRAME_HUB || rule == PP_FRAME_TRIO) &&
                         !atomic_load_explicit(&pp_capture.contexts, memory_order_relaxed)))
        pp_wake_flush(PP_WAKE_CONTEXTS);
    return true;
}
