/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one tree of the stacks of several profiles. */
#ifndef PT_FLAME_NODES_H
#define PT_FLAME_NODES_H

#include "flame.h"

/* Adds a profile's stacks to the tree, whole and folded, and maps its nodes to those of the tree; a parent's number is
 * less than its children's. The profile gets the folded stacks, too. The caller frees. */
uint32_t *pt_flame_add_nodes(struct pt_flame *flame, struct pt_profile *from);

#endif
