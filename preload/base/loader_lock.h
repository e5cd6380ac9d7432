/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lock that the loader holds while its list of objects changes or is walked. */
#ifndef PP_BASE_LOADER_LOCK_H
#define PP_BASE_LOADER_LOCK_H

#include <stdbool.h>

/* Searches for it in this variable of the loader, which may be NULL. Normal context, at start. */
void pp_loader_lock_find(const void *rtld_global);

/* Its word, 0 while it is free; NULL when it was not found. */
const int *pp_loader_lock(void);

/* Whether a thread of the parent held it at the fork: then it stays locked, nothing can be loaded or unloaded, and
 * dl_iterate_phdr does not return. */
bool pp_loader_lock_is_lost(void);
/* In the child of fork. */
void pp_loader_lock_after_fork(void);

#endif
