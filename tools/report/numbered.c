/* SPDX-License-Identifier: Apache-2.0 */
#include "numbered.h"

#include <inttypes.h>

#define DIGITS "0123456789"

/* Names with equal texts around their numbers. */
struct family {
    uint64_t ns;
    uint32_t joined, row; /* row: string; 0: not made yet */
};

/* Returns the text with a star for each number, as a string; 0: it has none. */
static uint32_t without_numbers(struct pt_profile *profile, const char *name)
{
    PT_AUTO_BUFFER text = {0};
    for (const char *at = name; *at;) {
        size_t other = strcspn(at, DIGITS), number = strspn(at + other, DIGITS);
        pt_buffer_append(&text, at, other);
        pt_buffer_text(&text, number ? "*" : "");
        at += other + number;
    }
    return strpbrk(name, DIGITS) ? pt_intern_text(profile, text.data) : 0;
}

static uint32_t row_of(struct pt_profile *profile, struct family *family, uint32_t stars)
{
    PT_AUTO_BUFFER text = {0};
    if (family->row)
        return family->row;
    pt_buffer_format(&text, "%s (%" PRIu32 " names)", pt_string(profile, stars), family->joined);
    family->row = pt_intern_text(profile, text.data);
    return family->row;
}

static bool is_joined(const struct family *family, uint64_t ns)
{
    return ns && ns <= family->ns / PT_NUMBERED;
}

uint32_t *pt_join_numbered(struct pt_profile *profile, const uint64_t *ns)
{
    uint32_t count = profile->strings.count, *rows = pt_alloc(count, sizeof *rows);
    for (uint32_t i = 1; i < count; i++)
        rows[i] = ns[i] ? without_numbers(profile, pt_string(profile, i)) : 0;
    PT_AUTO_FREE struct family *families = pt_alloc(profile->strings.count, sizeof *families);
    for (uint32_t i = 1; i < count; i++)
        families[rows[i]].ns += rows[i] ? ns[i] : 0;
    for (uint32_t i = 1; i < count; i++)
        families[rows[i]].joined += rows[i] && is_joined(&families[rows[i]], ns[i]);
    for (uint32_t i = 0; i < count; i++) {
        struct family *family = &families[rows[i]];
        bool joined = rows[i] && family->joined > PT_NUMBERED && is_joined(family, ns[i]);
        rows[i] = joined ? row_of(profile, family, rows[i]) : i;
    }
    return rows;
}
