/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "sources.h"
#include "values.h"

bool pp_labels_find(const struct pp_object_reader *reader, const uintptr_t *modules, struct pp_labels_facts *facts,
                    const char **why)
{
    uintptr_t variable;
    *why = "libpyprof.pyprof_labels is no context variable";
    return pp_name_find(reader, modules[PP_MODULE_LABELS], "pyprof_labels", &variable) &&
           pp_context_var_find(reader, variable, &facts->variable);
}

bool pp_labels_read(const struct pp_context_reader *reader, uintptr_t vars, struct pp_context *context)
{
    uintptr_t labels;
    if (!pp_context_var_read(&reader->objects, vars, &reader->facts->labels.variable, &labels))
        return false;
    if (labels && pp_bytes_open(&reader->objects, labels, PP_CONTEXT_TEXT_MAX, &context->text) &&
        context->text.record.bytes) /* after the last scope the value is empty */
        context->identity = labels;
    return true;
}

bool pp_thread_labels_read(const struct pp_context_reader *reader, struct pp_context *context)
{
    struct pp_thread_labels *labels = &reader->slot->thread.labels;
    uint32_t length = atomic_load_explicit(&labels->length, memory_order_acquire);
    if (length) {
        context->identity = PP_SAME_NAME;
        context->text = (struct pp_str){(uintptr_t)labels->text, {length, 1, labels->cut, 0}};
    }
    labels->were_set |= length != 0;
    if (reader->objects.set)
        pp_read_set_add(reader->objects.set, (uintptr_t)&labels->length, sizeof labels->length);
    return labels->were_set;
}
