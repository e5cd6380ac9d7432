#include "truth.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODES   1024
#define BUCKETS 4096

static struct truth_code codes[CODES];
static unsigned code_count;
static uint16_t buckets[BUCKETS]; /* 1 + index, by first line; the next bucket when taken */
static uint8_t line_flags[TRUTH_LINES];
static uint16_t site_lines[256][256];
static struct truth_shadow shadows[TRUTH_SHADOWS];
static const volatile uint8_t *switching;
static uint32_t base_lines[TRUTH_BASE];
static unsigned base_count;

static void put(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

void truth_add_code(const char *name, const char *qualname, const char *file, uint32_t first_line, uint32_t kind,
                    uint32_t id, uint32_t parent, bool generator)
{
    if (code_count == CODES)
        abort();
    struct truth_code *code = &codes[code_count++];
    put(code->name, sizeof code->name, name);
    put(code->qualname, sizeof code->qualname, qualname);
    code->file = strdup(file);
    code->first_line = first_line;
    code->kind = kind;
    code->id = id;
    code->parent = parent;
    code->generator = generator;
    unsigned at = first_line % BUCKETS;
    while (buckets[at])
        at = (at + 1) % BUCKETS;
    buckets[at] = (uint16_t)code_count;
}

void truth_set_line(uint32_t line, uint32_t flags)
{
    if (line >= TRUTH_LINES)
        abort();
    line_flags[line] = (uint8_t)flags;
}

void truth_set_site(uint32_t id, uint32_t site, uint32_t line)
{
    if (id > 255 || site > 255 || line >= TRUTH_LINES)
        abort();
    site_lines[id][site] = (uint16_t)line;
}

void truth_set_shadow(uint32_t index, const struct truth_shadow *shadow)
{
    if (index >= TRUTH_SHADOWS)
        abort();
    shadows[index] = *shadow;
}

void truth_set_switch(const volatile uint8_t *address)
{
    switching = address;
}

uint32_t truth_current(void)
{
    return switching[TRUTH_CURRENT];
}

uint32_t truth_depth(void)
{
    return shadows[truth_current()].state[0];
}

bool truth_switching(void)
{
    return switching[TRUTH_NEXT] != 0;
}

static uint32_t line_of_site(const struct truth_shadow *shadow, unsigned at)
{
    return site_lines[shadow->ids[at]][shadow->sites[at]];
}

void truth_add_base(const char *name, const char *file, uint32_t first_line, uint32_t line)
{
    if (base_count == TRUTH_BASE)
        abort();
    truth_add_code(name, name, file, first_line, TRUTH_BASE_FRAME, base_count, 0, false);
    base_lines[base_count++] = line;
}

const struct truth_code *truth_find(const char *name, const char *file, uint32_t first_line)
{
    static const struct truth_code cleanup = {.kind = TRUTH_HIDDEN, .name = "__init__"};
    for (unsigned at = first_line % BUCKETS; buckets[at]; at = (at + 1) % BUCKETS) {
        const struct truth_code *code = &codes[buckets[at] - 1];
        if (code->first_line == first_line && strcmp(code->file, file) == 0 &&
            (strcmp(code->name, name) == 0 || strcmp(code->qualname, name) == 0))
            return code;
    }
    /* _Py_InitCleanup: the interpreter's frame below an inlined __init__ */
    return strcmp(file, "__init__") == 0 && strcmp(name, "__init__") == 0 ? &cleanup : NULL;
}

static unsigned flags_of(uint32_t line)
{
    return line < TRUTH_LINES ? line_flags[line] : 0;
}

/* Whether a frame that is not on the shadow stack may be there: it comes or goes. */
static bool on_its_way(const struct truth_frame *frame, enum truth_leaf *leaf)
{
    unsigned flags = flags_of(frame->line);
    bool begins = !frame->begun || frame->line == frame->code->first_line;
    bool comes = (begins || flags & TRUTH_LINE_ENTRY) && !(flags & TRUTH_LINE_EXIT) && !frame->code->generator;
    *leaf = comes ? TRUTH_LEAF_COMING : TRUTH_LEAF_GOING;
    /* instructions without a line belong to the start of modules and the end of functions */
    return begins || frame->line == 0 || flags & (TRUTH_LINE_ENTRY | TRUTH_LINE_EXIT);
}

struct caller {
    const struct truth_frame *frame;
    uint32_t line; /* where it must be */
    bool extra;    /* on its way in or out */
    bool via;      /* a transparent frame is on top of it */
    bool leaf;     /* a leaf is */
};

static bool stands_at(const struct caller *caller)
{
    return caller->frame->line == caller->line || caller->line == TRUTH_ANY;
}

/* Whether a function of the library, or a transparent one, may be on top of a frame. */
static const char *compare_between(struct caller *caller, const struct truth_code *code, bool lines)
{
    if (!caller->frame)
        return "the workload's outermost frame is missing";
    if (lines && !stands_at(caller))
        return "a calling frame is not at the line of its call";
    bool unknown = caller->extra && !lines;
    if (caller->leaf)
        return "a frame on top of a leaf";
    if (code && code->kind == TRUTH_LEAF) {
        caller->leaf = true;
        return !caller->via && flags_of(caller->line) & TRUTH_LINE_VIA ? "a lambda or comprehension is missing" : NULL;
    }
    if (!code)
        return unknown || flags_of(caller->line) & TRUTH_LINE_LIBRARY ? NULL : "a library frame at the wrong place";
    if (caller->via || code->parent != caller->frame->code->id)
        return "a lambda or comprehension of another function";
    caller->via = true;
    return unknown || flags_of(caller->line) & TRUTH_LINE_VIA ? NULL : "a lambda or comprehension too many";
}

static const char *compare(const struct truth_shadow *shadow, const struct truth_frame *frames, unsigned count,
                           bool lines, unsigned base, enum truth_leaf *leaf)
{
    uint32_t depth = shadow->state[0], reach = shadow->state[1] > depth ? shadow->state[1] : depth, matched = 0;
    struct caller caller = {.frame = NULL};
    *leaf = TRUTH_LEAF_KNOWN;
    for (unsigned i = 0; i < base; i++)
        if (i >= count || !frames[i].code || frames[i].code->kind != TRUTH_BASE_FRAME || frames[i].code->id != i ||
            (lines && frames[i].line != base_lines[i]))
            return "the frames below the workload";
    for (unsigned i = base; i < count; i++) {
        const struct truth_frame *frame = &frames[i];
        const struct truth_code *code = frame->code;
        if (code && code->kind == TRUTH_HIDDEN)
            continue;
        if (!code || code->kind == TRUTH_TRANSPARENT || code->kind == TRUTH_LEAF) {
            const char *why = compare_between(&caller, code, lines);
            if (why)
                return why;
            continue;
        }
        if (code->kind != TRUTH_FUNCTION)
            return "a frame from below the workload";
        if (caller.extra)
            return "two frames too many";
        if (caller.leaf)
            return "a frame on top of a leaf";
        if (caller.frame && lines && !stands_at(&caller))
            return "a calling frame is not at the line of its call";
        if (caller.frame && !caller.via && flags_of(caller.line) & TRUTH_LINE_VIA)
            return "a lambda or comprehension is missing";
        if (matched < reach && shadow->ids[matched] == code->id) {
            caller = (struct caller){.frame = frame, .line = line_of_site(shadow, matched)};
            matched++;
        } else if (matched == depth && depth == reach) {
            if (lines && !on_its_way(frame, leaf))
                return "a frame too many";
            caller = (struct caller){.frame = frame, .line = frame->line, .extra = true};
        } else {
            return "another frame than expected";
        }
    }
    return matched < depth ? "frames are missing" : NULL;
}

const char *truth_compare(const struct truth_frame *frames, unsigned count, bool lines, enum truth_leaf *leaf)
{
    uint32_t current = switching[TRUTH_CURRENT], next = switching[TRUTH_NEXT];
    const char *why = compare(&shadows[current], frames, count, lines, current ? 0 : base_count, leaf);
    if (why && next && !compare(&shadows[next - 1], frames, count, lines, next == 1 ? base_count : 0, leaf))
        return NULL;
    return why;
}

bool truth_allows(const struct truth_frame *frames, unsigned count, enum truth_line flag)
{
    for (unsigned i = 0; i < count; i++)
        if (frames[i].code && flags_of(frames[i].line) & flag)
            return true;
    return false;
}

static void print_shadow(unsigned index)
{
    const struct truth_shadow *shadow = &shadows[index];
    uint32_t depth = shadow->state[0], reach = shadow->state[1], end = reach > depth ? reach : depth;
    fprintf(stderr, "# truth %u: depth %u, reach %u:", index, depth, reach);
    for (uint32_t i = end > 24 ? end - 24 : 0; i < end; i++) {
        const char *name = "?";
        for (unsigned k = 0; k < code_count; k++)
            if (codes[k].kind == TRUTH_FUNCTION && codes[k].id == shadow->ids[i])
                name = codes[k].name;
        fprintf(stderr, " %s:%u", name, line_of_site(shadow, i));
    }
    fprintf(stderr, "\n");
}

void truth_print(const struct truth_frame *frames, unsigned count)
{
    print_shadow(switching[TRUTH_CURRENT]);
    if (switching[TRUTH_NEXT])
        print_shadow(switching[TRUTH_NEXT] - 1u);
    fprintf(stderr, "# stack:");
    for (unsigned i = count > 32 ? count - 32 : 0; i < count; i++)
        fprintf(stderr, " %s:%u%s", frames[i].code ? frames[i].code->name : "(library)", frames[i].line,
                frames[i].begun ? "" : "-");
    fprintf(stderr, "\n");
}
