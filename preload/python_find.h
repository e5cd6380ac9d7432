/* Which interpreter this process holds. */
#ifndef PP_PYTHON_FIND_H
#define PP_PYTHON_FIND_H

#include "capture/python_layout.h"
#include <stdbool.h>

enum pp_python_found {
    PP_PYTHON_NONE,       /* no object defines _PyRuntime */
    PP_PYTHON_UNREADABLE, /* there is one whose stacks we cannot read: `why` says the reason */
    PP_PYTHON_READY,
};

/* Looks through the loaded objects. Fills *python, a version text ("3.11.2") and, for UNREADABLE, *why.
 * Normal context; cheap when no object was loaded since the last call that found none. */
enum pp_python_found pp_python_find(struct pp_python *python, char version[16], const char **why);

/* NULL for a minor version that is not known. */
const struct pp_python_layout *pp_python_layout_of(unsigned minor, bool free_threaded);

#endif
