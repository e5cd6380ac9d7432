/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what may unload a library: other code may be at its addresses from then on (capture/unwind_table.h). */
#include "../base/elf_names.h"
#include "../base/libc.h"
#include "../base/syscalls.h"
#include "../capture/unwind_table.h"

PP_EXPORT int dlclose(void *library)
{
    __typeof__(dlclose) *closes = pp_real()->dlclose;
    if (!closes) /* before glibc 2.34 a module of libc's own, of NSS, say, may have brought libdl */
        pp_elf_find_next("dlclose\0", (void **)&closes);
    if (!closes) {
        errno = ENOSYS;
        return -1;
    }
    int pid = pp_sys_getpid();
    atomic_fetch_add(&pp_unloads.begun, 1);
    int result = closes(library);
    if (pid == pp_sys_getpid()) /* else a destructor has forked, and what its parent had begun does not end here */
        atomic_fetch_add(&pp_unloads.ended, 1);
    return result;
}
