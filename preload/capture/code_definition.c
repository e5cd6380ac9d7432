/* SPDX-License-Identifier: Apache-2.0 */
#include "code_definition.h"
#include "frame_rules.h"
#include "objects.h"

#define TEXT_BYTES_MAX 1024u /* of a name; longer names are truncated */
/* Larger line tables are not copied, and their code shows its first line. Two of this size fit into the ring. */
#define LINE_TABLE_MAX(ring) ((ring)->size * 3 / 8)

/* What a definition needs of a code object. */
struct parts {
    struct pp_str qualname, filename;
    uintptr_t table_bytes;
    uint32_t flags;
};

/* Finds the texts and the line table by one safe copy of their headers; all are empty if it fails. async-signal-safe.
 */
PP_RARE static struct parts find_parts(const struct pp_python_layout *layout, struct pp_scratch *scratch,
                                       const struct pp_code *code, uintptr_t address)
{
    struct parts parts = {.table_bytes = 0};
    uint8_t qualname[PP_STR_HEADER_MAX], filename[PP_STR_HEADER_MAX];
    size_t header_bytes = layout->text.state + 4u;
    scratch->copies_to[0] = (struct iovec){qualname, header_bytes};
    scratch->copies_from[0] = (struct iovec){(void *)code->qualname, header_bytes};
    scratch->copies_to[1] = (struct iovec){filename, header_bytes};
    scratch->copies_from[1] = (struct iovec){(void *)code->filename, header_bytes};
    scratch->copies_to[2] = (struct iovec){&parts.table_bytes, sizeof parts.table_bytes};
    scratch->copies_from[2] = (struct iovec){(char *)code->line_table + layout->bytes.length, sizeof parts.table_bytes};
    scratch->copies_to[3] = (struct iovec){&parts.flags, sizeof parts.flags};
    scratch->copies_from[3] = (struct iovec){(char *)address + layout->code.flags, sizeof parts.flags};
    size_t bytes = 2 * header_bytes + sizeof parts.table_bytes + sizeof parts.flags;
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    if (pp_sys_safe_copy(pid, scratch->copies_to, 4, scratch->copies_from, 4) != (long)bytes)
        return (struct parts){.table_bytes = 0};
    parts.qualname = pp_str_find(layout, code->qualname, qualname, TEXT_BYTES_MAX);
    parts.filename = pp_str_find(layout, code->filename, filename, TEXT_BYTES_MAX);
    return parts;
}

PP_RARE bool pp_code_define(const struct pp_python *python, struct pp_slot *slot, const struct pp_code *code,
                            uintptr_t address, uint32_t entry, struct pp_code_entry *made)
{
    const struct pp_python_layout *layout = &python->layout;
    struct pp_scratch *scratch = slot->scratch;
    struct parts parts = find_parts(layout, scratch, code, address);
    uint32_t qualname_bytes = parts.qualname.record.bytes, filename_bytes = parts.filename.record.bytes;
    uint32_t table_bytes = parts.table_bytes <= LINE_TABLE_MAX(&slot->ring) ? (uint32_t)parts.table_bytes : 0;
    uint32_t bytes = qualname_bytes + filename_bytes + table_bytes;
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
    uint8_t *out = (uint8_t *)(record + 1);
    scratch->copies_to[0] = (struct iovec){out, bytes};
    scratch->copies_from[0] = (struct iovec){(void *)parts.qualname.data, qualname_bytes};
    scratch->copies_from[1] = (struct iovec){(void *)parts.filename.data, filename_bytes};
    scratch->copies_from[2] = (struct iovec){(char *)code->line_table + layout->bytes.data, table_bytes};
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    if (pp_sys_safe_copy(pid, scratch->copies_to, 1, scratch->copies_from, 3) != (long)bytes) {
        record->qualname.width = record->filename.width = 0;
        record->line_table_bytes = 0;
    }
    const struct pp_object_reader reader = {.python = python, .pid = pid};
    made->role = pp_frame_role_of(record, &reader, address);
    pp_ring_commit(&slot->ring, record);
    uint8_t rule = made->role.rule;
    if (rule != PP_FRAME_ANY)
        atomic_fetch_or_explicit(&pp_capture.frame_rules, 1u << rule, memory_order_relaxed);
    if ((rule == PP_FRAME_LOOP || rule == PP_FRAME_HUB || rule == PP_FRAME_TRIO) &&
        !atomic_load_explicit(&pp_capture.contexts, memory_order_relaxed))
        pp_wake_flush(PP_WAKE_CONTEXTS);
    return true;
}
