#include "process.h"
#include "../capture/capture.h"
#include "syscalls.h"

#define PAGE         4096u
#define WIPE_ON_FORK 18 /* MADV_WIPEONFORK, Linux 4.14 */

/* 1; in a copy of this memory the kernel makes it 0. The number alone does not tell: in a pid namespace of its own a
 * child may have its parent's. NULL on an older kernel. */
static _Atomic uint32_t *_Atomic mark;

void pp_process_begins(void)
{
    if (!mark) {
        void *page = pp_sys_mmap_anonymous(PAGE);
        if (page && pp_syscall4(SYS_madvise, (long)page, PAGE, WIPE_ON_FORK, 0) == 0)
            mark = page;
        else if (page)
            pp_sys_munmap(page, PAGE);
    }
    if (mark)
        atomic_store(mark, 1);
    atomic_store(&pp_capture.pid, pp_sys_getpid());
}

bool pp_process_is_profiled(void)
{
    /* the child of vfork has its parent's memory, and its own number */
    return (!mark || atomic_load(mark)) && pp_sys_getpid() == atomic_load(&pp_capture.pid);
}
