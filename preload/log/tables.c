/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "../base/check.h"
#include "../common/label_kinds.h"
#include <string.h>

#define NAME_MAX_BYTES 4096u /* of a string in the log */
#define FULL_MAX       ((size_t)48 << 20)
#define FULL_MIN       ((size_t)8 << 20)
#define FULL_SHARE     4     /* times what lasts */
#define NAMES_MAX      1000u /* of threads, beside each one's own */

void pp_tables_reset(struct pp_tables *tables)
{
    uint32_t segment = tables->segment + 1;
    for (unsigned type = PP_BLOCK_STRINGS; type <= PP_BLOCK_LABELS; type++)
        pp_buffer_clear(&tables->fresh[type]);
    pp_arena_reset(&tables->arena);
    pp_arena_reset(&tables->native_arena);
    pp_intern_init(&tables->native_frames, &tables->native_arena);
    struct pp_intern *interns[] = {&tables->strings,       &tables->codes,        &tables->frames, &tables->nodes,
                                   &tables->python_frames, &tables->thread_names, &tables->labels};
    for (unsigned i = 0; i < sizeof interns / sizeof *interns; i++)
        pp_intern_init(interns[i], &tables->arena);
    tables->modules = tables->threads = tables->lasting_nodes = 0;
    tables->interval = 1;
    tables->segment = segment;
}

uint32_t pp_string_id(struct pp_tables *tables, const char *bytes, size_t length)
{
    bool fresh;
    if (length > NAME_MAX_BYTES) {
        length = NAME_MAX_BYTES;
        while (length && ((uint8_t)bytes[length] & 0xC0) == 0x80)
            length--; /* not in the middle of a character */
    }
    uint32_t id = pp_intern(&tables->strings, bytes, (uint32_t)length, &fresh);
    if (fresh) {
        pp_block_start(&tables->fresh[PP_BLOCK_STRINGS], id);
        pp_put_varint(&tables->fresh[PP_BLOCK_STRINGS], length);
        pp_put_bytes(&tables->fresh[PP_BLOCK_STRINGS], bytes, length);
    }
    return id;
}

uint32_t pp_module_id(struct pp_tables *tables, struct pp_module *module)
{
    if (module->log_id && module->log_segment == tables->segment)
        return module->log_id;
    uint32_t path = pp_string_id(tables, module->path, strlen(module->path));
    if (!path)
        return 0;
    module->log_id = ++tables->modules;
    module->log_segment = tables->segment;
    struct pp_buffer *out = &tables->fresh[PP_BLOCK_MODULES];
    pp_block_start(out, module->log_id);
    size_t record = pp_record_begin(out);
    pp_put_varint(out, path);
    pp_put_varint(out, module->bias);
    pp_put_varint(out, module->start);
    pp_put_varint(out, module->end);
    pp_put_varint(out, module->text_file_offset);
    pp_put_varint(out, module->flags);
    pp_put_varint(out, module->build_id_length);
    pp_put_bytes(out, module->build_id, module->build_id_length);
    pp_record_end(out, record);
    return module->log_id;
}

/* Interns a record by its fields, and writes it to `out` when it is new. */
static uint32_t record_id(struct pp_intern *table, struct pp_buffer *out, const uint64_t *fields, unsigned count)
{
    bool fresh;
    uint32_t id = pp_intern(table, fields, (uint32_t)(count * sizeof *fields), &fresh);
    if (fresh) {
        pp_block_start(out, id);
        size_t record = pp_record_begin(out);
        for (unsigned i = 0; i < count; i++)
            pp_put_varint(out, fields[i]);
        pp_record_end(out, record);
    }
    return id;
}

uint32_t pp_code_id(struct pp_tables *tables, uint32_t qualname, uint32_t file, uint32_t first_line)
{
    uint64_t fields[] = {qualname, file, first_line};
    return record_id(&tables->codes, &tables->fresh[PP_BLOCK_CODES], fields, 3);
}

uint32_t pp_frame_native(struct pp_tables *tables, uint32_t module, uintptr_t address, uint32_t symbol,
                         uint64_t symbol_offset)
{
    uint64_t fields[] = {PP_FRAME_NATIVE, module, address, symbol, symbol_offset};
    return record_id(&tables->frames, &tables->fresh[PP_BLOCK_FRAMES], fields, 5);
}

uint32_t pp_frame_python(struct pp_tables *tables, uint32_t code, const struct pp_position *position)
{
    uint64_t fields[] = {PP_FRAME_PYTHON,     code, position->line, position->end_line, position->column,
                         position->end_column};
    return record_id(&tables->frames, &tables->fresh[PP_BLOCK_FRAMES], fields, position->column ? 6 : 3);
}

uint32_t pp_frame_pseudo(struct pp_tables *tables, const char *text)
{
    uint32_t string = pp_string_id(tables, text, strlen(text));
    uint64_t fields[] = {PP_FRAME_PSEUDO, string};
    return string ? record_id(&tables->frames, &tables->fresh[PP_BLOCK_FRAMES], fields, 2) : 0;
}

uint32_t pp_node_id(struct pp_tables *tables, uint32_t parent, uint32_t frame)
{
    bool fresh;
    uint32_t key[] = {parent, frame};
    uint32_t id = pp_intern(&tables->nodes, key, sizeof key, &fresh);
    PP_CHECK(!id || parent < id); /* every definition precedes its first use */
    if (fresh) {
        pp_block_start(&tables->fresh[PP_BLOCK_NODES], id);
        pp_put_varint(&tables->fresh[PP_BLOCK_NODES], id - parent);
        pp_put_varint(&tables->fresh[PP_BLOCK_NODES], frame);
    }
    if (!id)
        return 0;
    struct pp_intern_entry *entry = pp_intern_entry(&tables->nodes, id);
    if (fresh) {
        entry->value[0] = tables->interval;
    } else if (entry->value[0] && entry->value[0] != tables->interval) {
        entry->value[0] = 0;
        tables->lasting_nodes++;
    }
    return id;
}

bool pp_tables_full(const struct pp_tables *tables)
{
    size_t mapped = tables->arena.mapped;
    if (mapped <= FULL_MIN)
        return false;
    return mapped > FULL_MAX || FULL_SHARE * (uint64_t)tables->lasting_nodes < tables->nodes.count;
}

struct new_thread {
    uint32_t id, name, tid, flags;
    uint64_t start_unix_ns;
};

uint32_t pp_thread_id(struct pp_tables *tables, uint32_t id, int tid, uint32_t name, uint64_t start_unix_ns,
                      uint32_t flags)
{
    if (!name)
        return 0;
    if (!id)
        id = ++tables->threads;
    struct new_thread thread = {id, name, (uint32_t)tid, flags, start_unix_ns};
    pp_put_bytes(&tables->fresh[PP_BLOCK_THREADS], &thread, sizeof thread);
    return id;
}

uint32_t pp_thread_named(struct pp_tables *tables, uint32_t thread, int tid, uint32_t name, uint64_t start_unix_ns)
{
    static const char other[] = PP_VALUE_OTHER;
    bool fresh, full = tables->thread_names.count >= NAMES_MAX;
    uint32_t key[] = {thread, name}, at = pp_intern(&tables->thread_names, key, sizeof key, &fresh);
    if (!at)
        return 0;
    if (fresh) {
        uint32_t others = full ? pp_string_id(tables, other, sizeof other - 1) : name;
        uint32_t id = others == name ? pp_thread_id(tables, 0, tid, name, start_unix_ns, PP_THREAD_NAMED)
                                     : pp_thread_named(tables, thread, tid, others, start_unix_ns);
        pp_intern_entry(&tables->thread_names, at)->value[0] = id;
    }
    return (uint32_t)pp_intern_entry(&tables->thread_names, at)->value[0];
}

static void write_threads(struct pp_tables *tables, struct pp_buffer *out, uint32_t *sequence)
{
    static struct pp_buffer payload;
    uint32_t expected = 0;
    pp_buffer_clear(&payload); /* a fork may have cut the parent's writing short */
    const struct pp_buffer *fresh = &tables->fresh[PP_BLOCK_THREADS];
    for (size_t at = 0; at < fresh->length; at += sizeof(struct new_thread)) {
        struct new_thread thread;
        memcpy(&thread, fresh->data + at, sizeof thread);
        if (payload.length && thread.id != expected) {
            pp_put_block(out, PP_BLOCK_THREADS, &payload, sequence);
            pp_buffer_clear(&payload);
        }
        pp_block_start(&payload, thread.id);
        size_t record = pp_record_begin(&payload);
        pp_put_varint(&payload, thread.tid);
        pp_put_varint(&payload, thread.name);
        pp_put_varint(&payload, thread.start_unix_ns);
        pp_put_varint(&payload, thread.flags);
        pp_record_end(&payload, record);
        expected = thread.id + 1;
    }
    if (payload.length)
        pp_put_block(out, PP_BLOCK_THREADS, &payload, sequence);
    pp_buffer_clear(&payload);
    pp_buffer_clear(&tables->fresh[PP_BLOCK_THREADS]);
}

void pp_tables_write(struct pp_tables *tables, struct pp_buffer *out, uint32_t *sequence)
{
    for (enum pp_log_block type = PP_BLOCK_STRINGS; type <= PP_BLOCK_LABELS; type++) {
        struct pp_buffer *payload = &tables->fresh[type];
        if (type == PP_BLOCK_THREADS)
            continue;
        out->failed |= payload->failed;
        if (payload->length)
            pp_put_block(out, type, payload, sequence);
        pp_buffer_clear(payload);
    }
    tables->interval++;
    write_threads(tables, out, sequence);
}
