/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_name.h"
#include "../capture/safe_read.h"

bool pp_thread_name_read(const struct pp_object_reader *reader, uintptr_t frame, struct pp_attribute *learnt,
                         struct pp_context *context)
{
    const struct pp_python_layout *layout = &reader->python->layout;
    uintptr_t thread, name;
    if (!pp_object_copy(reader, &thread, frame + layout->frame.locals, sizeof thread))
        return false;
    thread &= ~(uintptr_t)layout->code_tag;
    if (!pp_attribute_read(reader, thread, PP_THREAD_NAME_ATTRIBUTE, learnt, &name) ||
        !pp_str_open(reader, name, PP_CONTEXT_TEXT_MAX, &context->text))
        return false;
    context->identity = thread;
    return true;
}
