/* SPDX-License-Identifier: Apache-2.0 */
#include "code_cache.h"
#include "code_definition.h"
#include "code_object.h"
#include "safe_read.h"

#define NO_ENTRY UINT32_MAX
#define NO_UNIT  INT32_MIN
#define AHEAD    8 /* frames whose code objects' contents are prefetched */

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
static inline uint64_t words_digest(const struct pp_slot *slot, const struct pp_code *code)
{
    uint64_t numbers = (uint64_t)code->first_line << 32 | code->version;
    /* mixed once before an address comes in: the version of one and the address of the other may differ alike */
    uint64_t digest = pp_mix(slot->code_interpreter, numbers);
    return pp_mix(pp_mix(pp_mix(digest, code->filename), code->qualname), code->line_table);
}

/* Returns an entry's digest: of the words and, in its lower half, of the contents if there is no version. */
static inline uint64_t entry_digest(const struct pp_python_layout *layout, const struct pp_slot *slot,
                                    const struct pp_code *code)
{
    uint64_t words = words_digest(slot, code);
    return layout->unique_version ? words : (words & ~(uint64_t)UINT32_MAX) | code->content;
}

/* Whether a live code object is still the entry's. Its words come first: they prove that the name and the line table
 * are those that were read before. async-signal-safe. */
static inline bool is_unchanged(const struct pp_python_layout *layout, const struct pp_slot *slot, uintptr_t address,
                                uint64_t digest)
{
    struct pp_code code;
    pp_code_read_identity(layout, (const void *)address, &code);
    uint64_t words = words_digest(slot, &code);
    if (layout->unique_version)
        return words == digest;
    return words >> 32 == digest >> 32 && pp_code_content_digest(layout, &code) == (uint32_t)digest;
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

/* Returns the code object's entry, or the entry to evict for it: never an entry that this sample already uses, since
 * all frames of a sample are resolved by the last definition of their entries. NO_ENTRY: there is none, and no
 * overflow. async-signal-safe. */
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
    return known != NO_ENTRY || !overflow ? known : pp_slot_code_entries(slot) + (*overflow)++;
}

/* Returns which code unit the frame executes; NO_UNIT if it is outside the code. A compiled frame's instruction is its
 * code object itself, and its line unknown. async-signal-safe. */
static inline int32_t unit_of(const struct pp_python *python, const struct pp_python_frame *frame, uintptr_t units)
{
    if (frame->instr == frame->code && python->layout.code.instructions)
        return PP_UNIT_UNKNOWN;
    intptr_t unit = (intptr_t)(frame->instr - frame->code - python->layout.code.instructions) >> 1;
    return unit < -1 || unit >= (intptr_t)units ? NO_UNIT : (int32_t)unit;
}

/* Fills the frame's entry and code unit if its code object is the one that the cache has. A code object needs that
 * proof once a sample, which is made here if it is alive. async-signal-safe. */
static inline bool resolve_known(const struct pp_python *python, struct pp_slot *slot,
                                 const struct pp_python_frame *frame, bool alive, struct pp_record_frame *resolved)
{
    uint32_t entry = known_entry(slot, set_of(slot, frame->code), frame->code);
    if (entry == NO_ENTRY)
        return false;
    struct pp_code_entry *cached = &slot->codes[entry];
    if (cached->used != slot->code_sample) {
        if (!alive || !is_unchanged(&python->layout, slot, frame->code, cached->digest))
            return false;
        cached->used = slot->code_sample;
    }
    *resolved = (struct pp_record_frame){entry, unit_of(python, frame, cached->units)};
    return resolved->unit != NO_UNIT;
}

/* Resolves like resolve_known does, by what was read of the code object; defines the entry if it is new or another code
 * object's. async-signal-safe. */
PP_RARE static enum pp_reason resolve_one(const struct pp_object_reader *reader, struct pp_slot *slot,
                                          const struct pp_python_frame *frame, const struct pp_code *code,
                                          uint32_t *overflow, struct pp_record_frame *resolved)
{
    int32_t unit = unit_of(reader->python, frame, code->units);
    if (unit == NO_UNIT)
        return PP_REASON_PYTHON_TORN;
    uint64_t digest = entry_digest(&reader->python->layout, slot, code);
    uint32_t entry = find_entry(slot, frame->code, overflow);
    if (entry == NO_ENTRY)
        return PP_REASON_PYTHON_TORN;
    struct pp_code_entry *cached = entry < pp_slot_code_entries(slot) ? &slot->codes[entry] : NULL;
    struct pp_code_entry known = {.role = pp_slot_role(slot, PP_ENTRY_CUT)};
    if (cached)
        known = *cached;
    if (!cached || cached->code != frame->code || cached->digest != digest) {
        /* where another code object was known, the frame may have returned: see handler/sample.c */
        struct pp_object_reader unrecorded = *reader;
        unrecorded.direct = reader->direct && !(cached && cached->code == frame->code);
        unrecorded.set = NULL;
        if (cached)
            cached->code = 0;
        if (!pp_code_define(&unrecorded, slot, code, frame, entry, &known))
            return PP_REASON_LOST_RING_FULL;
    }
    if (cached)
        *cached = (struct pp_code_entry){frame->code, digest, slot->code_sample, (uint32_t)code->units, known.role};
    *resolved = (struct pp_record_frame){entry, unit};
    return PP_REASON_NONE;
}

bool pp_code_role(const struct pp_slot *slot, uintptr_t code, struct pp_frame_role *role)
{
    uint32_t entry = known_entry(slot, set_of(slot, code), code);
    if (entry == NO_ENTRY || slot->codes[entry].used != slot->code_sample)
        return false;
    *role = slot->codes[entry].role;
    return true;
}

void pp_code_enter(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot)
{
    slot->code_interpreter = number_of(python, interpreter);
}

void pp_code_begin(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot)
{
    if (!is_current(slot)) {
        slot->code_epoch = atomic_load_explicit(&pp_capture.code_epoch, memory_order_acquire);
        slot->code_ended_pythons = atomic_load_explicit(&pp_capture.ended_pythons, memory_order_acquire);
        memset(slot->code_sets, 0, slot->code_set_count * sizeof *slot->code_sets);
        slot->codes_used = 0;
    }
    slot->code_sample++;
    pp_code_enter(python, interpreter, slot);
}

/* Reads a live code object. async-signal-safe. */
static bool read_live(const struct pp_python *python, uintptr_t address, struct pp_code *code)
{
    if (!pp_code_read(python, (const void *)address, code))
        return false;
    if (!python->layout.unique_version)
        code->content = pp_code_content_digest(&python->layout, code);
    return true;
}

bool pp_code_resolve_more(const struct pp_object_reader *reader, struct pp_slot *slot,
                          const struct pp_python_frame *frames, uint32_t count, struct pp_record_frame *resolved)
{
    const struct pp_python *python = reader->python;
    struct pp_code code;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t address = frames[i].code;
        resolved[i] = (struct pp_record_frame){PP_ENTRY_CUT, 0};
        if (resolve_known(python, slot, &frames[i], reader->direct, &resolved[i]) ||
            !(reader->direct ? read_live(python, address, &code)
                             : pp_code_copy(reader, slot->scratch->code_copies[0], address, &code)))
            continue;
        if (resolve_one(reader, slot, &frames[i], &code, NULL, &resolved[i]) == PP_REASON_LOST_RING_FULL)
            return false;
    }
    return true;
}

enum pp_reason pp_code_resolve(const struct pp_python *python, uintptr_t interpreter, struct pp_slot *slot,
                               uint32_t frames, uint32_t doubtful, bool has_gil)
{
    struct pp_scratch *scratch = slot->scratch;
    struct pp_code *batch = (struct pp_code *)scratch->codes_read;
    struct pp_object_reader reader = {.python = python,
                                      .pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed)};
    uint32_t overflow = 0;
    pp_code_begin(python, interpreter, slot);
    for (uint32_t i = 0; i < frames; i++) {
        struct pp_code *code = &batch[i % PP_CODE_BATCH];
        if (!scratch->python[i].code) {
            scratch->resolved[i] = (struct pp_record_frame){PP_ENTRY_CUT, 0};
            continue;
        }
        if (!python->layout.unique_version && i + AHEAD < frames && i + AHEAD >= doubtful)
            fetch_content(&python->layout, scratch->python[i + AHEAD].code);
        if (i >= doubtful && resolve_known(python, slot, &scratch->python[i], true, &scratch->resolved[i]))
            continue;
        if (i < doubtful) {
            uint32_t count = doubtful - i < PP_CODE_BATCH ? doubtful - i : PP_CODE_BATCH;
            if (i % PP_CODE_BATCH == 0 && !pp_code_read_batch(python, scratch, &scratch->python[i], count, batch))
                return PP_REASON_PYTHON_TORN;
        } else if (!read_live(python, scratch->python[i].code, code)) {
            return PP_REASON_PYTHON_TORN;
        }
        reader.direct = i >= doubtful && has_gil;
        enum pp_reason reason = resolve_one(&reader, slot, &scratch->python[i], code, &overflow, &scratch->resolved[i]);
        if (reason != PP_REASON_NONE)
            return reason;
    }
    return PP_REASON_NONE;
}
