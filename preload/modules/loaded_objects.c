/* SPDX-License-Identifier: Apache-2.0 */
#include "loaded_objects.h"
#include "../base/elf_names.h"
#include "../base/loader_lock.h"
#include "../base/safe_copy.h"
#include <string.h>

#define MAX_NAME 4096

static void widen(struct pp_address_range *range, uintptr_t start, uintptr_t end)
{
    if (range->start == range->end) {
        *range = (struct pp_address_range){start, end};
        return;
    }
    if (start < range->start)
        range->start = start;
    if (end > range->end)
        range->end = end;
}

static void note_segment(struct pp_loaded_object *object, const ElfW(Phdr) * phdr)
{
    uintptr_t start = object->bias + phdr->p_vaddr, end = start + phdr->p_memsz;
    if (end < start)
        return;
    switch (phdr->p_type) {
    case PT_LOAD:
        widen(&object->image, start, end);
        if (phdr->p_flags & PF_X) {
            if (object->text.start == object->text.end || start < object->text.start)
                object->text_file_offset = phdr->p_offset;
            widen(&object->text, start, end);
        }
        break;
    case PT_GNU_EH_FRAME:
        object->eh_frame_hdr = (struct pp_address_range){start, end};
        break;
    case PT_TLS:
        object->tls_size = phdr->p_memsz;
        break;
    case PT_DYNAMIC:
        object->dynamic = (struct pp_address_range){start, end};
        break;
    case PT_NOTE:
        if (object->note_count < PP_OBJECT_NOTES)
            object->notes[object->note_count++] = (struct pp_address_range){start, end};
        break;
    }
}

/* False without memory. */
static bool copy_object(struct pp_loaded_objects *out, const struct dl_phdr_info *info)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    size_t length = strnlen(name, MAX_NAME);
    struct pp_loaded_object *object = pp_vector_add(&out->objects, sizeof *object);
    char *copy = object ? pp_vector_add(&out->names, length + 1) : NULL;
    if (!copy)
        return false;
    memcpy(copy, name, length);
    copy[length] = '\0';
    *object = (struct pp_loaded_object){.bias = info->dlpi_addr, .first = out->count == 1};
    object->name = (uint32_t)(copy - (char *)out->names.items);
    object->tls_module = info->dlpi_tls_modid;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        note_segment(object, &info->dlpi_phdr[i]);
    const ElfW(Phdr) *segment =
        pp_elf_segment(info, object->eh_frame_hdr.start, object->eh_frame_hdr.end - object->eh_frame_hdr.start, 0);
    if (segment) {
        uintptr_t start = object->bias + segment->p_vaddr;
        object->eh_segment = (struct pp_address_range){start, start + segment->p_memsz};
        object->eh_phdr = *segment;
    }
    return true;
}

/* Stores how much was ever loaded and unloaded, which every object's info has. */
static int read_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct pp_loaded_objects *out = arg;
    out->known = size >= offsetof(struct dl_phdr_info, dlpi_tls_data);
    if (out->known) {
        out->adds = info->dlpi_adds;
        out->subs = info->dlpi_subs;
    }
    return 1;
}

/* Runs under the loader's lock, so it only copies. */
static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct pp_loaded_objects *out = arg;
    ElfW(Phdr) headers[PP_MAX_HEADERS];
    read_counts(info, size, out);
    out->count++;
    if (out->known && out->before && out->before->subs == out->subs && out->before->has(info)) {
        out->known_count++;
        return 0;
    }
    struct dl_phdr_info object = pp_loader_copy(info, size, headers);
    out->known = out->known && copy_object(out, &object);
    return !out->known;
}

void pp_loaded_objects_free(struct pp_loaded_objects *objects)
{
    pp_vector_free(&objects->objects);
    pp_vector_free(&objects->names);
}

static void (*enter)(void), (*leave)(void);

void pp_loaded_objects_set_gate(void (*new_enter)(void), void (*new_leave)(void))
{
    enter = new_enter;
    leave = new_leave;
}

static void visit_objects(int (*callback)(struct dl_phdr_info *, size_t, void *), void *argument)
{
    if (enter)
        enter();
    pp_loader_visit(callback, argument);
    if (leave)
        leave();
}

static bool read_others(const struct pp_known_objects *before, struct pp_loaded_objects *out)
{
    *out = (struct pp_loaded_objects){.before = before};
    visit_objects(collect, out);
    /* glibc up to 2.36 counts what other namespaces load as less unloaded: each that was known has to be there */
    if (out->known && (!before || !out->known_count || out->known_count == before->count))
        return true;
    pp_loaded_objects_free(out);
    return false;
}

bool pp_loaded_objects_read(const struct pp_known_objects *before, struct pp_loaded_objects *out)
{
    *out = (struct pp_loaded_objects){.known = false};
    visit_objects(read_counts, out);
    if (!out->known || (out->adds == before->adds && out->subs == before->subs))
        return false;
    return read_others(before->count ? before : NULL, out) || read_others(NULL, out);
}
