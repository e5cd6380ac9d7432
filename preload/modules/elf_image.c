#include "elf_image.h"
#include "../base/safe_copy.h"
#include <elf.h>
#include <string.h>

#define MAX_NOTES   4096
#define MAX_DYNAMIC 256  /* entries */
#define MAX_CHAIN   4096 /* symbols of one hash bucket */
#define MAX_NAME    64

static size_t align4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

uint8_t pp_elf_build_id(const uint8_t *notes, size_t size, uint8_t *id, size_t max)
{
    Elf64_Nhdr header;
    for (size_t at = 0; size - at >= sizeof header;) {
        memcpy(&header, notes + at, sizeof header);
        at += sizeof header;
        size_t name = at, data = name + align4(header.n_namesz);
        if (data > size || header.n_descsz > size - data)
            return 0;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            header.n_descsz <= max) {
            memcpy(id, notes + data, header.n_descsz);
            return (uint8_t)header.n_descsz;
        }
        at = data + align4(header.n_descsz);
        if (at > size)
            return 0;
    }
    return 0;
}

uint8_t pp_elf_image_build_id(const struct pp_loaded_object *object, uint8_t *id, size_t max)
{
    uint8_t notes[MAX_NOTES];
    for (unsigned i = 0; i < object->note_count; i++) {
        size_t size = object->notes[i].end - object->notes[i].start;
        if (size > sizeof notes)
            size = sizeof notes;
        if (!pp_safe_copy(notes, object->notes[i].start, size))
            continue;
        uint8_t length = pp_elf_build_id(notes, size, id, max);
        if (length)
            return length;
    }
    return 0;
}

struct dynamic {
    uintptr_t symbols, strings, gnu_hash, hash;
};

/* The loader turns most of these addresses into the process's own in place, but not in objects that it may not write
 * to (the vDSO). */
static uintptr_t relocated(const struct pp_loaded_object *object, uintptr_t value)
{
    return value >= object->image.start && value < object->image.end ? value : value + object->bias;
}

static bool read_dynamic(const struct pp_loaded_object *object, struct dynamic *out)
{
    Elf64_Dyn entries[MAX_DYNAMIC];
    size_t count = (object->dynamic.end - object->dynamic.start) / sizeof *entries;
    if (count > MAX_DYNAMIC)
        count = MAX_DYNAMIC;
    if (!count || !pp_safe_copy(entries, object->dynamic.start, count * sizeof *entries))
        return false;
    *out = (struct dynamic){0};
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uintptr_t address = relocated(object, entries[i].d_un.d_ptr);
        switch (entries[i].d_tag) {
        case DT_SYMTAB:
            out->symbols = address;
            break;
        case DT_STRTAB:
            out->strings = address;
            break;
        case DT_GNU_HASH:
            out->gnu_hash = address;
            break;
        case DT_HASH:
            out->hash = address;
            break;
        }
    }
    return out->symbols && out->strings;
}

static bool is_definition(const struct dynamic *dynamic, uint32_t index, const char *name)
{
    Elf64_Sym symbol;
    char found[MAX_NAME];
    size_t size = strlen(name) + 1;
    return size <= sizeof found && pp_safe_copy(&symbol, dynamic->symbols + index * sizeof symbol, sizeof symbol) &&
           symbol.st_shndx != SHN_UNDEF && pp_safe_copy(found, dynamic->strings + symbol.st_name, size) &&
           memcmp(found, name, size) == 0;
}

static bool gnu_hash_defines(const struct dynamic *dynamic, const char *name)
{
    uint32_t hash = 5381, header[4], index;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    if (!pp_safe_copy(header, dynamic->gnu_hash, sizeof header) || header[0] == 0)
        return false;
    uint32_t bucket_count = header[0], first = header[1], bloom_words = header[2];
    uintptr_t buckets = dynamic->gnu_hash + sizeof header + (uintptr_t)bloom_words * 8;
    uintptr_t chains = buckets + (uintptr_t)bucket_count * 4;
    if (!pp_safe_copy(&index, buckets + (uintptr_t)(hash % bucket_count) * 4, sizeof index) || index < first)
        return false;
    for (unsigned n = 0; n < MAX_CHAIN; n++, index++) {
        uint32_t chained;
        if (!pp_safe_copy(&chained, chains + (uintptr_t)(index - first) * 4, sizeof chained))
            return false;
        if ((chained | 1) == (hash | 1) && is_definition(dynamic, index, name))
            return true;
        if (chained & 1)
            return false;
    }
    return false;
}

static bool sysv_hash_defines(const struct dynamic *dynamic, const char *name)
{
    uint32_t hash = 0, header[2], index;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    if (!pp_safe_copy(header, dynamic->hash, sizeof header) || header[0] == 0)
        return false;
    uintptr_t buckets = dynamic->hash + sizeof header, chains = buckets + (uintptr_t)header[0] * 4;
    if (!pp_safe_copy(&index, buckets + (uintptr_t)(hash % header[0]) * 4, sizeof index))
        return false;
    for (unsigned n = 0; n < MAX_CHAIN && index != 0 && index < header[1]; n++) {
        if (is_definition(dynamic, index, name))
            return true;
        if (!pp_safe_copy(&index, chains + (uintptr_t)index * 4, sizeof index))
            return false;
    }
    return false;
}

bool pp_elf_image_defines(const struct pp_loaded_object *object, const char *name)
{
    struct dynamic dynamic;
    if (!read_dynamic(object, &dynamic))
        return false;
    if (dynamic.gnu_hash)
        return gnu_hash_defines(&dynamic, name);
    return dynamic.hash && sysv_hash_defines(&dynamic, name);
}
