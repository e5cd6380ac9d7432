/* SPDX-License-Identifier: Apache-2.0 */
#include "run_joins.h"

#include <stdlib.h>
#include <string.h>

#include "model.h"

bool pt_run_is(const struct pt_run_joins *joins, struct pt_text own, const char *wanted)
{
    size_t length = strlen(wanted);
    bool is = own.length >= length && memcmp(own.data, wanted, length) == 0;
    for (uint32_t i = 0; joins && i < joins->count && !is; i++) {
        const struct pt_run_join *join = &joins->items[i];
        is = strncmp(join->run, wanted, length) == 0 && strlen(join->own) == own.length &&
             memcmp(join->own, own.data, own.length) == 0;
    }
    return is;
}

void pt_run_joins_apply(const struct pt_run_joins *joins, struct pt_profile *profile)
{
    for (uint32_t i = 0; i < joins->count; i++) {
        uint32_t own = pt_intern_text(profile, joins->items[i].own), run = pt_intern_text(profile, joins->items[i].run);
        for (uint32_t j = 0; j < profile->processes.count; j++)
            if (profile->processes.items[j].run == own)
                profile->processes.items[j].run = run;
    }
}

void pt_run_joins_free(struct pt_run_joins *joins)
{
    for (uint32_t i = 0; i < joins->count; i++) {
        free(joins->items[i].own);
        free(joins->items[i].run);
    }
    free(joins->items);
    *joins = (struct pt_run_joins){0};
}
