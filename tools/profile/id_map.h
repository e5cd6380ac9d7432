/* The numbers that a profile gives to what a segment calls by its own ids: found or added at the first use. */
#ifndef PT_PROFILE_ID_MAP_H
#define PT_PROFILE_ID_MAP_H

#include "model.h"

/* By id in the segment. PT_NONE + 1 = 0 means "not yet". */
struct pt_id_table {
    uint32_t *items; /* number + 1 */
    uint32_t capacity;
};

/* Begins with its profile, the name, and PT_NONE for the process; pt_id_map_free ends it. */
struct pt_id_map {
    struct pt_profile *profile;
    const char *name; /* names the process if the segment does not */
    uint32_t process; /* PT_NONE until the first thing that needs it */
    bool left_out;    /* of another run than wanted, or there already */
    bool alone;       /* no sample of the process has been added before */
    struct pt_id_table maps[PT_TABLE_COUNT];
    uint32_t *path; /* scratch of pt_id_map_node */
    uint32_t path_capacity;
};

struct pt_process *pt_id_map_process(struct pt_id_map *ids, const struct pt_segment *segment);
/* What was never defined becomes a frame, a thread or a stack whose name tells that. */
uint32_t pt_id_map_thread(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
uint32_t pt_id_map_node(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
uint32_t pt_id_map_label_set(struct pt_id_map *ids, const struct pt_segment *segment, uint32_t id);
/* Of the string; 0 for an empty one. */
uint32_t pt_id_map_intern(struct pt_id_map *ids, struct pt_text text);

/* The id means something else from now on. */
void pt_id_map_forget(struct pt_id_map *ids, enum pt_table_kind kind, uint32_t id);
void pt_id_map_free(struct pt_id_map *ids);

#endif
