/* SPDX-License-Identifier: Apache-2.0 */
#include "code_object.h"
#include "objects.h"

#define UNITS_MAX (1u << 26)

/* Fields of a str's state word after a shift by layout.text.kind_shift */
#define TEXT_KIND(bits)       ((bits)&7)
#define TEXT_IS_COMPACT(bits) (((bits) >> 3) & 1)
#define TEXT_IS_ASCII(bits)   (((bits) >> 4) & 1)

/* Inputs of a digest: the name's length, hash and state word; the line table's size, hash (ignored) and first bytes:
 * the first 8, and those that follow. A str's hash is computed lazily: until then the name's last characters replace
 * it. */
struct digest_parts {
    uint64_t name[3], table[3];
    uint64_t text[PP_DIGEST_TEXT_MAX / 8], lines[PP_DIGEST_TABLE_MAX / 8 - 1];
};
_Static_assert(sizeof(struct digest_parts) <= PP_DIGEST_COPY_MAX, "fits into the scratch");

#define NAME_LENGTH 0
#define NAME_HASH   1
#define NAME_STATE  2
#define NO_HASH     UINT64_MAX

/* Finds the characters of the name that the digest needs: 0 bytes if the name has a hash. */
static size_t digest_text(const struct pp_python_layout *layout, const struct pp_code *code,
                          const struct digest_parts *parts, uintptr_t *from)
{
    uint32_t bits = (uint32_t)parts->name[NAME_STATE] >> layout->text.kind_shift;
    uint64_t bytes = parts->name[NAME_LENGTH] * TEXT_KIND(bits);
    if (parts->name[NAME_HASH] != NO_HASH || bytes > PP_HIGHEST_ADDRESS)
        return 0;
    size_t size = bytes < PP_DIGEST_TEXT_MAX ? bytes : PP_DIGEST_TEXT_MAX;
    uintptr_t data = code->qualname + (TEXT_IS_ASCII(bits) ? layout->text.ascii_data : layout->text.compact_data);
    *from = data + bytes - size;
    return size;
}

/* Returns how many bytes of the line table the digest needs beside the first 8. async-signal-safe. */
static inline size_t digest_lines(const struct digest_parts *parts)
{
    uint64_t size = parts->table[0], first = sizeof parts->table[2];
    return size <= first ? 0 : (size < PP_DIGEST_TABLE_MAX ? size : PP_DIGEST_TABLE_MAX) - first;
}

/* Distinguishes code objects that occupy the same addresses one after another (exec in a loop). async-signal-safe. */
static uint32_t digest_of(const struct digest_parts *parts, size_t text)
{
    uint64_t size = parts->table[0], first = parts->table[2];
    if (size < sizeof first) /* bytes past the table are undefined */
        first &= ((uint64_t)1 << size * 8) - 1;
    uint64_t digest = pp_mix(pp_mix(pp_mix(parts->name[NAME_LENGTH], parts->name[NAME_HASH]), size), first);
    for (size_t i = 0; i < text; i += 8)
        digest = pp_mix(digest, parts->text[i / 8]);
    for (size_t i = 0, lines = digest_lines(parts); i < lines; i += 8)
        digest = pp_mix(digest, parts->lines[i / 8]);
    return (uint32_t)(digest >> 16);
}

uint32_t pp_code_content_digest(const struct pp_python_layout *layout, const struct pp_code *code)
{
    struct digest_parts parts;
    uintptr_t from;
    memcpy(parts.name, (const char *)code->qualname + layout->text.length, sizeof parts.name);
    memcpy(parts.table, (const char *)code->line_table + layout->bytes.length, sizeof parts.table);
    size_t text = digest_text(layout, code, &parts, &from), lines = digest_lines(&parts);
    if (text) {
        parts.text[(text - 1) / 8] = 0;
        memcpy(parts.text, (const void *)from, text);
    }
    if (lines) {
        parts.lines[(lines - 1) / 8] = 0;
        memcpy(parts.lines, (const char *)code->line_table + layout->bytes.data + sizeof parts.table[2], lines);
    }
    return digest_of(&parts, text);
}

bool pp_code_read(const struct pp_python *python, const void *from, struct pp_code *code)
{
    const struct pp_python_layout *layout = &python->layout;
    if (pp_word(from, python->layout.object_type) != python->code_type)
        return false;
    pp_code_read_identity(layout, from, code);
    code->units = layout->code.bytecode ? UNITS_MAX : pp_word(from, layout->code.units);
    code->first_traceable = layout->code.first_traceable ? pp_u32(from, layout->code.first_traceable) : 0;
    return pp_plausible(code->filename) && pp_plausible(code->qualname) && pp_plausible(code->line_table) &&
           code->units <= UNITS_MAX;
}

PP_RARE bool pp_code_copy(const struct pp_object_reader *reader, uint8_t *bytes, uintptr_t address,
                          struct pp_code *code)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    struct digest_parts parts;
    uintptr_t from;
    if (!pp_object_copy(reader, bytes, address, layout->code.copy_size) || !pp_code_read(reader->python, bytes, code))
        return false;
    if (layout->unique_version)
        return true;
    if (!pp_object_copy(reader, parts.name, code->qualname + layout->text.length, sizeof parts.name) ||
        !pp_object_copy(reader, parts.table, code->line_table + layout->bytes.length, sizeof parts.table))
        return false;
    size_t text = digest_text(layout, code, &parts, &from), lines = digest_lines(&parts);
    memset(parts.text, 0, sizeof parts.text);
    memset(parts.lines, 0, sizeof parts.lines);
    if ((text && !pp_object_copy(reader, parts.text, from, text)) ||
        (lines &&
         !pp_object_copy(reader, parts.lines, code->line_table + layout->bytes.data + sizeof parts.table[2], lines)))
        return false;
    code->content = digest_of(&parts, text);
    return true;
}

/* Makes the copies that the scratch memory lists. async-signal-safe. */
static bool copy_all(struct pp_scratch *scratch, uint32_t count, size_t bytes)
{
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    return pp_sys_safe_copy(pid, scratch->copies_to, count, scratch->copies_from, count) == (long)bytes;
}

/* Computes the digests of possibly invalid code objects through safe copies. async-signal-safe. */
PP_RARE static bool digest_batch(const struct pp_python_layout *layout, struct pp_scratch *scratch,
                                 struct pp_code *codes, uint32_t count)
{
    struct digest_parts *parts = (struct digest_parts *)scratch->digest_copies;
    for (uint32_t i = 0; i < count; i++) {
        scratch->copies_to[2 * i] = (struct iovec){parts[i].name, sizeof parts[i].name};
        scratch->copies_from[2 * i] =
            (struct iovec){(char *)codes[i].qualname + layout->text.length, sizeof parts[i].name};
        scratch->copies_to[2 * i + 1] = (struct iovec){parts[i].table, sizeof parts[i].table};
        scratch->copies_from[2 * i + 1] =
            (struct iovec){(char *)codes[i].line_table + layout->bytes.length, sizeof parts[i].table};
    }
    if (!copy_all(scratch, 2 * count, (sizeof parts->name + sizeof parts->table) * count))
        return false;
    uint32_t copies = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t from;
        size_t text = digest_text(layout, &codes[i], &parts[i], &from);
        size_t lines = digest_lines(&parts[i]);
        codes[i].content = (uint32_t)text;
        bytes += text + lines;
        if (text) {
            parts[i].text[(text - 1) / 8] = 0;
            scratch->copies_to[copies] = (struct iovec){parts[i].text, text};
            scratch->copies_from[copies++] = (struct iovec){(void *)from, text};
        }
        if (lines) {
            parts[i].lines[(lines - 1) / 8] = 0;
            from = codes[i].line_table + layout->bytes.data + sizeof parts->table[2];
            scratch->copies_to[copies] = (struct iovec){parts[i].lines, lines};
            scratch->copies_from[copies++] = (struct iovec){(void *)from, lines};
        }
    }
    if (copies && !copy_all(scratch, copies, bytes))
        return false;
    for (uint32_t i = 0; i < count; i++)
        codes[i].content = digest_of(&parts[i], codes[i].content);
    return true;
}

PP_RARE bool pp_code_read_batch(const struct pp_python *python, struct pp_scratch *scratch,
                                const struct pp_python_frame *frames, uint32_t count, struct pp_code *codes)
{
    const struct pp_python_layout *layout = &python->layout;
    size_t size = layout->code.copy_size;
    for (uint32_t i = 0; i < count; i++) {
        scratch->copies_to[i] = (struct iovec){scratch->code_copies[i], size};
        scratch->copies_from[i] = (struct iovec){(void *)frames[i].code, size};
    }
    if (!copy_all(scratch, count, size * count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!pp_code_read(python, scratch->code_copies[i], &codes[i]))
            return false;
    return layout->unique_version || digest_batch(layout, scratch, codes, count);
}
