/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/memory.h"
#include "../base/print.h"

#define DEFAULT_LISTEN "127.0.0.1:4040"
#define TOKEN_BYTES    4096 /* limit of the file */
#define FEWEST_BYTES   16   /* of a token */
#define BACKLOG        128
#define ADDRESS_BYTES  64

/* Splits "ADDRESS:PORT" or "[ADDRESS]:PORT". port: to where the digits begin; NULL: there is no port. Returns false if
 * it is neither. */
static bool split(const char *text, char address[ADDRESS_BYTES], const char **port)
{
    bool bracket = *text == '[';
    text += bracket;
    size_t length = strcspn(text, bracket ? "]" : ":");
    if (!length || length >= ADDRESS_BYTES || (bracket && text[length] != ']'))
        return false;
    memcpy(address, text, length);
    address[length] = '\0';
    text += length + bracket;
    *port = *text == ':' ? text + 1 : NULL;
    return !*text || (*text == ':' && text[1] && !text[1 + strspn(text + 1, "0123456789")]);
}

static bool parse_address(const char *text, struct pt_address *to)
{
    char name[ADDRESS_BYTES];
    const char *port;
    *to = (struct pt_address){0};
    if (!split(text, name, &port) || !port || strlen(port) > 5 || atoi(port) > UINT16_MAX)
        return false;
    in_port_t number = htons((uint16_t)atoi(port));
    if (inet_pton(AF_INET, strcasecmp(name, "localhost") == 0 ? "127.0.0.1" : name, &to->v4.sin_addr) == 1) {
        to->v4.sin_family = AF_INET;
        to->v4.sin_port = number;
        to->length = sizeof to->v4;
    } else if (inet_pton(AF_INET6, name, &to->v6.sin6_addr) == 1) {
        to->v6.sin6_family = AF_INET6;
        to->v6.sin6_port = number;
        to->length = sizeof to->v6;
    }
    return to->length;
}

static bool is_loopback(const struct pt_address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/* Returns the token in the file, its first line; NULL after a message. */
static char *read_token(const char *path)
{
    char text[TOKEN_BYTES + 1];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, TOKEN_BYTES);
    if (length < 0)
        pt_error("--token-file: %s: %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    if (length < 0)
        return NULL;
    text[length] = '\0';
    size_t token = strcspn(text, "\r\n");
    if (token < FEWEST_BYTES || text[token + strspn(text + token, "\r\n")] || strcspn(text, " \t") < token) {
        pt_error("--token-file: %s must have one line of at least %d characters without blanks; for instance: "
                 "openssl rand -hex 32",
                 path, FEWEST_BYTES);
        return NULL;
    }
    text[token] = '\0';
    return pt_strdup(text);
}

bool pt_access_parse(struct pt_access *access, const char *listen, const char *token_file)
{
    *access = (struct pt_access){0};
    if (!listen)
        listen = DEFAULT_LISTEN;
    if (!parse_address(listen, &access->address))
        return pt_error("--listen takes an address and a port, as 127.0.0.1:4040 or [::1]:4040, not '%s'", listen);
    if (!token_file && !is_loopback(&access->address))
        return pt_error(
            "--listen %s can be reached from elsewhere, and profiles have names and source lines of the program: "
            "give a secret that requests must have, --token-file FILE",
            listen);
    access->token = token_file ? read_token(token_file) : NULL;
    return !token_file || access->token;
}

/* Takes as long for any text of this length. */
static bool same_secret(const char *given, const char *secret)
{
    size_t length = strlen(secret), count = strlen(given);
    unsigned char difference = length != count;
    for (size_t i = 0; i < count; i++)
        difference |= (unsigned char)(given[i] ^ secret[i < length ? i : 0]);
    return !difference;
}

static bool has_token(const char *authorization, const char *token)
{
    static const char scheme[] = "Bearer ";
    size_t length = sizeof scheme - 1;
    if (!authorization || strncasecmp(authorization, scheme, length) != 0)
        return false;
    return same_secret(authorization + length + strspn(authorization + length, " "), token);
}

static bool is_own_name(const char *host)
{
    char name[ADDRESS_BYTES];
    const char *port;
    struct in6_addr address;
    return split(host, name, &port) &&
           (inet_pton(*host == '[' ? AF_INET6 : AF_INET, name, &address) == 1 || strcasecmp(name, "localhost") == 0);
}

enum pt_http pt_access_check(const struct pt_access *access, const struct pt_http_request *request)
{
    if (access->token)
        return has_token(request->authorization, access->token) ? PT_HTTP_OK : PT_HTTP_NO_TOKEN;
    return is_own_name(request->host) ? PT_HTTP_OK : PT_HTTP_MISDIRECTED;
}

int pt_access_listen(struct pt_access *access)
{
    struct pt_address *address = &access->address;
    char name[INET6_ADDRSTRLEN + 8];
    int on = 1, descriptor = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    pt_access_name(access, name);
    if (descriptor >= 0) /* after a restart, connections of the last server are still in TIME_WAIT */
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (descriptor >= 0 && bind(descriptor, &address->any, address->length) == 0 && listen(descriptor, BACKLOG) == 0 &&
        getsockname(descriptor, &address->any, &address->length) == 0)
        return descriptor;
    pt_error("cannot listen on %s: %s%s", name, strerror(errno),
             errno == EADDRINUSE ? "; --listen chooses another port" : "");
    if (descriptor >= 0)
        close(descriptor);
    return -1;
}

void pt_access_name(const struct pt_access *access, char name[INET6_ADDRSTRLEN + 8])
{
    const struct pt_address *address = &access->address;
    char text[INET6_ADDRSTRLEN] = "";
    bool v4 = address->any.sa_family == AF_INET;
    inet_ntop(address->any.sa_family, v4 ? (const void *)&address->v4.sin_addr : (const void *)&address->v6.sin6_addr,
              text, sizeof text);
    snprintf(name, INET6_ADDRSTRLEN + 8, v4 ? "%s:%u" : "[%s]:%u", text,
             (unsigned)ntohs(v4 ? address->v4.sin_port : address->v6.sin6_port));
}
