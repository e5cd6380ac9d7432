/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../base/print.h"
#include "connection.h"
#include "counters.h"

#define CONNECTIONS  64
#define MOST_WAITING 32 /* for their commands: others are answered meanwhile */
#define MOST_WINDOWS 24 /* of these for the end of a window, which may be minutes away */
#define MOST_RUNNING 2
#define MOST_HELD    (2 * PT_JOB_MOST_BYTES) /* bytes of answers that clients have not taken yet */
#define RUN_NS       (60 * PT_SECOND)
#define READ_LOGS_NS (15 * PT_SECOND) /* what nothing asks for is read all the same: logs may be removed */
#define PAUSE_NS     (PT_SECOND / 10) /* without descriptors no client can be taken */

struct server {
    const struct pt_service *service;
    const struct pt_access *access;
    int listening;
    struct pt_connection connections[CONNECTIONS];
    uint64_t accept_at_ns;
};

static unsigned count_of(const struct server *server, enum pt_stage stage)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        count += server->connections[i].stage == stage;
    return count;
}

/* Returns a free place. Where there is none, the client that has sent its request, or taken its answer, for longest
 * without an end loses its own; there is one, as MOST_WAITING is less than all. */
static struct pt_connection *make_place(struct server *server)
{
    struct pt_connection *oldest = NULL;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct pt_connection *at = &server->connections[i];
        if (at->stage == PT_FREE)
            return at;
        if (at->stage == PT_WAITING || at->stage == PT_RUNNING)
            continue;
        bool is_idle = at->stage != PT_SENDING, oldest_is_idle = oldest && oldest->stage != PT_SENDING;
        if (!oldest || is_idle > oldest_is_idle || (is_idle == oldest_is_idle && at->deadline_ns < oldest->deadline_ns))
            oldest = at;
    }
    if (oldest)
        pt_connection_close(oldest);
    return oldest;
}

/* Returns whether too many commands wait or run, with this one. */
static bool is_too_much(const struct server *server, const struct pt_connection *connection)
{
    unsigned commands = 0, windows = 0;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const struct pt_connection *at = &server->connections[i];
        bool is_command = at->stage == PT_WAITING || at->stage == PT_RUNNING;
        commands += is_command;
        windows += is_command && at->answer.urgent;
    }
    return commands > MOST_WAITING || (connection->answer.urgent && windows > MOST_WINDOWS);
}

static void read_request(struct server *server, struct pt_connection *connection)
{
    pt_connection_read(connection, server->service, server->access);
    if (connection->stage == PT_WAITING && is_too_much(server, connection))
        pt_connection_refuse(connection, PT_HTTP_BUSY, "too many requests at once");
}

static void take_clients(struct server *server)
{
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        int client = accept4(server->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            server->accept_at_ns = pt_clock_ns(CLOCK_MONOTONIC) + PAUSE_NS;
        if (client < 0)
            return;
        struct pt_connection *connection = make_place(server);
        if (!connection) {
            close(client);
            return;
        }
        pt_connection_open(connection, client);
        read_request(server, connection); /* most clients have sent it */
    }
}

static uint64_t held_bytes(const struct server *server)
{
    uint64_t held = 0;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (server->connections[i].stage == PT_SENDING)
            held += server->connections[i].body_size;
    return held;
}

/* Starts the commands whose time has come: urgent ones first, else in the order in which they were to start. */
static void start_jobs(struct server *server, uint64_t now_ns)
{
    while (count_of(server, PT_RUNNING) < MOST_RUNNING && held_bytes(server) < MOST_HELD) {
        struct pt_connection *next = NULL;
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            struct pt_connection *at = &server->connections[i];
            if (at->stage == PT_WAITING && at->start_ns <= now_ns &&
                (!next || at->answer.urgent > next->answer.urgent ||
                 (at->answer.urgent == next->answer.urgent && at->start_ns < next->start_ns)))
                next = at;
        }
        if (!next)
            return;
        if (!pt_job_start(&next->job, server->service->commands, &next->answer.order)) {
            pt_connection_refuse(next, PT_HTTP_BUSY, "no process can be started");
            continue;
        }
        next->stage = PT_RUNNING;
        next->deadline_ns = now_ns + RUN_NS;
    }
}

static void end_overdue(struct server *server, uint64_t now_ns)
{
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct pt_connection *at = &server->connections[i];
        if (at->stage == PT_FREE || at->deadline_ns > now_ns)
            continue;
        if (at->stage == PT_RUNNING)
            pt_connection_take_job(at, SIGKILL);
        else if (at->stage == PT_WAITING)
            pt_connection_refuse(at, PT_HTTP_BUSY, "others are served first");
        else if (at->stage == PT_READING && at->length)
            pt_connection_refuse(at, PT_HTTP_TIMEOUT, "the request did not come to its end");
        else
            pt_connection_close(at);
    }
}

/* Answers what has come of a client or its command. */
static void serve_one(struct server *server, struct pt_connection *connection, short client, short job)
{
    switch (connection->stage) {
    case PT_FREE:
        break;
    case PT_READING:
        if (client)
            read_request(server, connection);
        break;
    case PT_WAITING:
    case PT_RUNNING:
        if (client & (POLLRDHUP | POLLHUP | POLLERR)) /* it has gone */
            pt_connection_close(connection);
        else if (job)
            pt_connection_take_job(connection, 0);
        break;
    case PT_SENDING:
        if (client)
            pt_connection_send(connection);
        break;
    case PT_ENDING:
        if (client)
            pt_connection_drain(connection);
        break;
    }
}

/* Returns when something is to be done, if no client does anything. */
static uint64_t next_time(const struct server *server, uint64_t read_logs_ns)
{
    uint64_t next = read_logs_ns;
    bool full = count_of(server, PT_RUNNING) >= MOST_RUNNING;
    if (server->accept_at_ns && server->accept_at_ns < next)
        next = server->accept_at_ns;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const struct pt_connection *at = &server->connections[i];
        uint64_t time = at->stage == PT_WAITING && !full ? at->start_ns : at->deadline_ns;
        if (at->stage != PT_FREE && time < next)
            next = time;
    }
    return next;
}

static void wait_and_serve(struct server *server, uint64_t until_ns)
{
    struct pollfd fds[1 + 2 * CONNECTIONS];
    uint64_t now_ns = pt_clock_ns(CLOCK_MONOTONIC);
    fds[0] = (struct pollfd){.fd = server->accept_at_ns ? -1 : server->listening, .events = POLLIN};
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const struct pt_connection *at = &server->connections[i];
        bool reads = at->stage == PT_READING || at->stage == PT_ENDING;
        fds[1 + 2 * i] = (struct pollfd){.fd = at->stage == PT_FREE ? -1 : at->client,
                                         .events = reads                     ? POLLIN
                                                   : at->stage == PT_SENDING ? POLLOUT
                                                                             : POLLRDHUP};
        fds[2 + 2 * i] = (struct pollfd){.fd = at->stage == PT_RUNNING ? at->job.end : -1, .events = POLLIN};
    }
    /* A queue whose answers are not taken is asked about every tenth of a second. */
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : held_bytes(server) < MOST_HELD ? 0 : PAUSE_NS;
    if (poll(fds, sizeof fds / sizeof fds[0], (int)((wait_ns + 999999) / 1000000)) < 0)
        return;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (fds[1 + 2 * i].revents || fds[2 + 2 * i].revents)
            serve_one(server, &server->connections[i], fds[1 + 2 * i].revents, fds[2 + 2 * i].revents);
    if (fds[0].revents)
        take_clients(server);
}

static void leave(int number)
{
    (void)number;
    _exit(0);
}

void pt_serve(const struct pt_service *service, const struct pt_access *access, int listening)
{
    struct server *server = pt_alloc(1, sizeof *server);
    uint64_t read_logs_ns = pt_clock_ns(CLOCK_MONOTONIC) + READ_LOGS_NS;
    *server = (struct server){.service = service, .access = access, .listening = listening};
    signal(SIGPIPE, SIG_IGN); /* sendfile knows no other way */
    if (getpid() == 1) {      /* of a container: the kernel ignores what has no handler */
        signal(SIGTERM, leave);
        signal(SIGINT, leave);
    }
    for (;;) {
        wait_and_serve(server, next_time(server, read_logs_ns));
        uint64_t now_ns = pt_clock_ns(CLOCK_MONOTONIC);
        if (server->accept_at_ns <= now_ns)
            server->accept_at_ns = 0;
        end_overdue(server, now_ns);
        start_jobs(server, now_ns);
        if (now_ns < read_logs_ns)
            continue;
        pt_counters_read(service->counters);
        read_logs_ns = pt_clock_ns(CLOCK_MONOTONIC) + READ_LOGS_NS;
    }
}
