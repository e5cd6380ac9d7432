/* SPDX-License-Identifier: Apache-2.0 */
/* Copies this process's memory by /proc/self/mem where process_vm_readv is refused: by a seccomp filter, or by an
 * emulator that has no such call.
 *
 * Handlers run on the program's threads, so the descriptor is in the program's table: one number, as high as the
 * program is unlikely to want, that no exec inherits. The program may close it and use the number for another file at
 * any moment, from any thread. So each copy checks twice which file the number has. Before: no file of the program's is
 * read, but one that takes the place in that very moment, and a read by offset changes nothing in it. After: then all
 * that was read came from our memory, since what was closed does not become this file again: it is opened in no table
 * that other threads use. A program that has closed it gets native frames only; the child of its next fork opens its
 * own. Ours is closed there, for it is the parent's memory and the child has one thread, and where profiling ends
 * before the program gives up rights. A child that is made past fork() keeps its parent's, of which the manual warns.
 *
 * It also reads pages that the program has made unreadable, which process_vm_readv refuses. */
#ifndef PP_BASE_MEMORY_FILE_H
#define PP_BASE_MEMORY_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

extern struct pp_memory_file {
    bool used; /* process_vm_readv is not called; constant since the start */
    int number;
    uint64_t device, inode;
    _Atomic bool missed; /* a handler has not found it: the program has closed it, or a child could not open its own */
} pp_memory_file;

/* Opens the file, and has it used from now on. At start-up. */
void pp_memory_file_begin(void);
/* Closes it for good: it is not our memory, or profiling ends. Before other threads read by it, or after. */
void pp_memory_file_end(void);

/* Opens it in the calling thread's own descriptor table, which is empty, under the same number. */
void pp_memory_file_open_here(void);

/* Replaces the parent's memory by our own. Runs in the child's atfork handler, before this counts as a process of its
 * own (pp_process_after_fork). */
void pp_memory_file_after_fork(void);

/* Whether the caller can read by it. async-signal-safe. */
bool pp_memory_file_is_open(void);

/* Does what pp_sys_safe_copy does. async-signal-safe. */
long pp_memory_file_copy(const struct iovec *to, unsigned to_count, const struct iovec *from, unsigned from_count);

#endif
