/* SPDX-License-Identifier: Apache-2.0 */
#include "../../base/syscalls.h"

/* Whether the instruction before or at the pc is a system call's. It is copied: code may be executable and not
 * readable. async-signal-safe. */
bool pp_calls_kernel(uintptr_t pc)
{
    uint32_t code[2] = {0, 0};
    struct iovec to = {code, sizeof code}, from = {(void *)(pc - sizeof *code), sizeof code};
    return pp_sys_safe_copy(pp_sys_getpid(), &to, 1, &from, 1) == sizeof code &&
           (code[0] == PP_CODE_SVC_0 || code[1] == PP_CODE_SVC_0);
}
