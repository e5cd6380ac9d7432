/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a server has answered, which may be anything, and what follows from it. */
#ifndef PT_PUSH_ANSWER_H
#define PT_PUSH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pt_verdict {
    PT_VERDICT_TAKEN,
    PT_VERDICT_LATER,     /* the same may be taken later */
    PT_VERDICT_TOO_LARGE, /* parts of it may be taken */
    PT_VERDICT_REFUSED,   /* this is never taken; other windows may be */
    PT_VERDICT_WRONG,     /* no window is taken: the URL, the token or the certificate is wrong */
};

struct pt_answer {
    enum pt_verdict verdict;
    int status;              /* of HTTP; 0: none came */
    uint64_t retry_after_ns; /* 0: it does not say */
    char reason[400];        /* one line: what was answered */
    const char *hint;        /* what to do (static); NULL: nothing is known */
};

/* Reads an answer with its headers. now_s: the time, in seconds since 1970. Returns false, with PT_VERDICT_LATER, if no
 * whole headers came. */
bool pt_answer_read(struct pt_answer *answer, const char *data, size_t length, uint64_t now_s);

/* Appends text as one line of printable characters to `to`, which has `room` bytes and ends with a NUL. */
void pt_answer_append(char *to, size_t room, const char *text, size_t length);

#endif
