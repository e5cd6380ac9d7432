/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_labels.h"

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
