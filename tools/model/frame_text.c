/* SPDX-License-Identifier: Apache-2.0 */
#include "frame_text.h"

#include <ctype.h>
#include <inttypes.h>
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

/* Appends the name that a linker symbol encodes: C++ (_Z…), Rust (_R…, and _ZN…17h<hash>E, without the hash),
 * Cython (__pyx_f_, __pyx_pf_ and __pyx_pw_: "package.Class.method").
 * False, and nothing appended, when the symbol is none of these, or longer than a person would read. */
static bool pt_demangle(struct pt_buffer *text, const char *symbol)
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

/* Ends the name of a stub by which a module calls a function of another one. */
#define PLT "@plt"

const char *pt_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *after_last(const char *path, const char *mark)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, mark)); at++)
        if (at[strlen(mark)])
            found = at + strlen(mark);
    return found;
}

const char *pt_short_path(const char *path, const char *cwd)
{
    const char *cut = after_last(path, "/site-packages/");
    if (!cut)
        cut = after_last(path, "/dist-packages/");
    if (!cut) { /* after the library's directory */
        static const char mark[] = "/lib/python";
        const char *found = NULL;
        for (const char *at = path; (at = strstr(at, mark)); at++) {
            const char *end = at + sizeof mark - 1;
            end += strspn(end, "0123456789.t");
            if (*end == '/' && end[1])
                found = end + 1;
        }
        cut = found;
    }
    size_t length = strlen(cwd);
    if (!cut && length > 1 && strncmp(path, cwd, length) == 0 && path[length] == '/' && path[length + 1])
        cut = path + length + 1;
    return cut ? cut : path;
}

static size_t without_suffixes(const char *symbol)
{
    static const char *const suffixes[] = {".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm.", "@"};
    size_t length = strlen(symbol);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        const char *found = strstr(symbol, suffixes[i]);
        if (found && found != symbol && (size_t)(found - symbol) < length)
            length = (size_t)(found - symbol);
    }
    return length;
}

/* numba tells versions and flags of one function apart by tags of its own, "[abi:v1][abi:c8tJTIeFIjxB2IKSg…]". */
static void append_without_tags(struct pt_buffer *text, const char *name, size_t length)
{
    static const char tag[] = "[abi:";
    const char *first = memmem(name, length, "[abi:v", sizeof "[abi:v" - 1), *end = name + length, *at = first;
    while (at && (size_t)(end - at) > sizeof tag && strncmp(at, tag, sizeof tag - 1) == 0) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (!close)
            break;
        at = close + 1;
    }
    if (!first || !isdigit((unsigned char)first[sizeof "[abi:v" - 1]) || at == first) {
        pt_buffer_append(text, name, length);
        return;
    }
    pt_buffer_append(text, name, (size_t)(first - name));
    pt_buffer_append(text, at, (size_t)(end - at));
}

static void append_symbol(struct pt_buffer *text, const char *symbol, size_t length)
{
    struct pt_buffer plain = {0}, demangled = {0};
    size_t prefix = strncmp(symbol, "cfunc._Z", sizeof "cfunc._Z" - 1) == 0 ? sizeof "cfunc." - 1 : 0; /* numba's */
    pt_buffer_append(&plain, symbol, length);
    if (pt_demangle(&demangled, plain.data + prefix)) {
        pt_buffer_append(text, symbol, prefix);
        append_without_tags(text, demangled.data, demangled.length);
    } else {
        pt_buffer_text(text, plain.data);
    }
    pt_buffer_free(&plain);
    pt_buffer_free(&demangled);
}

void pt_symbol_text(struct pt_buffer *text, const char *symbol)
{
    size_t length = strlen(symbol), stub = strlen(PLT);
    append_symbol(text, symbol, without_suffixes(symbol));
    if (length > stub && strcmp(symbol + length - stub, PLT) == 0)
        pt_buffer_text(text, PLT);
}

/* Functions without a name go by the address where they begin, as far as that is known. */
void pt_native_name(struct pt_buffer *text, const struct pt_profile *profile, const struct pt_frame *frame, bool lines)
{
    const char *name = pt_string(profile, frame->symbol);
    if (frame->symbol && frame->subject != PT_NONE)
        pt_symbol_text(text, name);
    else if (frame->symbol) /* of a JIT: these have no suffixes, and "@" may be part of them */
        append_symbol(text, name, strlen(name));
    else
        pt_buffer_format(text, "0x%" PRIx64, frame->address - (lines ? 0 : frame->symbol_offset));
    if (frame->inlined_into)
        pt_buffer_text(text, " (inlined)");
}

static void native_text(struct pt_buffer *text, const struct pt_profile *profile, const struct pt_frame *frame,
                        bool lines)
{
    if (frame->caller)
        pt_buffer_format(text, "%s → ", pt_string(profile, frame->caller));
    pt_native_name(text, profile, frame, lines);
    if (lines && frame->line) {
        pt_buffer_format(text, " (%s:%" PRIu32 ")", pt_base_name(pt_string(profile, frame->source)), frame->line);
        return;
    }
    const char *path = frame->symbol ? PT_JIT_MODULE : "no module";
    if (frame->subject != PT_NONE)
        path = pt_base_name(pt_string(profile, profile->modules.items[frame->subject].path));
    pt_buffer_format(text, " (%s)", *path ? path : "unknown module");
}

static void python_text(struct pt_buffer *text, const struct pt_profile *profile, const struct pt_frame *frame,
                        bool lines)
{
    const struct pt_function *function = &profile->functions.items[frame->subject];
    const char *name = pt_string(profile, function->name), *file = pt_string(profile, function->short_file);
    uint32_t line = lines && frame->line ? frame->line : function->first_line;
    pt_buffer_format(text, "%s (%s", *name ? name : "<unknown>", *file ? file : "<unknown>");
    if (line)
        pt_buffer_format(text, ":%" PRIu32, line);
    pt_buffer_text(text, ")");
}

void pt_frame_text(struct pt_buffer *text, const struct pt_profile *profile, uint32_t number, bool lines)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    size_t start = text->length;
    if (frame->kind == PP_FRAME_NATIVE)
        native_text(text, profile, frame, lines);
    else if (frame->kind == PP_FRAME_PYTHON)
        python_text(text, profile, frame, lines);
    else
        pt_buffer_text(text, pt_string(profile, frame->subject));
    for (size_t i = start; i < text->length; i++)
        if (iscntrl((unsigned char)text->data[i]))
            text->data[i] = ' ';
}

uint32_t *pt_frame_texts(struct pt_profile *profile, bool lines)
{
    uint32_t *texts = pt_alloc(profile->frames.count, sizeof *texts);
    PT_AUTO_BUFFER text = {0};
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        pt_buffer_clear(&text);
        pt_frame_text(&text, profile, i, lines);
        texts[i] = pt_intern_text(profile, text.data);
    }
    return texts;
}
