/* SPDX-License-Identifier: Apache-2.0 */
#include "gdb_jit.h"
#include "../base/arena.h"
#include "../base/hash.h"
#include "../base/safe_copy.h"
#include "elf_symbols.h"
#include "modules.h"
#include <elf.h>
#include <string.h>

#define DESCRIPTOR_VERSION 1
#define MAX_OBJECT         ((uint64_t)16 << 20)
#define MAX_FRESH          512 /* objects read in one refresh */
#define MAX_SECTION_BYTES  4096

/* value[1] of an object */
#define LAST_SEEN(refresh) ((uint64_t)(refresh) << 1)
#define WAS_READ           1u

/* The interface of gdb's manual, "JIT Compilation Interface". */
struct descriptor {
    uint32_t version, action;
    uintptr_t relevant, first;
};

struct entry {
    uintptr_t next, previous, image;
    uint64_t size;
};

/* Identifies an object, also from a later one at the same address: the section headers are a part of it. */
struct object_key {
    uintptr_t entry, image;
    uint64_t size, digest;
};

static bool identify(uintptr_t at, const struct entry *entry, struct object_key *key)
{
    Elf64_Ehdr header;
    uint8_t sections[MAX_SECTION_BYTES];
    if (entry->size < sizeof header || entry->size > MAX_OBJECT ||
        !pp_safe_copy(&header, entry->image, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    size_t size = (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    if (size > sizeof sections)
        size = sizeof sections;
    if (header.e_shoff > entry->size || size > entry->size - header.e_shoff ||
        !pp_safe_copy(sections, entry->image + header.e_shoff, size))
        return false;
    *key = (struct object_key){at, entry->image, entry->size, pp_hash(sections, size)};
    return true;
}

static void put_functions(struct pp_gdb_jit *jit, const struct object_key *key, uint32_t source)
{
    struct pp_elf_index index;
    uint8_t *copy = pp_safe_copy_mapped(key->image, key->size);
    if (!copy)
        return;
    struct pp_elf_source elf = {.fd = -1, .memory = copy, .size = key->size};
    if (pp_elf_index_read(&elf, &index)) {
        struct pp_elf_symbol symbol;
        uint64_t covered = 0;
        /* a section may end beyond the highest address */
        for (uint64_t at = 0; pp_elf_index_next(&index, &elf, at, &symbol) && symbol.value + 1 > at;
             at = symbol.value + 1) {
            if (!symbol.name[0] || (!symbol.size && symbol.value < covered)) /* a label inside a function */
                continue;
            covered = symbol.value + symbol.size > covered ? symbol.value + symbol.size : covered;
            pp_code_ranges_put(jit->ranges, symbol.value, symbol.size, symbol.name, strlen(symbol.name), source,
                               jit->refresh);
        }
        pp_elf_index_free(&index);
    }
    pp_unmap(copy, key->size);
}

/* Returns false when the object is left for the next refresh. */
static bool read_object(struct pp_gdb_jit *jit, const struct object_key *key)
{
    bool fresh;
    if (!jit->objects.arena)
        pp_intern_init(&jit->objects, &jit->arena);
    uint32_t id = pp_intern(&jit->objects, key, sizeof *key, &fresh);
    if (!id)
        return false;
    struct pp_intern_entry *object = pp_intern_entry(&jit->objects, id);
    if (fresh)
        object->value[0] = PP_GDB_JIT_FIRST_SOURCE + jit->next_source++;
    bool was_read = object->value[1] & WAS_READ;
    object->value[1] = LAST_SEEN(jit->refresh) | WAS_READ;
    if (was_read)
        return true;
    if (jit->fresh++ >= MAX_FRESH) {
        object->value[1] = LAST_SEEN(jit->refresh);
        return false;
    }
    put_functions(jit, key, (uint32_t)object->value[0]);
    return true;
}

void pp_gdb_jit_begin(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges, uint32_t refresh)
{
    jit->ranges = ranges;
    jit->refresh = refresh;
    jit->walked = jit->fresh = 0;
    jit->complete = true;
}

void pp_gdb_jit_walk(struct pp_gdb_jit *jit, uintptr_t descriptor)
{
    struct descriptor list;
    if (!pp_safe_copy(&list, descriptor, sizeof list) || list.version != DESCRIPTOR_VERSION)
        return;
    uintptr_t previous = 0;
    for (uintptr_t at = list.first; at;) {
        struct entry entry;
        struct object_key key;
        /* the list is being changed, or endless */
        if (jit->walked++ >= PP_GDB_JIT_OBJECTS_MAX || !pp_safe_copy(&entry, at, sizeof entry) ||
            entry.previous != previous) {
            jit->complete = false;
            return;
        }
        if (identify(at, &entry, &key) && !read_object(jit, &key))
            jit->complete = false;
        previous = at;
        at = entry.next;
    }
}

static bool is_gone(const struct pp_gdb_jit *jit, const struct pp_intern_entry *object)
{
    return object->value[1] < LAST_SEEN(jit->refresh - 1);
}

/* The table is ascending by source: sources are assigned in its order. */
static bool source_is_gone(uint32_t source, void *arg)
{
    struct pp_gdb_jit *jit = arg;
    uint32_t low = 0, high = jit->objects.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (pp_intern_entry(&jit->objects, middle + 1)->value[0] < source)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == jit->objects.count)
        return false;
    const struct pp_intern_entry *object = pp_intern_entry(&jit->objects, low + 1);
    return object->value[0] == source && is_gone(jit, object);
}

static void forget_gone(struct pp_gdb_jit *jit)
{
    struct pp_arena arena = {0};
    struct pp_intern objects;
    bool fresh;
    pp_intern_init(&objects, &arena);
    for (uint32_t i = 0; i < jit->objects.count; i++) {
        const struct pp_intern_entry *object = pp_intern_entry(&jit->objects, i + 1);
        uint32_t id = is_gone(jit, object) ? 0 : pp_intern(&objects, pp_intern_key(object), object->length, &fresh);
        if (id)
            memcpy(pp_intern_entry(&objects, id)->value, object->value, sizeof object->value);
    }
    pp_arena_reset(&jit->arena);
    jit->arena = arena;
    jit->objects = objects;
    jit->objects.arena = &jit->arena;
}

bool pp_gdb_jit_end(struct pp_gdb_jit *jit)
{
    bool gone = false;
    for (uint32_t i = 0; jit->complete && i < jit->objects.count; i++)
        gone |= is_gone(jit, pp_intern_entry(&jit->objects, i + 1));
    if (gone) {
        pp_code_ranges_remove(jit->ranges, source_is_gone, jit);
        forget_gone(jit);
    }
    return jit->complete;
}

static void walk_module(struct pp_module *module, void *jit)
{
    uintptr_t descriptor = pp_module_jit_descriptor(module);
    if (descriptor)
        pp_gdb_jit_walk(jit, descriptor);
}

bool pp_gdb_jit_refresh(struct pp_gdb_jit *jit, struct pp_code_ranges *ranges, uint32_t refresh)
{
    pp_gdb_jit_begin(jit, ranges, refresh);
    pp_modules_each(walk_module, jit);
    return pp_gdb_jit_end(jit);
}
