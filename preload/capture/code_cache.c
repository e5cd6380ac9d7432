/* SPDX-License-Identifier: Apache-2.0 */
#include "code_cache.h"
#include "../context/frame_rules.h"
#include "../context/objects.h"
#include "safe_read.h"

#define TEXT_BYTES_MAX 1024u /* of a name; longer names are truncated */
/* Larger line tables are not copied, and their code shows its first line. Two of this size fit into the ring. */
#define LINE_TABLE_MAX(ring) ((ring)->size * 3 / 8)
#define UNITS_MAX            (1u << 26)
#define NO_ENTRY             UINT32_MAX
#define NO_UNIT              INT32_MIN
#define AHEAD                8 /* frames whose code objects' contents are prefetched */

/* Fields of a str's state word after a shift by layout.text.kind_shift */
#define TEXT_KIND(bits)       ((bits)&7)
#define TEXT_IS_COMPACT(bits) (((bits) >> 3) & 1)
#define TEXT_IS_ASCII(bits)   (((bits) >> 4) & 1)

struct code {
    uintptr_t filename, qualname, line_table, units;
    uint32_t first_line, first_traceable;
    uint32_t version; /* 0: the interpreter numbers no versions, and contents are compared: */
    uint32_t content; /* digest of its name and line table */
};
_Static_assert(sizeof(struct code) <= PP_CODE_READ_MAX, "fits into the scratch");

static struct pp_code_set *set_of(const struct pp_slot *slot, uintptr_t code)
{
    return &slot->code_sets[((code * 0x9E3779B97F4A7C15u) >> 32) * slot->code_set_count >> 32];
}

/* Returns the index of the code object's entry, NO_ENTRY if it has none. async-signal-safe. */
static uint32_t known_entry(const struct pp_slot *slot, const struct pp_code_set *set, uintptr_t code)
{
    for (unsigned way = 0; way < PP_CODE_WAYS; way++)
        if (set->entries[way] && slot->codes[set->entries[way] - 1].code == code)
            return set->entries[way] - 1u;
    return NO_ENTRY;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * 0x9E3779B97F4A7C15u;
    return a ^ (a >> 29);
}

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
static size_t digest_text(const struct pp_python_layout *layout, const struct code *code,
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
    uint64_t digest = mix(mix(mix(parts->name[NAME_LENGTH], parts->name[NAME_HASH]), size), first);
    for (size_t i = 0; i < text; i += 8)
        digest = mix(digest, parts->text[i / 8]);
    for (size_t i = 0, lines = digest_lines(parts); i < lines; i += 8)
        digest = mix(digest, parts->lines[i / 8]);
    return (uint32_t)(digest >> 16);
}

/* Computes the digest of a live code object, whose name and line table are alive too. async-signal-safe. */
static uint32_t content_digest(const struct pp_python_layout *layout, const struct code *code)
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

/* Reads all by which a code object differs from others, of itself or its copy. async-signal-safe. */
static inline void read_identity(const struct pp_python_layout *layout, const void *from, struct code *code)
{
    code->filename = pp_word(from, layout->code.filename);
    code->qualname = pp_word(from, layout->code.qualname);
    code->line_table = pp_word(from, layout->code.line_table);
    code->first_line = pp_u32(from, layout->code.first_line);
    code->version = layout->unique_version ? pp_u32(from, layout->code.version) : 0;
}

/* Reads a code object or its copy; false if it is not a code object. async-signal-safe. */
static bool read_code(const struct pp_python *python, const void *from, struct code *code)
{
    const struct pp_python_layout *layout = &python->layout;
    if (pp_word(from, python->layout.object_type) != python->code_type)
        return false;
    read_identity(layout, from, code);
    code->units = layout->code.bytecode ? UNITS_MAX : pp_word(from, layout->code.units);
    code->first_traceable = layout->code.first_traceable ? pp_u32(from, layout->code.first_traceable) : 0;
    return pp_plausible(code->filename) && pp_plausible(code->qualname) && pp_plausible(code->line_table) &&
           code->units <= UNITS_MAX;
}

/* What a definition needs of a code object. */
struct parts {
    struct pp_str qualname, filename;
    uintptr_t table_bytes;
    uint32_t flags;
};

static bool copy_all(struct pp_scratch *scratch, uint32_t count, size_t bytes)
{
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    return pp_sys_safe_copy(pid, scratch->copies_to, count, scratch->copies_from, count) == (long)bytes;
}

/* Finds the texts and the line table by one safe copy of their headers; all are empty if it fails. async-signal-safe.
 */
PP_RARE static struct parts find_parts(const struct pp_python_layout *layout, struct pp_scratch *scratch,
                                       const struct code *code, uintptr_t address)
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
    if (!copy_all(scratch, 4, 2 * header_bytes + sizeof parts.table_bytes + sizeof parts.flags))
        return (struct parts){.table_bytes = 0};
    parts.qualname = pp_str_find(layout, code->qualname, qualname, TEXT_BYTES_MAX);
    parts.filename = pp_str_find(layout, code->filename, filename, TEXT_BYTES_MAX);
    return parts;
}

/* Writes the definition of a cache entry into the ring: once per code object, by two safe copies. Fills in what it says
 * of the function. async-signal-safe. */
PP_RARE static bool define(const struct pp_python *python, struct pp_slot *slot, const struct code *code,
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
    record->minor = layout->minor;
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
    made->says = pp_frame_says_of(record, &reader, address);
    pp_ring_commit(&slot->ring, record);
    uint8_t rule = made->says.rule;
    if (rule != PP_FRAME_ANY)
        atomic_fetch_or_explicit(&pp_capture.frame_rules, 1u << rule, memory_order_relaxed);
    if ((rule == PP_FRAME_LOOP || rule == PP_FRAME_HUB || rule == PP_FRAME_TRIO) &&
        !atomic_load_explicit(&pp_capture.contexts, memory_order_relaxed))
        pp_wake_flush(PP_WAKE_CONTEXTS);
    return true;
}

void pp_code_fetch(const struct pp_python *python, const struct pp_slot *slot, uintptr_t code)
{
    __builtin_prefetch(set_of(slot, code));
    __builtin_prefetch((const char *)code + python->layout.code.first_line);
    __builtin_prefetch((const char *)code + python->layout.code.line_table);
}

/* Prefetches the contents of a live code object, or of none. async-signal-safe. */
static inline void fetch_content(const struct pp_python_layout *layout, uintptr_t code)
{
    if (!code)
        return;
    __builtin_prefetch((const char *)pp_word((const void *)code, layout->code.qualname) + layout->text.length);
    __builtin_prefetch((const char *)pp_word((const void *)code, layout->code.line_table) + layout->bytes.length);
}

/* Returns a number that no other interpreter has or had, 0 for the main one, which is a part of the runtime: code
 * objects of interpreters that follow each other may have the same addresses and versions. async-signal-safe. */
static uint64_t number_of(const struct pp_python *python, uintptr_t interpreter)
{
    uint64_t number = 0;
    uint16_t at = python->layout.interpreter.id;
    bool is_main = interpreter - python->module_start < python->module_end - python->module_start;
    if (at && !is_main)
        pp_safe_read(atomic_load_explicit(&pp_process.pid, memory_order_relaxed), &number, interpreter + at,
                     sizeof number);
    return number;
}

/* Returns the digest of the code object's own words, and of the interpreter's number. async-signal-safe. */
static inline uint64_t words_digest(const struct pp_slot *slot, const struct code *code)
{
    uint64_t numbers = (uint64_t)code->first_line << 32 | code->version;
    /* mixed once before an address comes in: the version of one and the address of the other may differ alike */
    uint64_t digest = mix(slot->code_interpreter, numbers);
    return mix(mix(mix(digest, code->filename), code->qualname), code->line_table);
}

/* Returns an entry's digest: of the words and, in its lower half, of the contents if there is no version. */
static inline uint64_t entry_digest(const struct pp_python_layout *layout, const struct pp_slot *slot,
                                    const struct code *code)
{
    uint64_t words = words_digest(slot, code);
    return layout->unique_version ? words : (words & ~(uint64_t)UINT32_MAX) | code->content;
}

/* Whether a live code object is still the entry's. Its words come first: they prove that the name and the line table
 * are those that were read before. async-signal-safe. */
static inline bool is_unchanged(const struct pp_python_layout *layout, const struct pp_slot *slot, uintptr_t address,
                                uint64_t digest)
{
    struct code code;
    read_identity(layout, (const void *)address, &code);
    uint64_t words = words_digest(slot, &code);
    if (layout->unique_version)
        return words == digest;
    return words >> 32 == digest >> 32 && content_digest(layout, &code) == (uint32_t)digest;
}

/* Whether the entries are valid: of this epoch, and no interpreter has ended since. async-signal-safe. */
static bool is_current(const struct pp_slot *slot)
{
    return slot->code_epoch == atomic_load_explicit(&pp_capture.code_epoch, memory_order_acquire) &&
           slot->code_ended_pythons == atomic_load_explicit(&pp_capture.ended_pythons, memory_order_acquire);
}

bool pp_code_known(const struct pp_slot *slot, uint32_t frames)
{
    if (!is_current(slot))
        return false;
    for (uint32_t i = 0; i < frames; i++) {
        uintptr_t code = slot->scratch->python[i].code;
        if (!code || known_entry(slot, set_of(slot, code), code) == NO_ENTRY)
            return false;
    }
    return true;
}

/* Returns the code object's entry, or the entry to evict for it: never one that this sample already uses, since all
 * frames of a sample are resolved by the last definition of their entries. async-signal-safe. */
static uint32_t find_entry(struct pp_slot *slot, uintptr_t code, uint32_t *overflow)
{
    struct pp_code_set *set = set_of(slot, code);
    uint32_t known = known_entry(slot, set, code);
    for (uint32_t tries = 0; tries < PP_CODE_WAYS && known == NO_ENTRY; tries++) {
        uint16_t *entry = &set->entries[set->next_way++ % PP_CODE_WAYS];
        if (!*entry) {
            slot->codes[slot->codes_used].code = 0; /* it may be left from before the sets were cleared */
            *entry = (uint16_t)++slot->codes_used;
        }
        if (!slot->codes[*entry - 1].code || slot->codes[*entry - 1].used != slot->code_sample)
            known = *entry - 1u;
    }
    return known != NO_ENTRY ? known : pp_slot_code_entries(slot) + (*overflow)++;
}

/* Returns which code unit the frame executes; NO_UNIT if it is outside the code. async-signal-safe. */
static inline int32_t unit_of(const struct pp_python *python, const struct pp_python_frame *frame, uintptr_t units)
{
    intptr_t unit = (intptr_t)(frame->instr - frame->code - python->layout.code.instructions) >> 1;
    return unit < -1 || unit >= (intptr_t)units ? NO_UNIT : (int32_t)unit;
}

/* Fills the frame's entry and code unit if its live code object is the one that the cache has. A code object needs that
 * proof once a sample. async-signal-safe. */
static inline bool resolve_known(const struct pp_python *python, struct pp_slot *slot,
                                 const struct pp_python_frame *frame, struct pp_record_frame *resolved)
{
    uint32_t entry = known_entry(slot, set_of(slot, frame->code), frame->code);
    if (entry == NO_ENTRY)
        return false;
    struct pp_code_entry *cached = &slot->codes[entry];
    if (cached->used != slot->code_sample) {
        if (!is_unchanged(&python->layout, slot, frame->code, cached->digest))
            return false;
        cached->used = slot->code_sample;
    }
    *resolved = (struct pp_record_frame){entry, unit_of(python, frame, cached->units)};
    return resolved->unit != NO_UNIT;
}

/* As resolve_known, by what was read of the code object; defines the entry if it is new or another code object's.
 * async-signal-safe. */
PP_RARE static enum pp_reason resolve_one(const struct pp_python *python, struct pp_slot *slot,
                                          const struct pp_python_frame *frame, const struct code *code,
                                          uint32_t *overflow, struct pp_record_frame *resolved)
{
    int32_t unit = unit_of(python, frame, code->units);
    if (unit == NO_UNIT)
        return PP_REASON_PYTHON_TORN;
    uint64_t digest = entry_digest(&python->layout, slot, code);
    uint32_t entry = find_entry(slot, frame->code, overflow);
    struct pp_code_entry *cached = entry < pp_slot_code_entries(slot) ? &slot->codes[entry] : NULL;
    struct pp_code_entry known = {.says = pp_slot_says(slot, PP_ENTRY_CUT)};
    if (cached)
        known = *cached;
    if (!cached || cached->code != frame->code || cached->digest != digest) {
        if (cached)
            cached->code = 0;
        if (!define(python, slot, code, frame->code, entry, &known))
            return PP_REASON_LOST_RING_FULL;
    }
    if (cached)
        *cached = (struct pp_code_entry){frame->code, digest, slot->code_sample, (uint32_t)code->units, known.says};
    *resolved = (struct pp_record_frame){entry, unit};
    return PP_REASON_NONE;
}

/* Computes the digests of possibly invalid code objects through safe copies. async-signal-safe. */
PP_RARE static bool digest_batch(const struct pp_python_layout *layout, struct pp_scratch *scratch, struct code *codes,
                                 uint32_t count)
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

/* Reads the code objects of at most PP_CODE_BATCH frames through safe copies: one system call for all of them, and one
 * or two for the inputs of their digests. async-signal-safe. */
PP_RARE static bool read_batch(const struct pp_python *python, struct pp_scratch *scratch,
                               const struct pp_python_frame *frames, uint32_t count, struct code *codes)
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
        if (!read_code(python, scratch->code_copies[i], &codes[i]))
            return false;
    return layout->unique_version || digest_batch(layout, scratch, codes, count);
}

enum pp_reason pp_code_resolve(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot,
                               uint32_t frames, uint32_t doubtful)
{
    struct pp_scratch *scratch = slot->scratch;
    struct code *batch = (struct code *)scratch->codes_read;
    if (!is_current(slot)) {
        slot->code_epoch = atomic_load_explicit(&pp_capture.code_epoch, memory_order_acquire);
        slot->code_ended_pythons = atomic_load_explicit(&pp_capture.ended_pythons, memory_order_acquire);
        memset(slot->code_sets, 0, slot->code_set_count * sizeof *slot->code_sets);
        slot->codes_used = 0;
    }
    uint32_t overflow = 0;
    slot->code_sample++;
    slot->code_interpreter = number_of(python, interpreter);
    for (uint32_t i = 0; i < frames; i++) {
        struct code *code = &batch[i % PP_CODE_BATCH];
        if (!scratch->python[i].code) {
            scratch->resolved[i] = (struct pp_record_frame){PP_ENTRY_CUT, 0};
            continue;
        }
        if (!python->layout.unique_version && i + AHEAD < frames && i + AHEAD >= doubtful)
            fetch_content(&python->layout, scratch->python[i + AHEAD].code);
        if (i >= doubtful && resolve_known(python, slot, &scratch->python[i], &scratch->resolved[i]))
            continue;
        if (i < doubtful) {
            uint32_t count = doubtful - i < PP_CODE_BATCH ? doubtful - i : PP_CODE_BATCH;
            if (i % PP_CODE_BATCH == 0 && !read_batch(python, scratch, &scratch->python[i], count, batch))
                return PP_REASON_PYTHON_TORN;
        } else {
            if (!read_code(python, (const void *)scratch->python[i].code, code))
                return PP_REASON_PYTHON_TORN;
            if (!python->layout.unique_version)
                code->content = content_digest(&python->layout, code);
        }
        enum pp_reason reason = resolve_one(python, slot, &scratch->python[i], code, &overflow, &scratch->resolved[i]);
        if (reason != PP_REASON_NONE)
            return reason;
    }
    return PP_REASON_NONE;
}
