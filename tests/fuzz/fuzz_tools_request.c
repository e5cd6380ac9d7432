/* What a client sends is whatever it likes: its request is refused, or has its parts within the data and nothing that a
 * header of ours or a command line could be broken by. The same is found when it comes in pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/serve/access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_text(const char *text, const char *from, size_t size)
{
    check(text >= from && text + strlen(text) <= from + size);
    for (; *text; text++)
        check(*text == '\t' || (unsigned char)*text >= ' ');
}

static void check_query(char *query, const char *from, size_t size)
{
    bool bad = false;
    for (char *key, *value; pt_http_next_pair(&query, &key, &value, &bad);)
        check(!bad && key >= from && value >= key && value + strlen(value) <= from + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pt_http_request request = {0}, pieces;
    struct pt_access access = {0}, secret = {.token = "0123456789abcdef"};
    size = size < PT_HEAD_BYTES ? size : PT_HEAD_BYTES;
    char *head = malloc(size + 1), *part = malloc(size + 1);
    memcpy(head, data, size);
    memcpy(part, data, size);
    enum pt_http status = pt_http_parse(head, size, &request), by_piece = PT_HTTP_MORE;
    size_t step = size / 16 + 1;
    for (size_t end = step; by_piece == PT_HTTP_MORE && end < size + step; end += step)
        by_piece = pt_http_parse(part, end < size ? end : size, &pieces);
    check((status == PT_HTTP_OK) == (by_piece == PT_HTTP_OK) || by_piece == PT_HTTP_OK);
    if (status == PT_HTTP_OK) {
        check(*request.path == '/' && !strpbrk(request.path, " ?"));
        check_text(request.path, head, size);
        check_text(request.host, head, size);
        pt_access_check(&access, &request);
        check(pt_access_check(&secret, &request) == PT_HTTP_OK || !request.authorization ||
              !strstr(request.authorization, "Bearer 0123456789abcdef") ||
              strcmp(request.authorization, "Bearer 0123456789abcdef") != 0);
        check_query(request.query, head, size);
    }
    free(head);
    free(part);
    return 0;
}
