/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MOST_HEADERS 64

/* Returns whether there is a byte that no head may have: a control character, or a line end that is not CR LF. */
static bool has_bad_byte(const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c == '\r' ? i + 1 < length && data[i + 1] != '\n' : c == '\n' ? !i || data[i - 1] != '\r' : c == 0x7f)
            return true;
        if (c < ' ' && c != '\r' && c != '\n' && c != '\t')
            return true;
    }
    return false;
}

static bool is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i])))
            return false;
    return length;
}

/* Checks a request line without its end. */
static enum pt_http check_line(const char *line, size_t length)
{
    const char *target = memchr(line, ' ', length), *end = line + length;
    if (!target || !is_token(line, (size_t)(target - line)))
        return PT_HTTP_BAD;
    target++;
    const char *version = memchr(target, ' ', (size_t)(end - target));
    if (!version) /* HTTP/0.9 */
        return PT_HTTP_BAD;
    version++;
    if (end - version != 8 || memcmp(version, "HTTP/", 5) != 0 || !isdigit((unsigned char)version[5]) ||
        version[6] != '.' || !isdigit((unsigned char)version[7]))
        return PT_HTTP_BAD;
    if (version[5] != '1')
        return PT_HTTP_VERSION;
    size_t name = (size_t)(target - 1 - line);
    bool get = name == 3 && memcmp(line, "GET", 3) == 0, head = name == 4 && memcmp(line, "HEAD", 4) == 0;
    if (!get && !head)
        return PT_HTTP_METHOD;
    if (*target != '/' || memchr(target, '\t', (size_t)(version - target)))
        return PT_HTTP_BAD;
    return version - target > PT_TARGET_BYTES ? PT_HTTP_LONG_TARGET : PT_HTTP_OK;
}

/* Takes a header, "Name: value", into the request. Returns false if it is malformed or asks for what is not there. */
static bool take_header(char *line, struct pt_http_request *request)
{
    char *value = strchr(line, ':');
    if (!value || !is_token(line, (size_t)(value - line)))
        return false;
    *value++ = '\0';
    value += strspn(value, " \t");
    for (size_t length = strlen(value); length && strchr(" \t", value[length - 1]); length--)
        value[length - 1] = '\0';
    char **once = strcasecmp(line, "Host") == 0            ? &request->host
                  : strcasecmp(line, "Authorization") == 0 ? &request->authorization
                                                           : NULL;
    if (once && *once)
        return false;
    if (once)
        *once = value;
    bool has_body = (strcasecmp(line, "Content-Length") == 0 && strcmp(value, "0") != 0) ||
                    strcasecmp(line, "Transfer-Encoding") == 0;
    return !has_body;
}

enum pt_http pt_http_parse(char *data, size_t length, struct pt_http_request *request)
{
    if (has_bad_byte(data, length))
        return PT_HTTP_BAD;
    char *line_end = memmem(data, length, "\r\n", 2), *end = memmem(data, length, "\r\n\r\n", 4);
    if (!line_end)
        return length > PT_TARGET_BYTES + 32 ? PT_HTTP_LONG_TARGET : PT_HTTP_MORE;
    enum pt_http status = check_line(data, (size_t)(line_end - data));
    if (status != PT_HTTP_OK)
        return status;
    if (!end)
        return length >= PT_HEAD_BYTES ? PT_HTTP_LONG_HEAD : PT_HTTP_MORE;
    if ((size_t)(end - data) + 4 > PT_HEAD_BYTES)
        return PT_HTTP_LONG_HEAD;
    end[2] = '\0';
    *request = (struct pt_http_request){.only_head = *data == 'H'};
    unsigned headers = 0;
    for (char *line = line_end + 2, *next; *line; line = next) {
        next = strstr(line, "\r\n");
        *next = '\0';
        next += 2;
        if (++headers > MOST_HEADERS)
            return PT_HTTP_LONG_HEAD;
        if (!take_header(line, request))
            return PT_HTTP_BAD;
    }
    if (!request->host)
        return PT_HTTP_BAD;
    request->path = memchr(data, ' ', length);
    request->path++;
    *strchr(request->path, ' ') = '\0';
    char *query = strchr(request->path, '?');
    request->query = query ? query + 1 : request->path + strlen(request->path);
    if (query)
        *query = '\0';
    return PT_HTTP_OK;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* Decodes in place. Returns false if the text is malformed. */
static bool decode(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text != '%') {
            *to++ = *text == '+' ? ' ' : *text;
            continue;
        }
        int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
        if (low < 0 || !(high | low))
            return false;
        *to++ = (char)(high << 4 | low);
        text += 2;
    }
    *to = '\0';
    return true;
}

bool pt_http_next_pair(char **query, char **key, char **value, bool *bad)
{
    while (**query == '&')
        ++*query;
    if (!**query)
        return false;
    *key = *query;
    *query += strcspn(*query, "&");
    if (**query)
        *(*query)++ = '\0';
    *value = *key + strcspn(*key, "=");
    if (**value)
        *(*value)++ = '\0';
    *bad = !decode(*key) || !decode(*value);
    return !*bad;
}
