/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the cells of the page: the CPU time of the tree's nodes by time and thread. */
#ifndef PT_FLAME_CELLS_H
#define PT_FLAME_CELLS_H

#include "flame.h"

/* Makes the cells of all sides. */
void pt_flame_add_cells(struct pt_flame *flame);

#endif
