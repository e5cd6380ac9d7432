/* SPDX-License-Identifier: Apache-2.0 */
#include "../return_path.h"

/* Leaves only, which have their return address in its register. */
bool pp_return_path(struct pp_code *code, uintptr_t at, struct pp_return_path *path)
{
    size_t size = code->end - at < PP_CODE_WINDOW ? code->end - at : PP_CODE_WINDOW;
    if (!code->read(code->bytes, at, size) || !pp_in_leaf(code->bytes, size, 0))
        return false;
    *path = (struct pp_return_path){.size = 4};
    return true;
}

bool pp_is_restorer(const uint8_t code[PP_RESTORER_SIZE])
{
    (void)code; /* pp_undescribed knows it */
    return false;
}
