/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lock that the loader holds while its list of objects changes or is walked. */
#ifndef PP_BASE_LOADER_LOCK_H
#define PP_BASE_LOADER_LOCK_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Searches for it in this variable of the loader, which may be NULL. Normal context, at start. */
void pp_loader_lock_find(const void *rtld_global);

/* Its word, 0 while it is free; NULL when it was not found. */
const int *pp_loader_lock(void);

/* Calls back for each loaded object, with that lock held, until the callback returns another value than 0. Does nothing
 * where the lock is lost or the C library cannot do it. Normal context. */
void pp_loader_visit(int (*callback)(struct dl_phdr_info *, size_t, void *), void *argument);

/* Returns the object of a callback with program headers that can be read: they and an object's tables are pages of its
 * file. Where copies are made and the program has truncated that, or overwrites it, the object has none. */
#define PP_MAX_HEADERS 64 /* of an object; the usual number is 7 to 13 */
struct dl_phdr_info pp_loader_copy(const struct dl_phdr_info *info, size_t size, ElfW(Phdr) headers[PP_MAX_HEADERS]);

/* Whether a thread is in there and certainly has the lock: it does not wait for another thread's. Any thread. */
bool pp_loader_is_visited(void);

/* Whether a thread of the parent held it at the fork: then it stays locked, nothing can be loaded or unloaded, and
 * dl_iterate_phdr does not return. */
bool pp_loader_lock_is_lost(void);
/* Runs in the child of fork. */
void pp_loader_lock_after_fork(void);

#endif
