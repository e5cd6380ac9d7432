/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Names refer to parts of themselves: a few hundred bytes may stand for more text than there is memory. */
#define LONGEST_MANGLED 4096
#define LONGEST_NAME    (64u << 10)

struct growing {
    struct pt_buffer *text;
    size_t limit; /* of the whole text */
    jmp_buf too_long;
};

static void append_part(const char *part, size_t length, void *data)
{
    struct growing *growing = data;
    if (length > growing->limit - growing->text->length)
        longjmp(growing->too_long, 1); /* the demanglers have no other way to be stopped */
    pt_buffer_append(growing->text, part, length);
}

static bool demangle(struct growing *growing, const char *symbol)
{
    /* Old Rust names are C++ names, too. */
    if (setjmp(growing->too_long))
        return false;
    return rust_demangle_callback(symbol, 0, append_part, growing) ||
           cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, append_part, growing);
}

static void truncate_text(struct pt_buffer *text, size_t length)
{
    if (text->length != length) {
        text->length = length;
        text->data[length] = '\0';
    }
}

/* Returns what follows a scope ("7fastgeo_", "5Track_") and appends its name; NULL if there is none. The methods of a
 * scope are numbered in the names of their wrappers: a number alone begins no scope. */
static const char *append_scope(struct pt_buffer *text, const char *at, bool wrapper)
{
    char *name;
    unsigned long length = isdigit((unsigned char)*at) ? strtoul(at, &name, 10) : 0;
    if (!length || length > LONGEST_MANGLED || strnlen(name, length + 2) < length + 2 || name[length] != '_' ||
        isdigit((unsigned char)*name) || (wrapper && !isdigit((unsigned char)name[length + 1])))
        return NULL;
    pt_buffer_append(text, name, length);
    pt_buffer_text(text, ".");
    return name + length + 1;
}

/* Appends the name that Cython has mangled. Python functions, unlike C functions, have a number before their name. */
static bool demangle_cython(struct pt_buffer *text, const char *symbol)
{
    static const char *const kinds[] = {"__pyx_f_", "__pyx_pf_", "__pyx_pw_"};
    size_t start = text->length, kind = 0;
    while (kind < 3 && strncmp(symbol, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    const char *at = kind < 3 ? symbol + strlen(kinds[kind]) : "", *next;
    while ((next = append_scope(text, at, kind == 2)))
        at = next;
    at += kind ? strspn(at, "0123456789") : 0;
    if (text->length > start && *at) {
        pt_buffer_text(text, at);
        return true;
    }
    truncate_text(text, start);
    return false;
}

bool pt_demangle(struct pt_buffer *text, const char *symbol)
{
    bool mangled = strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0;
    size_t start = text->length;
    if (strlen(symbol) >= LONGEST_MANGLED)
        return false;
    if (demangle_cython(text, symbol))
        return true;
    if (!mangled)
        return false;
    struct growing growing = {.text = text, .limit = start + LONGEST_NAME};
    if (demangle(&growing, symbol))
        return true;
    truncate_text(text, start);
    return false;
}
