/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what the current segment of the log defines, and the definitions for the next flush. All of it is forgotten
 * when a segment ends: the next segment defines what it uses again, which also bounds our memory. An id is 0 when there
 * is no memory for it. Flush thread only. */
#ifndef PP_LOG_TABLES_H
#define PP_LOG_TABLES_H

#include "../base/intern.h"
#include "../modules/modules.h"
#include "../python/line_table.h"
#include "blocks.h"

struct pp_tables {
    struct pp_arena arena;
    uint32_t segment; /* counts segments: ids kept elsewhere are void when it differs */
    struct pp_intern strings, codes, frames, nodes;
    struct pp_intern thread_names; /* {thread, string} -> the id of that name */
    struct pp_intern labels;       /* label_sets.c's */
    uint32_t modules, threads;     /* ids given out */
    uint32_t interval;             /* counts pp_tables_write, from 1 on */
    uint32_t lasting_nodes;        /* seen in more than one interval; their entries have value[0] == 0 */
    /* Callers' caches that live as long as the segment: code address -> frame; {code, unit} -> frame. */
    struct pp_intern native_frames, python_frames;
    struct pp_arena native_arena;                /* of native_frames, which is forgotten whenever modules change */
    struct pp_buffer fresh[PP_BLOCK_LABELS + 1]; /* payloads of the definition blocks to be written, by type */
};

/* Forgets everything, to begin a segment. */
void pp_tables_reset(struct pp_tables *tables);

uint32_t pp_string_id(struct pp_tables *tables, const char *bytes, size_t length);
uint32_t pp_module_id(struct pp_tables *tables, struct pp_module *module);
uint32_t pp_code_id(struct pp_tables *tables, uint32_t qualname, uint32_t file, uint32_t first_line);
uint32_t pp_frame_native(struct pp_tables *tables, uint32_t module, uintptr_t address, uint32_t symbol,
                         uint64_t symbol_offset);
uint32_t pp_frame_python(struct pp_tables *tables, uint32_t code, const struct pp_position *position);
uint32_t pp_frame_pseudo(struct pp_tables *tables, const char *text);
uint32_t pp_node_id(struct pp_tables *tables, uint32_t parent, uint32_t frame);
/* Defines a new thread (id 0) or renames a known thread; returns its id. name: a string; flags: PP_THREAD_*. */
uint32_t pp_thread_id(struct pp_tables *tables, uint32_t id, int tid, uint32_t name, uint64_t start_unix_ns,
                      uint32_t flags);
/* Returns the id of a further name of a known thread; of many, all later ones are "(other)". */
uint32_t pp_thread_named(struct pp_tables *tables, uint32_t thread, int tid, uint32_t name, uint64_t start_unix_ns);

/* Whether the segment should end. The limit is a multiple of the memory of recurring stacks: a program that makes and
 * drops functions all the time needs no more than others. */
bool pp_tables_full(const struct pp_tables *tables);

/* Appends blocks with all new definitions, in an order in which no definition uses a later one. */
void pp_tables_write(struct pp_tables *tables, struct pp_buffer *out, uint32_t *sequence);

#endif
