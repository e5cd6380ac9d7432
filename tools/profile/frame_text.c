#include "frame_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

const char *pp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* After the last /lib/pythonX.Y/, NULL when there is none. */
static const char *after_library(const char *path)
{
    static const char mark[] = "/lib/python";
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, mark)); at++) {
        const char *end = at + sizeof mark - 1;
        end += strspn(end, "0123456789.t");
        if (*end == '/' && end[1])
            found = end + 1;
    }
    return found;
}

static const char *after_last(const char *path, const char *mark)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, mark)); at++)
        if (at[strlen(mark)])
            found = at + strlen(mark);
    return found;
}

const char *pp_short_path(const char *path, const char *cwd)
{
    const char *cut = after_last(path, "/site-packages/");
    if (!cut)
        cut = after_last(path, "/dist-packages/");
    if (!cut)
        cut = after_library(path);
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
static void append_without_tags(struct pp_buffer *text, const char *name, size_t length)
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
        pp_buffer_append(text, name, length);
        return;
    }
    pp_buffer_append(text, name, (size_t)(first - name));
    pp_buffer_append(text, at, (size_t)(end - at));
}

static void append_symbol(struct pp_buffer *text, const char *symbol, size_t length)
{
    struct pp_buffer plain = {0}, demangled = {0};
    size_t prefix = strncmp(symbol, "cfunc._Z", sizeof "cfunc._Z" - 1) == 0 ? sizeof "cfunc." - 1 : 0; /* numba's */
    pp_buffer_append(&plain, symbol, length);
    if (pp_demangle(&demangled, plain.data + prefix)) {
        pp_buffer_append(text, symbol, prefix);
        append_without_tags(text, demangled.data, demangled.length);
    } else {
        pp_buffer_text(text, plain.data);
    }
    pp_buffer_free(&plain);
    pp_buffer_free(&demangled);
}

void pp_symbol_text(struct pp_buffer *text, const char *symbol)
{
    append_symbol(text, symbol, without_suffixes(symbol));
}

void pp_jit_name_text(struct pp_buffer *text, const char *name)
{
    append_symbol(text, name, strlen(name));
}

/* Functions without a name go by the address where they begin, as far as that is known. */
void pp_native_name(struct pp_buffer *text, const struct pp_profile *profile, const struct pp_frame *frame, bool lines)
{
    if (frame->symbol && frame->subject != PP_NONE)
        pp_symbol_text(text, pp_string(profile, frame->symbol));
    else if (frame->symbol)
        pp_jit_name_text(text, pp_string(profile, frame->symbol));
    else
        pp_buffer_format(text, "0x%" PRIx64, frame->address - (lines ? 0 : frame->symbol_offset));
    if (frame->inlined_into)
        pp_buffer_text(text, " (inlined)");
}

static void native_text(struct pp_buffer *text, const struct pp_profile *profile, const struct pp_frame *frame,
                        bool lines)
{
    pp_native_name(text, profile, frame, lines);
    if (lines && frame->line) {
        pp_buffer_format(text, " (%s:%" PRIu32 ")", pp_base_name(pp_string(profile, frame->source)), frame->line);
        return;
    }
    const char *path = frame->symbol ? PP_JIT_MODULE : "no module";
    if (frame->subject != PP_NONE)
        path = pp_base_name(pp_string(profile, profile->modules.items[frame->subject].path));
    pp_buffer_format(text, " (%s)", *path ? path : "unknown module");
}

static void python_text(struct pp_buffer *text, const struct pp_profile *profile, const struct pp_frame *frame,
                        bool lines)
{
    const struct pp_function *function = &profile->functions.items[frame->subject];
    const char *name = pp_string(profile, function->name), *file = pp_string(profile, function->short_file);
    uint32_t line = lines && frame->line ? frame->line : function->first_line;
    pp_buffer_format(text, "%s (%s", *name ? name : "<unknown>", *file ? file : "<unknown>");
    if (line)
        pp_buffer_format(text, ":%" PRIu32, line);
    pp_buffer_text(text, ")");
}

void pp_frame_text(struct pp_buffer *text, const struct pp_profile *profile, uint32_t number, bool lines)
{
    const struct pp_frame *frame = &profile->frames.items[number];
    size_t start = text->length;
    if (frame->kind == PP_FRAME_NATIVE)
        native_text(text, profile, frame, lines);
    else if (frame->kind == PP_FRAME_PYTHON)
        python_text(text, profile, frame, lines);
    else
        pp_buffer_text(text, pp_string(profile, frame->subject));
    for (size_t i = start; i < text->length; i++)
        if (iscntrl((unsigned char)text->data[i]))
            text->data[i] = ' ';
}

uint32_t *pp_frame_texts(struct pp_profile *profile, bool lines)
{
    uint32_t *texts = pp_alloc(profile->frames.count, sizeof *texts);
    struct pp_buffer text = {0};
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        pp_buffer_clear(&text);
        pp_frame_text(&text, profile, i, lines);
        texts[i] = pp_intern_text(profile, text.data);
    }
    pp_buffer_free(&text);
    return texts;
}
