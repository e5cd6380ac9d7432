/* SPDX-License-Identifier: Apache-2.0 */
/* A selection in words, as it is typed. */
#ifndef PT_QUERY_SELECTION_WORDS_H
#define PT_QUERY_SELECTION_WORDS_H

#include "../model/request.h"

/* Appends the options that leave samples out, a blank before each. */
void pt_append_selection(struct pt_buffer *line, const struct pt_selection *select);

/* Appends the options that change stacks: --native, --no-awaiters, --join-pools. */
void pt_append_stack_options(struct pt_buffer *line, const struct pt_selection *select);

#endif
