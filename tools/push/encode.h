/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the body of a request: a window's profile, as the server takes it. */
#ifndef PT_PUSH_ENCODE_H
#define PT_PUSH_ENCODE_H

#include "target.h"

/* What Pyroscope takes with its defaults; the others take more. */
#define PT_PUSH_MAX_UNPACKED ((size_t)4 << 20)
#define PT_PUSH_MAX_SAMPLES  16000u

#define PT_PUSH_ID_BYTES 16u

struct pt_push_profile {
    uint64_t start_unix_ns, length_ns;
    uint32_t service;          /* string */
    struct pt_sample *samples; /* in the order of nodes; thread and interval are 0 */
    uint32_t count;
    uint32_t part; /* of the window's profiles of this service */
};

struct pt_push_body {
    struct pt_buffer bytes;
    size_t unpacked; /* bytes of the profile, not compressed */
};

/* Makes the body. What is sent again after a crash has the id that it had before: it follows from what the profile is
 * of. pt_buffer_free ends body->bytes. */
void pt_push_encode(struct pt_push_body *body, const struct pt_push_target *target, struct pt_profile *profile,
                    const struct pt_push_profile *from);

/* Adds the headers that say what the body is. */
void pt_push_add_type(struct pt_pairs *headers, const struct pt_push_target *target);

#endif
