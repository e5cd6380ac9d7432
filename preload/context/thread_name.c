/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_name.h"
#include "../capture/frame_rules.h"

bool pp_thread_name_read(const struct pp_object_reader *reader, uintptr_t frame, unsigned local,
                         struct pp_attribute *learnt, struct pp_context *context)
{
    uintptr_t thread, name;
    if (!pp_frame_local_read(reader, frame, local, &thread) ||
        !pp_attribute_read(reader, thread, PP_THREAD_NAME_ATTRIBUTE, learnt, &name) ||
        !pp_str_open(reader, name, PP_CONTEXT_TEXT_MAX, &context->text))
        return false;
    context->identity = thread;
    return true;
}
