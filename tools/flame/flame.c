/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one tree of one or two profiles, with its cells. */
#include <stdlib.h>
#include <string.h>

#include "../query/group.h"
#include "../view/uncertainty.h"
#include "cells.h"
#include "sources.h"

struct pt_flame *pt_flame_new(struct pt_profile *const *sides, unsigned side_count, bool lines)
{
    struct pt_flame *flame = pt_alloc(1, sizeof *flame);
    flame->sides = sides;
    flame->side_count = side_count;
    flame->lines = lines;
    flame->merged = pt_profile_new(NULL);
    flame->merged->request = sides[0]->request; /* what labels mean */
    for (unsigned i = 0; i < side_count; i++)
        flame->spread[i] = pt_draws_of(sides[i]).spread;
    flame->source = pt_flame_sources(sides[side_count - 1]); /* before it may lose its samples */
    pt_flame_add_cells(flame);
    return flame;
}

bool pt_flame_has_group(const struct pt_flame *flame, const char *by)
{
    return pt_has_group(flame->merged, by) && !(flame->apart && strcmp(by, "thread") == 0);
}

void pt_flame_free(struct pt_flame *flame)
{
    if (!flame)
        return;
    pt_profile_free(flame->merged);
    PT_FREE_TABLE(&flame->frames);
    PT_FREE_TABLE(&flame->folded);
    free(flame->source);
    free(flame);
}
