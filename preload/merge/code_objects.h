/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the code objects that handlers defined, by content: a function that ten threads have seen is kept once.
 * There are two generations: when the current one is full the handlers have to define all code objects again
 * (pp_capture.code_epoch), and what the older generation holds lives on until the next change, for samples that were
 * taken before. Full is some times what is seen again and again: a program that makes and drops functions all the time
 * needs no more memory than a program that has them once and for all. Flush thread only. */
#ifndef PP_MERGE_CODE_OBJECTS_H
#define PP_MERGE_CODE_OBJECTS_H

#include "../capture/slot.h"
#include "../log/tables.h"
#include "../python/template_lines.h"

struct pp_code {
    const char *qualname, *filename; /* UTF-8 */
    uint32_t qualname_length, filename_length;
    enum pp_line_table line_table_format;
    uint32_t first_line, first_traceable;
    uint32_t flags; /* co_flags */
    const uint8_t *line_table;
    uint32_t line_table_bytes;
    struct pp_template_lines template_lines; /* of Jinja's and Mako's code */
    bool is_init_cleanup;                    /* 3.12+: the interpreter's own frame under an inlined __init__ */
    uint32_t log_id, log_segment;
    uint32_t serial;    /* no other code object has it */
    uint32_t bytes;     /* of the generation's memory, about */
    uint32_t last_seen; /* flush interval; */
    bool lasting;       /* seen in several intervals */
};

/* What a frame executes. */
struct pp_code_place {
    uint32_t epoch, number; /* pp_codes_at */
    int32_t unit;
};

/* Takes in a definition from the slot's ring. */
void pp_codes_define(struct pp_slot *slot, const struct pp_record_code *record);
/* Returns the code object of a cache entry as a sample of that epoch means it; NULL if it is not known. *number
 * identifies it among those of its epoch. */
struct pp_code *pp_codes_find(struct pp_slot *slot, uint32_t epoch, uint32_t entry, uint32_t *number);
/* Returns it by that number; NULL if its generation is gone. */
struct pp_code *pp_codes_at(uint32_t epoch, uint32_t number);
/* Returns a number that changes whenever pp_codes_find may give another answer than before, and in each interval. */
uint64_t pp_codes_changes(void);
/* Drops the older generation if the current one has grown beyond its share. Between drains. */
void pp_codes_limit(void);
/* Forgets all. Runs in the child of fork. */
void pp_codes_reset(void);

#endif
