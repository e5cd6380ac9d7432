/* SPDX-License-Identifier: Apache-2.0 */
/* One client: its request comes in, its answer goes out. */
#ifndef PT_SERVE_CONNECTION_H
#define PT_SERVE_CONNECTION_H

#include "access.h"
#include "job.h"
#include "routes.h"

enum pt_stage {
    PT_FREE,    /* no client */
    PT_READING, /* its request */
    PT_WAITING, /* until its command starts */
    PT_RUNNING, /* its command */
    PT_SENDING, /* its answer */
    PT_ENDING,  /* the answer is sent: the client reads it, and closes */
};

struct pt_connection {
    enum pt_stage stage;
    int client;
    uint64_t deadline_ns; /* of the stage, as of the next ones on CLOCK_MONOTONIC */
    uint64_t start_ns;    /* of its command */
    bool only_head;
    struct pt_answer answer;
    struct pt_job job;
    struct pt_buffer out; /* head and text of the answer */
    size_t sent;
    int body; /* what the command wrote, after that; -1: nothing */
    uint64_t body_sent, body_size;
    size_t length;
    char head[PT_HEAD_BYTES + 1];
};

/* Takes over the client's socket. */
void pt_connection_open(struct pt_connection *connection, int client);
void pt_connection_close(struct pt_connection *connection);

/* Reads what came of the request. When it is whole it is answered, or waits for its command. */
void pt_connection_read(struct pt_connection *connection, const struct pt_service *service,
                        const struct pt_access *access);

/* Sends what the socket takes. */
void pt_connection_send(struct pt_connection *connection);

/* Reads and drops what the client still sends. */
void pt_connection_drain(struct pt_connection *connection);

/* Answers with what the command has written, or why it has not. signal: that ends it; 0: it has ended. */
void pt_connection_take_job(struct pt_connection *connection, int signal);

/* Answers with a line of text. */
void pt_connection_refuse(struct pt_connection *connection, enum pt_http status, const char *text);

#endif
