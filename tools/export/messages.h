/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that pprof and OTLP have in common: both formats number strings and functions. */
#ifndef PT_EXPORT_MESSAGES_H
#define PT_EXPORT_MESSAGES_H

#include "../base/proto.h"
#include "../view/numbering.h"

/* Each appends a message as a field. A value type is what a value counts, and in which unit. */
void pt_append_value_type(struct pt_buffer *to, unsigned field, struct pt_numbering *strings,
                          struct pt_profile *profile, const char *type, const char *unit);
void pt_append_line(struct pt_buffer *to, unsigned field, uint32_t function, uint32_t line, uint32_t column);

/* Append the fields of a message that follow each other from `first` on. */
void pt_append_function_fields(struct pt_buffer *message, unsigned first, struct pt_numbering *strings,
                               const struct pt_table_function *function);
void pt_append_mapping_fields(struct pt_buffer *message, unsigned first, struct pt_numbering *strings,
                              const struct pt_module *module);

#endif
