/* Which interpreters this process holds. */
#ifndef PP_PYTHON_FIND_H
#define PP_PYTHON_FIND_H

#include "../capture/python_layout.h"
#include <stdbool.h>

enum pp_python_found {
    PP_PYTHON_NONE,       /* no object holds a further one */
    PP_PYTHON_UNREADABLE, /* there is one whose stacks we cannot read: `why` says the reason */
    PP_PYTHON_READY,
};

/* The next interpreter among the loaded objects that was not found before. Fills *python but for its index (of one that
 * is unreadable only the version) and sets *why to NULL or to the reason, a string that stays. A readable one stays
 * loaded from then on. One that neither runs nor starts is passed over: it may still be found later.
 * Normal context, one thread at a time; cheap when nothing was loaded since a call that found none. */
enum pp_python_found pp_python_find(struct pp_python *python, const char **why);

/* An interpreter starts: that which holds this address in its code. Any thread. */
void pp_python_starts(uintptr_t code);

/* NULL for a minor version that is not known. */
const struct pp_python_layout *pp_python_layout_of(unsigned minor, bool free_threaded);

#endif
