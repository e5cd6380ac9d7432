/* The numbers that a profile gives to what a segment calls by its own ids: found or added at the first use. */
#ifndef PP_PROFILE_NUMBERS_H
#define PP_PROFILE_NUMBERS_H

#include "model.h"

/* By id in the segment. PP_NONE + 1 = 0 stands for "not yet". */
struct pp_number_map {
    uint32_t *items; /* number + 1 */
    uint32_t capacity;
};

/* Begins with its profile, the name, and PP_NONE for the process; pp_numbers_free ends it. */
struct pp_numbers {
    struct pp_profile *profile;
    const char *name; /* stands for the process where the segment does not say which it is */
    uint32_t process; /* PP_NONE until the first thing that needs it */
    bool left_out;    /* of another run than wanted, or there already */
    bool alone;       /* no sample of the process has been added before */
    struct pp_number_map maps[PP_TABLE_COUNT];
    uint32_t *path; /* scratch of pp_numbers_node */
    uint32_t path_capacity;
};

struct pp_process *pp_numbers_process(struct pp_numbers *numbers, const struct pp_segment *segment);
/* What was never defined has numbers that say so. */
uint32_t pp_numbers_thread(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id);
uint32_t pp_numbers_node(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id);
uint32_t pp_numbers_label_set(struct pp_numbers *numbers, const struct pp_segment *segment, uint32_t id);
/* Of the string; 0 for an empty one. */
uint32_t pp_numbers_intern(struct pp_numbers *numbers, struct pp_text text);

/* The id means something else from now on. */
void pp_numbers_forget(struct pp_numbers *numbers, enum pp_table_kind kind, uint32_t id);
void pp_numbers_free(struct pp_numbers *numbers);

#endif
