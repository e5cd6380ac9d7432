/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a frame into parts, for formats that have a field for each. */
#ifndef PT_EXPORT_FRAMES_H
#define PT_EXPORT_FRAMES_H

#include "../base/proto.h"
#include "../model/model.h"

struct pt_frame_parts {
    uint32_t name; /* string: qualified name, symbol as people read it, or "[gc]" */
    uint32_t
        file; /* string: whole path of the source (native: with lines only) or of the module; 0 for pseudo-frames */
    uint32_t line;   /* with lines the one being executed, else of Python functions the first; 0 when unknown */
    uint32_t kind;   /* enum pp_frame_kind */
    uint32_t module; /* native: module, or PT_NONE */
};

/* Names of inlined functions say so, as in all texts. */
struct pt_frame_parts pt_frame_parts_of(struct pt_profile *profile, uint32_t frame, bool lines);

/* Returns the node below the native frame of a node and all that it is inlined into, for formats with several functions
 * at one address. */
uint32_t pt_below_inlined(const struct pt_profile *profile, uint32_t node);

/* Returns the name of a native function without "(inlined)", as a string. */
uint32_t pt_plain_symbol(struct pt_profile *profile, const struct pt_frame *frame);

/* Appends text as pt_shown_text() shows it, with '_' for characters that mean something in the format (`special`). */
void pt_append_plain(struct pt_buffer *out, const char *text, const char *special);

/* Returns the samples sorted by interval, thread and stack; those that are equal in all three are merged. The caller
 * frees. */
struct pt_sample *pt_merged_samples(const struct pt_profile *profile, uint32_t *count);

/* Returns these samples sorted by thread, then by the middle of their interval, then in the order of a walk of the
 * tree: those of one function follow each other. The caller frees. */
struct pt_sample *pt_samples_in_time(const struct pt_profile *profile, uint32_t *count);

/* Returns, by node, whether a sample's stack goes through it. The caller frees. */
bool *pt_nodes_used(const struct pt_profile *profile);

/* Numbers from 1 on for things that have a number of the profile already, in the order of their first use: what formats
 * with tables of their own need. */
struct pt_numbering {
    uint32_t *given;   /* by item; 0: none yet */
    uint32_t *order;   /* items in the order of their numbers, from order[0] on */
    uint32_t count;    /* numbers given */
    uint32_t capacity; /* of given */
    uint32_t order_capacity;
};

/* Returns the item's number, from 1 on. *numbering starts as {0}; pt_numbering_free ends it. */
uint32_t pt_number(struct pt_numbering *numbering, uint32_t item);
void pt_numbering_free(struct pt_numbering *numbering);

/* Returns the string's place in a table whose string 0 is "". */
static inline uint32_t pt_number_string(struct pt_numbering *strings, uint32_t string)
{
    return string ? pt_number(strings, string) : 0;
}

static inline uint32_t pt_number_text(struct pt_numbering *strings, struct pt_profile *profile, const char *text)
{
    return pt_number_string(strings, pt_intern_text(profile, text));
}

/* A line of a table of functions. Strings of the profile; 0: none, unknown. */
struct pt_table_function {
    uint32_t name, system_name, file, first_line;
};

struct pt_function_table {
    PT_TABLE_OF(struct pt_table_function) functions; /* number i is items[i - 1] */
};

/* Returns the function's number, from 1 on. The table starts as {0}; pt_function_table_free ends it. */
uint32_t pt_number_function(struct pt_function_table *table, struct pt_table_function function);
void pt_function_table_free(struct pt_function_table *table);

/* Messages that pprof and OTLP have in common. */

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
