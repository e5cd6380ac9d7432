/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what file a module was loaded from. */
#include "../base/elf_names.h"
#include "../base/safe_copy.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <string.h>

#define MAX_NOTES 4096

/* Returns its length, 0: there is none. *at: where it is. */
static uint8_t read_build_id(const struct pp_loaded_object *object, uint8_t id[PP_BUILD_ID_MAX], uintptr_t *at)
{
    uint8_t notes[MAX_NOTES], length = 0;
    for (unsigned i = 0; i < object->note_count && !length; i++) {
        size_t size = object->notes[i].end - object->notes[i].start;
        if (size > sizeof notes)
            size = sizeof notes;
        if (!pp_safe_copy(notes, object->notes[i].start, size))
            continue;
        length = pp_elf_build_id(notes, size, id, PP_BUILD_ID_MAX);
        if (length)
            *at = object->notes[i].start + (uintptr_t)((uint8_t *)memmem(notes, size, id, length) - notes);
    }
    return length;
}

static bool defines(const struct pp_loaded_object *object, const char *name)
{
    return pp_elf_defines(object->bias, object->dynamic.start, name);
}

void pp_module_identify(struct pp_module *module)
{
    const struct pp_loaded_object *object = &module->private->object;
    if (module->private->identified)
        return;
    module->build_id_length = read_build_id(object, module->build_id, &module->private->build_id_at);
    if (defines(object, "_PyRuntime"))
        module->flags |= PP_MODULE_PYTHON;
    module->private->identified = true;
}

bool pp_module_matches(const struct pp_module *module, const struct pp_loaded_object *object, const char *name,
                       bool nothing_unloaded)
{
    const struct pp_loaded_object *known = &module->private->object;
    if (known->bias != object->bias || known->text.start != object->text.start || known->text.end != object->text.end ||
        known->eh_frame_hdr.start != object->eh_frame_hdr.start ||
        known->eh_frame_hdr.end != object->eh_frame_hdr.end || strcmp(module->private->loader_name, name) != 0)
        return false;
    /* nothing is known of its contents before it is identified */
    if (nothing_unloaded || !module->private->identified)
        return true;
    /* Another file of this name may have been loaded at this address. */
    uint8_t id[PP_BUILD_ID_MAX];
    uintptr_t at;
    uint8_t length = read_build_id(object, id, &at);
    return length && length == module->build_id_length && memcmp(id, module->build_id, length) == 0;
}
