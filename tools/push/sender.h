/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the windows of a batch, one after the other, until the server has each or never takes it. */
#ifndef PT_PUSH_SENDER_H
#define PT_PUSH_SENDER_H

#include "reader.h"

struct pt_push_sender {
    struct pt_push_reader *reader;
    bool once;             /* what the server does not take within a minute is left */
    bool stopping;         /* a signal came */
    uint64_t deadline;     /* CLOCK_MONOTONIC: no try begins later; 0: none */
    uint64_t delay_ns;     /* before the next try; 0: the last one succeeded */
    bool reached;          /* the server has taken a window since we began */
    bool reported_expired; /* it was said that windows were too old */
    char *cause;           /* of the failure that was said last; NULL: nothing fails */
    uint64_t saved_ns;     /* when the state was written, on CLOCK_MONOTONIC */
    bool unsaved;          /* a message said that it cannot be written */
};

enum pt_push_end {
    PT_PUSH_DONE,    /* the batch was sent, or given up */
    PT_PUSH_LEFT,    /* a part is left: the time is over */
    PT_PUSH_REFUSED, /* the server takes nothing, and will not, or there is no curl: a message says so */
};

/* Sends the batch, and notes in the state what the server has. */
enum pt_push_end pt_push_send(struct pt_push_sender *sender);

/* Waits for so long, or until a signal ends the pusher. Returns false then. */
bool pt_push_wait(struct pt_push_sender *sender, uint64_t ns);

/* Has the signals that end a pusher wait for pt_push_wait. */
void pt_push_block_signals(void);

void pt_push_sender_free(struct pt_push_sender *sender);

#endif
