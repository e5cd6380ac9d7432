/* SPDX-License-Identifier: Apache-2.0 */
#include "connection.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/numbers.h"

#define REQUEST_NS (5 * PT_SECOND)  /* for a whole request, however it trickles */
#define SEND_NS    (10 * PT_SECOND) /* for an answer, and as much as it takes at SLOWEST bytes per second */
#define SLOWEST    (32u << 10)
#define QUEUE_NS   (30 * PT_SECOND) /* for a command to begin */
#define ENDING_NS  PT_SECOND
#define PIECE      ((size_t)64 << 10)
#define MESSAGES   2000 /* bytes of what a command said */

static void set_stage(struct pt_connection *connection, enum pt_stage stage, uint64_t time_ns)
{
    connection->stage = stage;
    connection->deadline_ns = pt_clock_ns(CLOCK_MONOTONIC) + time_ns;
}

void pt_connection_open(struct pt_connection *connection, int client)
{
    *connection = (struct pt_connection){.client = client, .body = -1, .job = {.end = -1, .out = -1, .err = -1}};
    set_stage(connection, PT_READING, REQUEST_NS);
}

void pt_connection_close(struct pt_connection *connection)
{
    if (connection->job.process)
        pt_job_end(&connection->job, SIGKILL);
    if (connection->job.err >= 0)
        close(connection->job.err);
    if (connection->job.out >= 0)
        close(connection->job.out);
    pt_answer_free(&connection->answer);
    pt_buffer_free(&connection->out);
    close(connection->client);
    connection->stage = PT_FREE;
}

static const char *reason_of(enum pt_http status)
{
    switch (status) {
    case PT_HTTP_MORE:
    case PT_HTTP_OK:
        break;
    case PT_HTTP_BAD:
        return "Bad Request";
    case PT_HTTP_NO_TOKEN:
        return "Unauthorized";
    case PT_HTTP_FORBIDDEN:
        return "Forbidden";
    case PT_HTTP_NOT_FOUND:
        return "Not Found";
    case PT_HTTP_METHOD:
        return "Method Not Allowed";
    case PT_HTTP_TIMEOUT:
        return "Request Timeout";
    case PT_HTTP_LONG_TARGET:
        return "URI Too Long";
    case PT_HTTP_MISDIRECTED:
        return "Misdirected Request";
    case PT_HTTP_LONG_HEAD:
        return "Request Header Fields Too Large";
    case PT_HTTP_FAILED:
        return "Internal Server Error";
    case PT_HTTP_BUSY:
        return "Service Unavailable";
    case PT_HTTP_VERSION:
        return "HTTP Version Not Supported";
    }
    return "OK";
}

/* Begins to send the answer. Our pages have a policy of their own for scripts and styles. */
static void answer(struct pt_connection *connection)
{
    const struct pt_answer *what = &connection->answer;
    struct pt_buffer *out = &connection->out;
    uint64_t length = connection->body >= 0 ? connection->body_size : what->text.length;
    pt_buffer_format(out,
                     "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: %s\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                     "Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: %s\r\n",
                     (int)what->status, reason_of(what->status), what->type,
                     !what->is_page               ? "default-src 'none'; frame-ancestors 'none'"
                     : what->status == PT_HTTP_OK ? "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
                                                  : "default-src 'none'; frame-ancestors 'self'");
    if (!what->order.count || connection->body >= 0) /* of HEAD no command is run */
        pt_buffer_format(out, "Content-Length: %" PRIu64 "\r\n", length);
    if (what->is_download && what->status == PT_HTTP_OK)
        pt_buffer_text(out, "Content-Disposition: attachment; filename=\"profile\"\r\n");
    if (what->status == PT_HTTP_METHOD)
        pt_buffer_text(out, "Allow: GET, HEAD\r\n");
    if (what->status == PT_HTTP_NO_TOKEN)
        pt_buffer_text(out, "WWW-Authenticate: Bearer realm=\"pyprof\"\r\n");
    if (what->status == PT_HTTP_BUSY)
        pt_buffer_text(out, "Retry-After: 5\r\n");
    pt_buffer_text(out, "\r\n");
    if (!connection->only_head && what->text.length)
        pt_buffer_append(out, what->text.data, what->text.length);
    set_stage(connection, PT_SENDING, SEND_NS + length / SLOWEST * PT_SECOND);
    pt_connection_send(connection);
}

void pt_connection_refuse(struct pt_connection *connection, enum pt_http status, const char *text)
{
    pt_refuse(&connection->answer, status, "%s", text);
    answer(connection);
}

static const char *refusal_of(enum pt_http status)
{
    switch (status) {
    case PT_HTTP_NO_TOKEN:
        return "a header is missing or wrong: Authorization: Bearer TOKEN, with what --token-file has";
    case PT_HTTP_MISDIRECTED:
        return "the header Host has a name: use an address or localhost, or start pyprof serve with --token-file";
    case PT_HTTP_METHOD:
        return "only GET and HEAD";
    default:
        return reason_of(status);
    }
}

static void take_request(struct pt_connection *connection, const struct pt_service *service,
                         const struct pt_access *access)
{
    struct pt_http_request request;
    enum pt_http status = pt_http_parse(connection->head, connection->length, &request);
    if (status == PT_HTTP_MORE)
        return;
    if (status == PT_HTTP_OK) {
        connection->only_head = request.only_head;
        status = pt_access_check(access, &request);
    }
    if (status != PT_HTTP_OK) {
        pt_connection_refuse(connection, status, refusal_of(status));
        return;
    }
    pt_route(service, &request, &connection->answer);
    if (!connection->answer.order.count || request.only_head) {
        answer(connection);
        return;
    }
    set_stage(connection, PT_WAITING, connection->answer.wait_ns + QUEUE_NS);
    connection->start_ns = connection->deadline_ns - QUEUE_NS;
}

void pt_connection_read(struct pt_connection *connection, const struct pt_service *service,
                        const struct pt_access *access)
{
    ssize_t got =
        recv(connection->client, connection->head + connection->length, PT_HEAD_BYTES - connection->length, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        pt_connection_close(connection);
        return;
    }
    connection->length += (size_t)got;
    take_request(connection, service, access);
}

/* Says that nothing follows, and gives the client time: closing while it sends would take the answer from it. */
static void end(struct pt_connection *connection)
{
    shutdown(connection->client, SHUT_WR);
    set_stage(connection, PT_ENDING, ENDING_NS);
}

void pt_connection_send(struct pt_connection *connection)
{
    while (connection->sent < connection->out.length || connection->body_sent < connection->body_size) {
        ssize_t sent;
        if (connection->sent < connection->out.length) {
            sent = send(connection->client, connection->out.data + connection->sent,
                        connection->out.length - connection->sent, MSG_NOSIGNAL);
            connection->sent += sent > 0 ? (size_t)sent : 0;
        } else {
            off_t at = (off_t)connection->body_sent;
            sent = sendfile(connection->client, connection->body, &at, PIECE);
            connection->body_sent += sent > 0 ? (uint64_t)sent : 0;
        }
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent <= 0 && errno != EINTR) {
            pt_connection_close(connection);
            return;
        }
    }
    end(connection);
}

void pt_connection_drain(struct pt_connection *connection)
{
    char data[4096];
    ssize_t got = recv(connection->client, data, sizeof data, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        pt_connection_close(connection);
}

/* Returns what the command said, without the "pyprof: " of each line and the last line end. The caller frees. */
static char *read_messages(int file)
{
    char *text = pt_alloc(MESSAGES + 1, 1);
    static const char prefix[] = "pyprof: ";
    ssize_t length = pread(file, text, MESSAGES, 0);
    text[length > 0 ? length : 0] = '\0';
    for (char *at = text, *line; at; at = line ? line + 1 : NULL) {
        if (strncmp(at, prefix, sizeof prefix - 1) == 0)
            memmove(at, at + sizeof prefix - 1, strlen(at + sizeof prefix - 1) + 1);
        line = strchr(at, '\n');
    }
    size_t end = strlen(text);
    if (end && text[end - 1] == '\n')
        text[end - 1] = '\0';
    return text;
}

/* Makes names of options those of the query: "--from takes" becomes "from takes". */
static void name_as_in_query(char *text)
{
    for (char *at = text; (at = strstr(at, "--")); at++)
        if (at[2] >= 'a' && at[2] <= 'z' && (at == text || at[-1] == ' ' || at[-1] == '\n'))
            memmove(at, at + 2, strlen(at + 2) + 1);
}

void pt_connection_take_job(struct pt_connection *connection, int signal)
{
    struct stat status;
    int result = pt_job_end(&connection->job, signal);
    PT_AUTO_FREE char *said = read_messages(connection->job.err);
    if (signal)
        pt_connection_refuse(connection, PT_HTTP_BUSY, "that takes too long: ask for a part of it, by from and to");
    else if (result < 0 || fstat(connection->job.out, &status) != 0)
        pt_connection_refuse(connection, PT_HTTP_FAILED, "the answer could not be made, or is too long");
    else if (result == PT_EXIT_USAGE) {
        name_as_in_query(said);
        pt_connection_refuse(connection, PT_HTTP_BAD, said);
    } else if (result != PT_EXIT_OK)
        pt_connection_refuse(connection, PT_HTTP_NOT_FOUND, said);
    else {
        connection->body = connection->job.out;
        connection->body_size = (uint64_t)status.st_size;
        answer(connection);
    }
}
