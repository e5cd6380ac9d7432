/* Makes a module of what the loader says, and copies the sections that its rows are compiled from. */
#include "../base/arena.h"
#include "../base/elf_names.h"
#include "../base/mappings.h"
#include "../base/message.h"
#include "../base/safe_copy.h"
#include "../base/syscalls.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <fcntl.h>
#include <string.h>

#define MAX_PATH         4096
#define MAX_NOTES        4096
#define MAX_DYNAMIC      256 /* entries */
#define MAX_EH_FRAME_HDR ((size_t)256 << 20)
#define MAX_EH_FRAME     ((size_t)1 << 30)

static bool is_vdso(const char *name)
{
    static const char prefix[] = "linux-vdso.so";
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

static void find_path(const struct pp_loaded_object *object, const char *name, char *path)
{
    if (is_vdso(name) || name[0] == '/') {
        pp_format(path, MAX_PATH, "%s", is_vdso(name) ? "[vdso]" : name);
        return;
    }
    pp_mapped_path(object->text.start, path, MAX_PATH);
    if (path[0] || !object->first)
        return;
    long length = pp_syscall4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, MAX_PATH - 1);
    path[length > 0 ? length : 0] = '\0';
}

static uint8_t read_build_id(const struct pp_loaded_object *object, uint8_t id[PP_BUILD_ID_MAX])
{
    uint8_t notes[MAX_NOTES], length = 0;
    for (unsigned i = 0; i < object->note_count && !length; i++) {
        size_t size = object->notes[i].end - object->notes[i].start;
        if (size > sizeof notes)
            size = sizeof notes;
        if (pp_safe_copy(notes, object->notes[i].start, size))
            length = pp_elf_build_id(notes, size, id, PP_BUILD_ID_MAX);
    }
    return length;
}

static bool defines(const struct pp_loaded_object *object, const char *name)
{
    ElfW(Dyn) dynamic[MAX_DYNAMIC + 1] = {{0}};
    size_t size = object->dynamic.end - object->dynamic.start;
    if (size > MAX_DYNAMIC * sizeof *dynamic)
        size = MAX_DYNAMIC * sizeof *dynamic;
    return pp_safe_copy(dynamic, object->dynamic.start, size) && pp_elf_defines(object->bias, dynamic, name);
}

struct pp_module *pp_module_create(const struct pp_loaded_object *object, const char *name, uint32_t number)
{
    char found[MAX_PATH];
    find_path(object, name, found);
    size_t path_size = strlen(found) + 1, name_size = strlen(name) + 1;
    size_t size = sizeof(struct pp_module) + sizeof(struct pp_module_private) + path_size + name_size;
    struct pp_module *module = pp_map(size);
    if (!module)
        return NULL;
    struct pp_module_private *private = (struct pp_module_private *)(module + 1);
    char *path = (char *)(private + 1), *loader_name = path + path_size;
    memcpy(path, found, path_size);
    memcpy(loader_name, name, name_size);
    *private =
        (struct pp_module_private){.mapped = size, .object = *object, .number = number, .loader_name = loader_name};
    module->private = private;
    module->start = object->text.start;
    module->end = object->text.end;
    module->bias = object->bias;
    module->text_file_offset = object->text_file_offset;
    module->path = path;
    module->build_id_length = read_build_id(object, module->build_id);
    if (object->first)
        module->flags |= PP_MODULE_MAIN;
    if (is_vdso(name))
        module->flags |= PP_MODULE_VDSO;
    if (defines(object, "_PyRuntime"))
        module->flags |= PP_MODULE_PYTHON;
    return module;
}

void pp_module_destroy(struct pp_module *module)
{
    pp_elf_symbols_free(&module->private->symbols);
    pp_unmap(module, module->private->mapped);
}

bool pp_module_matches(const struct pp_module *module, const struct pp_loaded_object *object, const char *name,
                       bool nothing_unloaded)
{
    const struct pp_loaded_object *known = &module->private->object;
    if (known->bias != object->bias || known->text.start != object->text.start || known->text.end != object->text.end ||
        known->eh_frame_hdr.start != object->eh_frame_hdr.start ||
        known->eh_frame_hdr.end != object->eh_frame_hdr.end || strcmp(module->private->loader_name, name) != 0)
        return false;
    if (nothing_unloaded)
        return true;
    /* Another file of this name may have been loaded at this address. */
    uint8_t id[PP_BUILD_ID_MAX];
    uint8_t length = read_build_id(object, id);
    return length && length == module->build_id_length && memcmp(id, module->build_id, length) == 0;
}

/* Finds the end of .eh_frame, whose size is nowhere in memory: after the last entry that the table names. */
static uintptr_t find_eh_frame_end(const struct pp_section_copy *hdr, const struct pp_eh_frame_hdr *parsed,
                                   uintptr_t segment_end)
{
    uintptr_t last = 0;
    for (size_t i = 0; i < parsed->count; i++) {
        uintptr_t function, fde;
        pp_eh_frame_hdr_entry(hdr, parsed, i, &function, &fde);
        if (fde > last && fde < segment_end)
            last = fde;
    }
    uint32_t length;
    if (last < parsed->eh_frame || segment_end - last < sizeof length || !pp_safe_copy(&length, last, sizeof length) ||
        length > segment_end - last - sizeof length)
        return segment_end;
    return last + sizeof length + length;
}

bool pp_module_read_sections(const struct pp_module *module, struct pp_section_copy sections[PP_SECTIONS])
{
    const struct pp_loaded_object *object = &module->private->object;
    struct pp_section_copy *hdr = &sections[PP_SECTION_HDR], *eh_frame = &sections[PP_SECTION_EH_FRAME];
    memset(sections, 0, PP_SECTIONS * sizeof *sections);
    hdr->address = object->eh_frame_hdr.start;
    hdr->size = object->eh_frame_hdr.end - object->eh_frame_hdr.start;
    if (hdr->size && hdr->size <= MAX_EH_FRAME_HDR)
        hdr->bytes = pp_safe_copy_mapped(hdr->address, hdr->size);
    struct pp_eh_frame_hdr parsed;
    if (!hdr->bytes || !pp_eh_frame_hdr_parse(hdr, &parsed) || parsed.eh_frame < object->eh_segment.start ||
        parsed.eh_frame >= object->eh_segment.end)
        return false;
    eh_frame->address = parsed.eh_frame;
    eh_frame->size = find_eh_frame_end(hdr, &parsed, object->eh_segment.end) - parsed.eh_frame;
    if (eh_frame->size <= MAX_EH_FRAME)
        eh_frame->bytes = pp_safe_copy_mapped(eh_frame->address, eh_frame->size);
    return eh_frame->bytes != NULL;
}

void pp_module_sections_free(struct pp_section_copy sections[PP_SECTIONS])
{
    for (unsigned i = 0; i < PP_SECTIONS; i++)
        if (sections[i].bytes)
            pp_unmap((void *)(uintptr_t)sections[i].bytes, sections[i].size);
}
