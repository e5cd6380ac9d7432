/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the name of a thread in threading's own list of threads, where its stack does not tell it: the main thread,
 * threads made by C that threading has been asked about, threads that were never seen with the GIL. */
#ifndef PP_LABELS_PYTHON_THREADS_H
#define PP_LABELS_PYTHON_THREADS_H

#include "../capture/slot.h"

/* Writes the name as UTF-8 with a NUL; false if the slot's thread is not in the list, or is ending, or the list changes
 * right now. Other threads may change all that is read: it is copied, and read twice. Flush thread only. */
bool pp_python_thread_name(const struct pp_slot *slot, char *name, size_t room);

#endif
