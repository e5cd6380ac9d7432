/* SPDX-License-Identifier: Apache-2.0 */
/* Copies this process's memory by /proc/self/mem where process_vm_readv is refused: by a seccomp filter, or by an
 * emulator that has no such call.
 *
 * Handlers run on the program's threads, so the descriptor is in the program's table: one number, as high as the
 * program is unlikely to want, that no exec inherits. The program may close it and reuse the number at any moment, from
 * any thread. So the number is held to be ours only while its file is, before each read: no file of the program's is
 * read. And after each read: what was closed meanwhile has not become this file again, since it is opened in no table
 * that another thread uses; hence what was read comes from it. Then it is not opened again before the next fork, and
 * samples have native frames only. Nothing is ever written to the descriptor, and it is closed in the child of fork
 * alone, which has one thread: there it is the parent's memory, and the child opens its own. */
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
/* Closes it, as it is not our memory. At start-up. */
void pp_memory_file_close(void);

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
