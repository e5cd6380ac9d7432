/* SPDX-License-Identifier: Apache-2.0 */
/* The source of the hottest Python functions, for the page: what `pyprof annotate` prints, with carets. */
#ifndef PT_FLAME_SOURCES_H
#define PT_FLAME_SOURCES_H

#include "../model/model.h"

/* Returns a JSON object: what shares are of, and the files whose functions are hot, those of the application first,
 * with their lines as far as the source is here and is what ran. `left_out` is how many hot functions have no room. The
 * caller frees it. */
char *pt_flame_sources(const struct pt_profile *profile);

#endif
