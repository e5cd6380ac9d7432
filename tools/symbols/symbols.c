#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/options.h"
#include "debug_files.h"
#include "eh_frame_hdr.h"
#include "mapped.h"

/* Separate debug files by build-id only: what is found by name alone may be of another build, and nothing here may go
 * to the network. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word crc, char **found)
{
    (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
    const unsigned char *bytes;
    GElf_Addr address;
    int length = dwfl_module_build_id(module, &bytes, &address), descriptor = -1;
    char *build_id = pt_build_id_text(bytes, length > 0 ? (size_t)length : 0);
    for (unsigned place = 0; descriptor < 0 && place < PT_DEBUG_PLACES; place++) {
        char *path = pt_debug_path(build_id, place);
        if (path)
            descriptor = pt_open_build(path, build_id);
        if (descriptor >= 0)
            *found = path;
        else
            free(path);
    }
    free(build_id);
    return descriptor;
}

/* The file as a module at its own addresses; NULL when it is not there or has another build-id. */
static Dwfl_Module *open_module(Dwfl *dwfl, const char *path, const char *build_id)
{
    int descriptor = pt_open_build(path, build_id);
    if (descriptor < 0)
        return NULL;
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, descriptor, 0, true);
    dwfl_report_end(dwfl, NULL, NULL);
    if (!module)
        close(descriptor);
    return module;
}

/* Names of a file that was written meanwhile may be of another build. */
static void take_back(struct pt_profile *profile, uint32_t number, const struct pt_frame *before)
{
    memcpy(profile->frames.items, before, profile->frames.count * sizeof *before);
    pt_error("%s was written while it was read: its functions have no names this time",
             pt_string(profile, profile->modules.items[number].path));
}

static void resolve_module(struct pt_profile *profile, uint32_t number)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = find_debug_file,
        .section_address = dwfl_offline_section_address,
    };
    const char *build_id = pt_string(profile, profile->modules.items[number].build_id);
    Dwfl *dwfl = strlen(build_id) > 2 ? dwfl_begin(&callbacks) : NULL;
    if (!dwfl)
        return;
    struct pt_frame *before = pt_alloc(profile->frames.count, sizeof *before);
    memcpy(before, profile->frames.items, profile->frames.count * sizeof *before);
    pt_mapped_begin();
    Dwfl_Module *module = open_module(dwfl, pt_string(profile, profile->modules.items[number].path), build_id);
    for (unsigned place = 0; !module && place < PT_DEBUG_PLACES; place++) {
        char *path = pt_debug_path(build_id, place);
        module = path ? open_module(dwfl, path, build_id) : NULL;
        free(path);
    }
    GElf_Addr bias = 0;
    Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
    for (uint32_t i = 0; module && i < profile->frames.count; i++) {
        struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind != PP_FRAME_NATIVE || frame->subject != number || frame->symbol)
            continue;
        GElf_Off offset;
        GElf_Sym symbol;
        uint64_t start;
        const char *name = dwfl_module_addrinfo(module, frame->address + bias, &offset, &symbol, NULL, NULL, NULL);
        if (name && *name) {
            frame->symbol = pt_intern_text(profile, name);
            frame->symbol_offset = offset;
        } else if (elf && !frame->symbol_offset && pt_eh_frame_function_start(elf, frame->address, &start)) {
            frame->symbol_offset = frame->address - start;
        }
    }
    if (pt_mapped_changed())
        take_back(profile, number, before);
    dwfl_end(dwfl);
    free(before);
}

void pt_symbols_resolve(struct pt_profile *profile)
{
    bool *wanted = pt_alloc(profile->modules.count, sizeof *wanted);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (frame->kind == PP_FRAME_NATIVE && !frame->symbol && frame->subject != PT_NONE)
            wanted[frame->subject] = true;
    }
    for (uint32_t i = 0; i < profile->modules.count; i++)
        if (wanted[i])
            resolve_module(profile, i);
    free(wanted);
}
