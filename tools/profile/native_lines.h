/* Source lines of native frames, and functions that are inlined there. */
#ifndef PP_PROFILE_NATIVE_LINES_H
#define PP_PROFILE_NATIVE_LINES_H

#include "model.h"

/* Gives native frames their source and line, those without a name the one that debug information has for them, and puts
 * the functions that are inlined at their addresses into the stacks, as frames of their own. Debug information is
 * looked for in the module's file, in separate files by build-id and in debuginfod's cache; of what took much of the
 * CPU time on debuginfod's servers, too, if the user has named some. What is not found stays as it is. Nodes get new
 * numbers. */
void pp_native_lines_resolve(struct pp_profile *profile);

#endif
