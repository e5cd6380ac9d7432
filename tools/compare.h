/* Two profiles, function by function and stack by stack. */
#ifndef PP_TOOLS_COMPARE_H
#define PP_TOOLS_COMPARE_H

#include "profile/model.h"

enum pp_compare_by { PP_COMPARE_CPU, PP_COMPARE_TIME, PP_COMPARE_NONE };

struct pp_side {
    struct pp_profile *profile;
    struct pp_accounting sum;
    uint64_t cpu_ns; /* of the samples: what shares are of */
    uint64_t start_unix_ns, wall_ns;
};

/* CPU nanoseconds of a function or a stack on both sides; 0 where it is not there. */
struct pp_compared {
    const char *text; /* of one of the profiles */
    uint64_t self_ns[2], total_ns[2];
};

/* Takes the profile over; pp_side_free ends it. Functions of it go without their first lines from here on: those move
 * whenever something above them is edited. */
struct pp_side pp_side_of(struct pp_profile *profile);
void pp_side_free(struct pp_side *side);

/* What nanoseconds of a side count when both are compared: per cent of its CPU, milliseconds per second of its run, or
 * seconds. */
double pp_compare_value(const struct pp_side *side, enum pp_compare_by by, uint64_t ns);

/* Functions (or lines), those first whose self value changed most. The caller frees. */
struct pp_compared *pp_compare_functions(const struct pp_side sides[2], enum pp_compare_by by, bool lines,
                                         uint32_t *count);

/* Stacks as "root;…;leaf", sorted; only self_ns is set. The caller frees with pp_compared_stacks_free. */
struct pp_compared *pp_compare_stacks(const struct pp_side sides[2], bool lines, uint32_t *count);
void pp_compared_stacks_free(struct pp_compared *stacks, uint32_t count);

#endif
