/* SPDX-License-Identifier: Apache-2.0 */
/* Names the threads in the log. Python's name wins over the kernel's, which is cut, late or the program's. A sample
 * goes to the name that its thread had when it was taken: a thread that changes its name has a row for each, and so has
 * a thread that runs several green threads. Flush thread only. */
#ifndef PP_LABELS_THREAD_NAMES_H
#define PP_LABELS_THREAD_NAMES_H

#include "../capture/slot.h"

/* Takes in what a handler has read: the name of the samples that follow in the ring. */
void pp_thread_record_name(struct pp_slot *slot, const struct pp_record_context *record);
/* Returns the log's id of the slot's thread, for what is no sample. Defines it at first use and again when it has got
 * another name: to be called once per drain. */
uint32_t pp_thread_of_slot(struct pp_slot *slot, bool ended);
/* Returns the log's id for a sample of the slot, after pp_thread_of_slot. */
uint32_t pp_thread_of_sample(struct pp_slot *slot, const struct pp_record_sample *sample);

#endif
