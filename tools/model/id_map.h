/* SPDX-License-Identifier: Apache-2.0 */
/* Maps ids of a segment to numbers of the profile; adds an item to the profile at its first use. */
#ifndef PT_MODEL_ID_MAP_H
#define PT_MODEL_ID_MAP_H

#include "model.h"

/* Maps the ids of one kind. The array is indexed by id; 0: not mapped yet. */
struct pt_id_table {
    uint32_t *items; /* number in the profile + 1 */
    uint32_t capacity;
};

/* Holds the maps of one segment. It starts with profile, name and process = PT_NONE set, else zero; pt_id_map_free ends
 * it. */
struct pt_id_map {
    struct pt_profile *profile;
    const char *name; /* names the process if the segment does not */
    uint32_t process; /* number of the segment's process; PT_NONE until it is needed */
    bool skipped;     /* the segment is not wanted, or was read before: its samples are dropped */
    bool alone;       /* no sample of the process has been added before */
    struct pt_id_table maps[PT_TABLE_COUNT];
    uint64_t *biases; /* by module id, of those that are mapped */
    uint32_t bias_capacity;
    uint32_t *path; /* scratch of pt_id_map_node */
    uint32_t path_capacity;
};

/* Returns the segment's process, added at the first call; valid until a process is added. */
struct pt_process *pt_id_map_process(struct pt_id_map *ids, const struct pt_segment *segment);
/* Return the profile's number for the id. An id that the log never defined gets a thread, frame or stack whose name
 * says so. */
uint32_t pt_id_map_thread(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
uint32_t pt_id_map_node(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
uint32_t pt_id_map_label_set(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
/* Copies samples with the profile's numbers in place of ids; all are of this thread, a number. */
void pt_id_map_samples(struct pt_id_map *ids, const struct pt_segment *segment, const struct pt_log_sample *from,
                       uint32_t count, uint32_t thread, struct pt_log_sample *to);
uint32_t pt_id_map_string(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
/* Maps everything that the segment has defined and not released, but threads: names only, unless `stacks`. */
void pt_id_map_all(struct pt_id_map *ids, const struct pt_segment *segment, bool stacks);
/* Returns the string's number in the profile; 0 for the empty string. */
uint32_t pt_id_map_intern(struct pt_id_map *ids, struct pt_text text);
/* Makes one text of arguments that each end with a NUL: words with spaces between; an argument with a space in it is
 * quoted. */
uint32_t pt_id_map_command_line(struct pt_id_map *ids, struct pt_text text);

/* Removes an id from its map, because the segment redefines it. */
void pt_id_map_forget(struct pt_id_map *ids, enum pt_table_kind kind, uint32_t id);
/* Makes the ids mean what another profile has: its numbers by those of this one. */
void pt_id_map_move(struct pt_id_map *ids, struct pt_profile *profile, const uint32_t *processes,
                    const uint32_t *const numbers[PT_TABLE_COUNT]);
void pt_id_map_free(struct pt_id_map *ids);

/* Returns the part with this number, NULL if it was not read. */
struct pt_part *pt_part_of(const struct pt_process *process, uint64_t number);

#endif
