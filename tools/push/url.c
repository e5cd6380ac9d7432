/* SPDX-License-Identifier: Apache-2.0 */
#include "url.h"

#include <ctype.h>

#include "../base/print.h"

static const struct protocol {
    const char *name, *path, *port; /* of http, without a port in the URL; of https it is 443 */
} protocols[PT_PUSH_PROTOCOLS] = {
    [PT_PUSH_PYROSCOPE] = {"pyroscope+", "/push.v1.PusherService/Push", ":4040"},
    [PT_PUSH_OTLP] = {"otlp+", "/v1development/profiles", ":4318"},
    [PT_PUSH_PARCA] = {"parca+", "/api/profiles/writeraw", ":7070"},
};

#define FORM "takes pyroscope+http://HOST[:PORT], otlp+http://… or parca+http://…, or the same with https"

/* Returns the length of the host and port at the beginning of text; 0 if there is none. Sets *port to where the
 * port's ':' is, NULL without one. */
static size_t authority(const char *text, const char **port)
{
    const char *at = text;
    *port = NULL;
    if (*at == '[') {
        at += 1 + strspn(at + 1, "0123456789abcdefABCDEF:.");
        if (*at != ']' || at == text + 1)
            return 0;
        at++;
    } else {
        while (isalnum((unsigned char)*at) || *at == '-' || *at == '.' || *at == '_')
            at++;
    }
    if (at == text || (*at && *at != ':' && *at != '/'))
        return 0;
    if (*at == ':') {
        size_t digits = strspn(at + 1, "0123456789");
        long number = digits && digits < 6 ? strtol(at + 1, NULL, 10) : 0;
        *port = at;
        at += 1 + digits;
        if (number < 1 || number > 65535 || (*at && *at != '/'))
            return 0;
    }
    return (size_t)(at - text);
}

static bool is_path(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("/-._~%:=+,;", *text))
            return false;
    return true;
}

const char *pt_push_url_read(struct pt_push_url *url, const char *text)
{
    struct pt_buffer endpoint = {0};
    const char *port, *at = text;
    *url = (struct pt_push_url){.protocol = PT_PUSH_PROTOCOLS};
    for (int i = 0; i < PT_PUSH_PROTOCOLS; i++) {
        size_t length = strlen(protocols[i].name);
        if (strncmp(text, protocols[i].name, length) != 0)
            continue;
        url->protocol = (enum pt_push_protocol)i;
        at = text + length;
    }
    bool secure = strncmp(at, "https://", 8) == 0;
    if (url->protocol == PT_PUSH_PROTOCOLS || (!secure && strncmp(at, "http://", 7) != 0))
        return FORM;
    const struct protocol *protocol = &protocols[url->protocol];
    at += secure ? 8 : 7;
    if (strchr(at, '@'))
        return "takes no name or password, which all users of this machine could read: put "
               "'Authorization: Basic …' into --headers FILE or PYPROF_PUSH_HEADERS";
    size_t length = authority(at, &port);
    if (!length || !is_path(at + length))
        return FORM;
    pt_buffer_format(&endpoint, "%s://%.*s%s", secure ? "https" : "http", (int)length, at,
                     port || secure ? "" : protocol->port);
    const char *path = at + length;
    size_t path_length = strlen(path);
    while (path_length && path[path_length - 1] == '/')
        path_length--;
    pt_buffer_append(&endpoint, path, path_length);
    size_t known = strlen(protocol->path);
    if (path_length < known || strcmp(endpoint.data + endpoint.length - known, protocol->path) != 0)
        pt_buffer_text(&endpoint, protocol->path);
    url->endpoint = endpoint.data;
    url->text = pt_strndup(text, (size_t)(path - text) + path_length);
    return NULL;
}

bool pt_push_url_take(struct pt_push_url *url, const char *option, const char *text)
{
    const char *wrong = pt_push_url_read(url, text);
    bool secret = strchr(text, '@');
    return !wrong ||
           pt_error("%s %s%s%s%s", option, wrong, secret ? "" : ", not '", secret ? "" : text, secret ? "" : "'");
}

void pt_push_url_free(struct pt_push_url *url)
{
    free(url->text);
    free(url->endpoint);
    *url = (struct pt_push_url){0};
}
