/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "../base/numbers.h"

#define LONGEST_WAIT 600u /* s: a server that says more is asked again after so long */
#define SHOWN        200  /* bytes of a body */

struct text {
    const char *data;
    size_t length;
};

void pt_answer_append(char *to, size_t room, const char *text, size_t length)
{
    size_t at = strlen(to);
    bool blank = !at || to[at - 1] == ' ';
    for (size_t i = 0; i < length && at + 1 < room; i++) {
        bool shown = text[i] > ' ' && text[i] != 0x7f;
        if (shown || !blank)
            to[at++] = shown ? text[i] : ' ';
        blank = !shown;
    }
    while (at && to[at - 1] == ' ')
        at--;
    to[at] = '\0';
}

static void append(struct pt_answer *answer, const char *text)
{
    size_t at = strlen(answer->reason);
    snprintf(answer->reason + at, sizeof answer->reason - at, "%s", text);
}

static bool read_varint(struct text *message, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && message->length; shift += 7) {
        unsigned char byte = (unsigned char)*message->data++;
        message->length--;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Finds a field of a message of protocol buffers: its bytes, or its number. Returns false if it is not there, or the
 * message ends before that. */
static bool find_field(struct text message, unsigned wanted, struct text *bytes, uint64_t *number)
{
    uint64_t tag, length;
    while (message.length && read_varint(&message, &tag)) {
        if ((tag & 7) == 0) {
            if (!read_varint(&message, &length))
                return false;
            if (tag >> 3 == wanted && number) {
                *number = length;
                return true;
            }
            continue;
        }
        if ((tag & 7) != 2 || !read_varint(&message, &length) || length > message.length)
            return false;
        if (tag >> 3 == wanted && bytes) {
            *bytes = (struct text){message.data, (size_t)length};
            return true;
        }
        message.data += length;
        message.length -= (size_t)length;
    }
    return false;
}

/* Returns what a header says; no data: it is not there. */
static struct text header(struct text head, const char *name)
{
    size_t length = strlen(name);
    while (head.length) {
        const char *end = memchr(head.data, '\n', head.length);
        size_t line = end ? (size_t)(end - head.data) : head.length;
        if (line > length && strncasecmp(head.data, name, length) == 0 && head.data[length] == ':') {
            struct text value = {head.data + length + 1, line - length - 1};
            while (value.length && (*value.data == ' ' || *value.data == '\t'))
                value.data++, value.length--;
            while (value.length && (unsigned char)value.data[value.length - 1] <= ' ')
                value.length--;
            return value;
        }
        line += end != NULL;
        head.data += line;
        head.length -= line;
    }
    return (struct text){0};
}

static bool contains(struct text text, const char *word)
{
    return text.length && memmem(text.data, text.length, word, strlen(word));
}

/* Returns how long to wait, by a number of seconds or by a date; 0: that is not said. */
static uint64_t retry_after_s(struct text value, uint64_t now_s)
{
    char text[64];
    struct tm date = {0};
    if (!value.length || value.length >= sizeof text)
        return 0;
    memcpy(text, value.data, value.length);
    text[value.length] = '\0';
    uint64_t wait = 0;
    if (strspn(text, "0123456789") == value.length) {
        wait = value.length < 9 ? strtoull(text, NULL, 10) : LONGEST_WAIT;
    } else if (strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date)) {
        time_t then = timegm(&date);
        wait = then > 0 && (uint64_t)then > now_s ? (uint64_t)then - now_s : 0;
    }
    return wait < LONGEST_WAIT ? wait : LONGEST_WAIT;
}

/* Appends the message in the body: of google.rpc.Status, of JSON, or the text as it is. */
static void append_body(struct pt_answer *answer, struct text type, struct text body)
{
    static const char key[] = "\"message\":\"";
    struct text message = body;
    const char *json = memmem(body.data, body.length, key, sizeof key - 1);
    if (contains(type, "proto")) {
        if (!find_field(body, 2, &message, NULL))
            message.length = 0;
    } else if (json) {
        const char *begin = json + sizeof key - 1, *end = begin, *limit = body.data + body.length;
        while (end < limit && *end != '"')
            end += *end == '\\' && end + 1 < limit ? 2 : 1;
        message = (struct text){begin, (size_t)(end - begin)};
    }
    size_t before = strlen(answer->reason);
    append(answer, ": ");
    pt_answer_append(answer->reason, sizeof answer->reason, message.data,
                     message.length < SHOWN ? message.length : SHOWN);
    if (strlen(answer->reason) <= before + 1)
        answer->reason[before] = '\0';
}

/* Of profiles that OpenTelemetry's servers take, they may refuse a part. */
static bool is_partial(struct pt_answer *answer, struct text type, struct text body)
{
    struct text partial, message = {0};
    uint64_t rejected = 0;
    if (!contains(type, "protobuf") || !find_field(body, 1, &partial, NULL) ||
        !find_field(partial, 1, NULL, &rejected) || !rejected)
        return false;
    find_field(partial, 2, &message, NULL);
    append(answer, ", but refused: ");
    pt_answer_append(answer->reason, sizeof answer->reason, message.data, message.length);
    return true;
}

static void judge(struct pt_answer *answer, struct text head, struct text type, struct text body)
{
    int status = answer->status;
    answer->verdict = PT_VERDICT_REFUSED;
    if (status >= 200 && status < 300 && contains(type, "text/html")) {
        answer->verdict = PT_VERDICT_WRONG;
        append(answer, " with a page for people");
        answer->hint = "that is another kind of server, or a proxy before it: check the URL";
        return;
    }
    /* The status is the server's word (RFC 9110, 15.3): it has taken the profile, also if its answer then breaks off or
     * never ends. Sent again, it would count twice where profiles have no id. */
    if (status >= 200 && status < 300) {
        answer->verdict = is_partial(answer, type, body) ? PT_VERDICT_REFUSED : PT_VERDICT_TAKEN;
        return;
    }
    append_body(answer, type, body);
    if (status >= 300 && status < 400) {
        struct text to = header(head, "Location");
        answer->verdict = PT_VERDICT_WRONG;
        answer->hint = "redirections are not followed: give the URL that the server itself has";
        if (to.length)
            append(answer, ": moved to ");
        pt_answer_append(answer->reason, sizeof answer->reason, to.data, to.length < SHOWN ? to.length : SHOWN);
    } else if (status == 408 || status == 429 || status >= 500) {
        answer->verdict = PT_VERDICT_LATER;
    } else if (status == 413 || contains(body, "too large") || contains(body, "exceeds maximum allowed size")) {
        answer->verdict = PT_VERDICT_TOO_LARGE;
    } else if (status == 401 || status == 403 || status == 407) {
        answer->verdict = PT_VERDICT_WRONG;
        answer->hint = "check the token: a line 'Authorization: Bearer …' in the file of --headers, or "
                       "PYPROF_PUSH_HEADERS='Authorization=Bearer …'";
    } else if (status == 404 || status == 405 || status == 415) {
        answer->verdict = PT_VERDICT_WRONG;
        answer->hint =
            "that is another kind of server, or its path is another one, or it does not take profiles: check "
            "the URL";
    }
}

/* Takes the first line and the headers that follow it. Returns false if they are not whole. */
static bool take_head(struct text *data, struct text *head, int *status)
{
    if (data->length < 12 || strncmp(data->data, "HTTP/", 5) != 0) /* of an empty answer there is no data, either */
        return false;
    const char *end = memmem(data->data, data->length, "\r\n\r\n", 4), *blank;
    if (!end)
        return false;
    *head = (struct text){data->data, (size_t)(end - data->data)};
    const char *line_end = memchr(head->data, '\r', head->length + 1);
    blank = memchr(head->data, ' ', (size_t)(line_end - head->data));
    *status = 0;
    for (const char *at = blank ? blank + 1 : end; at < end && *at >= '0' && *at <= '9' && *status < 1000; at++)
        *status = *status * 10 + (*at - '0');
    data->data = end + 4;
    data->length -= head->length + 4;
    return *status >= 100 && *status < 1000;
}

bool pt_answer_read(struct pt_answer *answer, const char *bytes, size_t length, uint64_t now_s)
{
    struct text data = {bytes, length}, head;
    *answer = (struct pt_answer){.verdict = PT_VERDICT_LATER};
    int status = 0;
    do
        if (!take_head(&data, &head, &status))
            return false;
    while (status < 200);
    answer->status = status;
    const char *line = memchr(head.data, ' ', head.length), *end = memchr(head.data, '\r', head.length);
    size_t first = line ? (size_t)((end ? end : head.data + head.length) - line) : 0;
    pt_answer_append(answer->reason, sizeof answer->reason, line, line && first < SHOWN ? first : line ? SHOWN : 0);
    answer->retry_after_ns = retry_after_s(header(head, "Retry-After"), now_s) * PT_SECOND;
    judge(answer, head, header(head, "Content-Type"), data);
    return true;
}
