/* Compares two profiles, function by function and stack by stack. */
#ifndef PT_REPORT_COMPARE_H
#define PT_REPORT_COMPARE_H

#include "../profile/model.h"

enum pt_compare_by { PT_COMPARE_CPU, PT_COMPARE_TIME, PT_COMPARE_NONE };

struct pt_side {
    struct pt_profile *profile;
    struct pt_accounting sum;
    uint64_t cpu_ns; /* of the samples: what shares are of */
    uint64_t start_unix_ns, wall_ns;
};

/* CPU nanoseconds of a function or a stack on both sides; 0 where it is not there. */
struct pt_compared {
    const char *text; /* of one of the profiles */
    uint64_t self_ns[2], total_ns[2];
};

/* Returns the side of a profile. Removes the first lines of its functions, which change whenever something above them
 * is edited. */
struct pt_side pt_side_of(struct pt_profile *profile);

/* Returns nanoseconds of a side in the unit of the comparison: per cent of its CPU, milliseconds per second of its run,
 * or seconds. */
double pt_compare_value(const struct pt_side *side, enum pt_compare_by by, uint64_t ns);

/* Returns functions (or lines), those first whose self value changed most. The caller frees. */
struct pt_compared *pt_compare_functions(const struct pt_side sides[2], enum pt_compare_by by, bool lines,
                                         uint32_t *count);

/* Returns stacks as "root;…;leaf", sorted; only self_ns is set. The caller frees with pt_compared_stacks_free. */
struct pt_compared *pt_compare_stacks(const struct pt_side sides[2], bool lines, uint32_t *count);
void pt_compared_stacks_free(struct pt_compared *stacks, uint32_t count);

#endif
