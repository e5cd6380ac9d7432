/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PT_QUERY_NOTHING_LEFT_H
#define PT_QUERY_NOTHING_LEFT_H

#include "../model/model.h"

/* Sends the message that no sample fits the selection: the options that were given, and what they can choose from. */
void pt_say_nothing_is_left(const struct pt_profile *profile);

#endif
