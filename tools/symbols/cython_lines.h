/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the lines of C code that Cython has made to those of its own source. Unless Cython was asked for #line
 * directives, debug information has lines of the C file; a comment there says before each statement which line it was
 * made of, as "fastgeo.pyx":16.
 */
#ifndef PT_SYMBOLS_CYTHON_LINES_H
#define PT_SYMBOLS_CYTHON_LINES_H

#include "../model/model.h"

/* Gives all native frames in such files, as far as they are here and are not newer than the library, the line of
 * Cython's source. */
void pt_cython_lines_map(struct pt_profile *profile);

#endif
