/* python/ knows CPython: this header finds the interpreters of this process. */
#ifndef PP_PYTHON_FIND_H
#define PP_PYTHON_FIND_H

#include "../capture/python_layout.h"
#include <stdbool.h>

enum pp_python_found {
    PP_PYTHON_NONE,       /* there is no further one */
    PP_PYTHON_UNREADABLE, /* its stacks cannot be read, for the reason in `why` */
    PP_PYTHON_READY,
};

/* Finds the next interpreter among the loaded objects. Fills *python except for its index (of an unreadable one only
 * the version) and sets *why to NULL or to the reason, a static string. A readable interpreter stays loaded from then
 * on. An interpreter that neither runs nor starts is passed over and may be found later. Normal context, one thread at
 * a time; cheap when nothing was loaded since a call that found none. */
enum pp_python_found pp_python_find(struct pp_python *python, const char **why);

/* Reports that the interpreter with this address in its code starts. Any thread. */
void pp_python_starts(uintptr_t code);

/* Returns NULL for an unknown minor version. */
const struct pp_python_layout *pp_python_layout_of(unsigned minor, bool free_threaded);

#endif
