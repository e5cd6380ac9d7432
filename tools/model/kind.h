/* SPDX-License-Identifier: Apache-2.0 */
/* Tells apart what a frame is a part of: the application, a package, the interpreter … */
#ifndef PT_MODEL_KIND_H
#define PT_MODEL_KIND_H

#include <stdbool.h>

struct pt_frame;
struct pt_profile;

#define PT_IMPORTLIB    "<frozen importlib" /* files of the functions that import begin so */
#define PT_DYNAMIC_CODE "<dynamic-code>"    /* what cloudpickle has as the file of functions that it sends */

/* What colours tell apart; the page has the same list (flame/web/colour.js). */
enum pt_kind {
    PT_KIND_APPLICATION, /* Python outside of installed packages and the standard library */
    PT_KIND_PACKAGE,     /* also a command in the interpreter's directory, as pip installs it */
    PT_KIND_STANDARD,
    PT_KIND_INTERPRETER, /* native code of CPython itself; its extension modules are PT_KIND_NATIVE */
    PT_KIND_NATIVE,
    PT_KIND_PSEUDO,
    PT_KINDS,
};

enum pt_kind pt_kind_of(const struct pt_profile *profile, const struct pt_frame *frame);

/* Returns whether the frame is native code of which neither a file nor a name is known: [jit], [jit or unloaded]. */
bool pt_is_nameless_code(const struct pt_profile *profile, const struct pt_frame *frame);

/* Returns whether the frame, of Python, is how Python imports. */
bool pt_is_importlib(const struct pt_profile *profile, const struct pt_frame *frame);

/* Returns the part of a path within a directory of packages, NULL if it is in none. It points into path. */
const char *pt_path_in_packages(const char *path);

#endif
