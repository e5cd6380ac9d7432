/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says for which function of the application the CPU time of each stack counts: the innermost, with all that it calls
 * outside of the application. So all CPU time is given out once. A comprehension, a generator expression or a lambda
 * counts for the function that it is written in, which is what a reader knows; what a compiler adds to a native
 * function counts for that.
 *
 * Where the application has no code of its own in the profile (a command of an installed package), all Python functions
 * are taken for it, with the C code that they call.
 */
#ifndef PT_VIEW_OWN_CODE_H
#define PT_VIEW_OWN_CODE_H

#include "../model/model.h"

struct pt_own_code {
    bool application; /* false: all Python functions are meant */
    /* By node, frames; PT_NONE: there is none. */
    uint32_t *frame;    /* of the function */
    uint32_t *caller;   /* of the application's function that led to it */
    uint32_t *callee;   /* that it calls outside of the application */
    uint32_t *imported; /* of the module that an import executes, the outermost since the function */
    bool *importing;    /* by node: an import is what the function does, or what runs without a function */
};

/* native: with the application's native code (pt_native_applications). pt_own_code_free ends it. */
struct pt_own_code pt_own_code_of(struct pt_profile *profile, bool native);
void pt_own_code_free(struct pt_own_code *own);

#endif
