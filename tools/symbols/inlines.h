/* Source lines of native frames, and functions that are inlined there. */
#ifndef PT_PROFILE_NATIVE_LINES_H
#define PT_PROFILE_NATIVE_LINES_H

#include "../profile/model.h"

/* Gives native frames their source and line, those without a name the one that debug information has for them, and puts
 * the functions that are inlined at their addresses into the stacks, as frames of their own. What is not found stays as
 * it is. Nodes get new numbers. */
void pt_native_lines_resolve(struct pt_profile *profile);

#endif
