/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the cells of profiles that are too large for a page as they are: CPU by thread is kept apart from CPU by
 * time. */
#ifndef PT_FLAME_MANY_H
#define PT_FLAME_MANY_H

#include "flame.h"

/* Makes the cells of sides without intervals that have very many samples. The sides lose their samples. */
void pt_flame_add_many(struct pt_flame *flame);

#endif
