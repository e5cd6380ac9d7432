/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the label sets of the current segment, a bounded number of them, and their definitions. Flush thread only. */
#ifndef PP_LOG_LABEL_SETS_H
#define PP_LOG_LABEL_SETS_H

#include "tables.h"

#define PP_LABELS_BYTES 4096u /* of a label set */

/* Returns the id of a label set: keys and values in turn, with a NUL after each. When a segment has many sets, values
 * of later ones become "(other)", the application's first and endpoints last. */
uint32_t pp_labels_id(struct pp_tables *tables, const char *set, uint32_t length);
/* Whether a set, which has an id, is one in which values have become "(other)". */
bool pp_labels_have_other(struct pp_tables *tables, uint32_t id);

#endif
