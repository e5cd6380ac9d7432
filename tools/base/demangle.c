/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* Names refer to parts of themselves: a few hundred bytes may stand for more text than there is memory. */
#define LONGEST_MANGLED 4096
#define LONGEST_NAME    (64u << 10)

struct growing {
    struct pt_buffer *text;
    size_t limit; /* of the whole text */
    jmp_buf too_long;
};

static void take(const char *part, size_t length, void *context)
{
    struct growing *growing = context;
    if (length > growing->limit - growing->text->length)
        longjmp(growing->too_long, 1); /* the demanglers have no other way to be stopped */
    pt_buffer_append(growing->text, part, length);
}

static bool demangle(struct growing *growing, const char *symbol)
{
    /* Old Rust names are C++ names, too. */
    if (setjmp(growing->too_long))
        return false;
    return rust_demangle_callback(symbol, 0, take, growing) ||
           cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, take, growing);
}

bool pt_demangle(struct pt_buffer *text, const char *symbol)
{
    bool mangled = strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0;
    size_t start = text->length;
    if (!mangled || strlen(symbol) >= LONGEST_MANGLED)
        return false;
    struct growing growing = {.text = text, .limit = start + LONGEST_NAME};
    if (demangle(&growing, symbol))
        return true;
    if (text->length != start) {
        text->length = start;
        text->data[start] = '\0';
    }
    return false;
}
