/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { LINE_FUNCTION = 1, LINE_NUMBER, LINE_COLUMN };

void pt_append_value_type(struct pt_buffer *to, unsigned field, struct pt_numbering *strings,
                          struct pt_profile *profile, const char *type, const char *unit)
{
    struct pt_buffer message = {0};
    pt_proto_number(&message, VALUE_TYPE, pt_number_text(strings, profile, type));
    pt_proto_number(&message, VALUE_UNIT, pt_number_text(strings, profile, unit));
    pt_proto_message(to, field, &message);
    pt_buffer_free(&message);
}

void pt_append_line(struct pt_buffer *to, unsigned field, uint32_t function, uint32_t line, uint32_t column)
{
    struct pt_buffer message = {0};
    pt_proto_number(&message, LINE_FUNCTION, function);
    pt_proto_number(&message, LINE_NUMBER, line);
    pt_proto_number(&message, LINE_COLUMN, column);
    pt_proto_message(to, field, &message);
    pt_buffer_free(&message);
}

void pt_append_function_fields(struct pt_buffer *message, unsigned first, struct pt_numbering *strings,
                               const struct pt_table_function *function)
{
    pt_proto_number(message, first, pt_number_string(strings, function->name));
    pt_proto_number(message, first + 1, pt_number_string(strings, function->system_name));
    pt_proto_number(message, first + 2, pt_number_string(strings, function->file));
    pt_proto_number(message, first + 3, function->first_line);
}

void pt_append_mapping_fields(struct pt_buffer *message, unsigned first, struct pt_numbering *strings,
                              const struct pt_module *module)
{
    pt_proto_number(message, first, module->start);
    pt_proto_number(message, first + 1, module->limit);
    pt_proto_number(message, first + 2, module->file_offset);
    pt_proto_number(message, first + 3, pt_number_string(strings, module->path));
}
