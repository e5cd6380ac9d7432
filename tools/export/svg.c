/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph as a picture, the root on top: what pages and documents show without any script. Names come from
 * anywhere: they get in as text only. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/terminal_text.h"
#include "../view/call_tree.h"
#include "../view/summary.h"
#include "export.h"

#define WIDTH        1200
#define MARGIN       10
#define HEAD         76
#define ROW          18
#define FONT_SIZE    11
#define CHARACTER    6.7 /* width in this font, or a little more */
#define PADDING      4
#define SHORTEST     3    /* characters: less says nothing */
#define NARROWEST    0.05 /* what is narrower is left out, with all that it calls */
#define LONGEST_NAME 1000 /* characters; more is cut */
#define LONGEST_LINE 170

/* These are the colours of flame/web/colour.js. */
static const struct {
    const char *name, *colour;
} kinds[] = {
    [PT_KIND_APPLICATION] = {"application", "#5fa8dc"},   [PT_KIND_PACKAGE] = {"installed packages", "#a3cdec"},
    [PT_KIND_STANDARD] = {"standard library", "#d5e7f5"}, [PT_KIND_INTERPRETER] = {"interpreter", "#fbe3bd"},
    [PT_KIND_NATIVE] = {"native libraries", "#f0b05a"},   [PT_KIND_PSEUDO] = {"not a function", "#dcdcdf"},
};
#define KINDS       (sizeof kinds / sizeof kinds[0])
#define ROOT_COLOUR "#e3e6ea" /* of processes and threads, too */

struct picture {
    struct pt_profile *profile;
    const struct pt_view *view;
    bool samples; /* widths are counts */
    FILE *out;
    uint64_t *starts; /* by node: weight of what is left of it */
    uint32_t *depths;
    uint32_t deepest;
};

static size_t character_bytes(const char *text)
{
    return pt_next_character(text, &(uint32_t){0});
}

/* Characters that may take two places: of the scripts from Hangul on, where wide ones begin. */
static uint32_t places_of(const char *character)
{
    return (unsigned char)*character >= 0xe1 ? 2 : 1;
}

static void put_character(FILE *out, const char *character, size_t bytes)
{
    uint32_t code;
    pt_next_character(character, &code);
    if (strchr("&<>\"'", *character) && *character)
        fprintf(out, "&#%d;", *character);
    else if (!pt_is_harmless(code))
        fputc('?', out); /* as in the other texts; XML has no control characters, in no form */
    else if (code == 0xfffe || code == 0xffff)
        fputs("\xef\xbf\xbd", out); /* nor these */
    else
        fwrite(character, 1, bytes, out);
}

/* Writes as much of the text as fits. */
static void put_text(FILE *out, const char *text, uint32_t places)
{
    uint32_t needed = 0;
    for (const char *at = text; *at && needed <= places; at += character_bytes(at))
        needed += places_of(at);
    bool cut = needed > places;
    uint32_t left = cut ? places - 1 : places;
    for (const char *at = text; *at && places_of(at) <= left; at += character_bytes(at)) {
        left -= places_of(at);
        put_character(out, at, character_bytes(at));
    }
    if (cut)
        fputs("…", out);
}

static uint64_t total_of(const struct picture *picture, uint32_t node)
{
    const struct pt_view_node *of = &picture->view->nodes.items[node];
    return picture->samples ? of->total_count : of->total_ns;
}

static double pixels(const struct picture *picture, uint64_t weight)
{
    uint64_t whole = total_of(picture, 0);
    return whole ? (double)weight / (double)whole * (WIDTH - 2 * MARGIN) : 0;
}

/* Returns the next node that is drawn; PT_NONE at the end. */
static uint32_t next_node(const struct picture *picture, uint32_t at)
{
    const struct pt_view *view = picture->view;
    uint32_t next = view->first_child[at];
    for (;;) {
        while (next != PT_NONE && pixels(picture, total_of(picture, next)) < NARROWEST)
            next = view->next_sibling[next];
        if (next != PT_NONE || !at)
            return next;
        next = view->next_sibling[at];
        at = view->nodes.items[at].parent;
    }
}

static void place_nodes(struct picture *picture)
{
    const struct pt_view *view = picture->view;
    for (uint32_t at = 0; at != PT_NONE; at = next_node(picture, at)) {
        uint64_t start = picture->starts[at];
        for (uint32_t child = view->first_child[at]; child != PT_NONE; child = view->next_sibling[child]) {
            picture->starts[child] = start;
            picture->depths[child] = picture->depths[at] + 1;
            start += total_of(picture, child);
        }
        if (picture->depths[at] > picture->deepest)
            picture->deepest = picture->depths[at];
    }
}

static void put_node(const struct picture *picture, uint32_t number)
{
    const struct pt_view_node *node = &picture->view->nodes.items[number];
    FILE *out = picture->out;
    bool framed = node->frame != PT_NONE;
    enum pt_kind kind =
        framed ? pt_kind_of(picture->profile, &picture->profile->frames.items[node->frame]) : PT_KIND_PSEUDO;
    const char *text = number ? pt_string(picture->profile, node->text) : "all";
    double x = MARGIN + pixels(picture, picture->starts[number]), width = pixels(picture, total_of(picture, number));
    unsigned y = HEAD + ROW * picture->depths[number];
    uint64_t whole = total_of(picture, 0);
    fputs("<g><title>", out);
    put_text(out, text, LONGEST_NAME);
    fprintf(out, "\n%.2f %%, ", whole ? 100 * (double)total_of(picture, number) / (double)whole : 0);
    if (picture->samples)
        fprintf(out, "%" PRIu64 " sample%s", node->total_count, pt_plural(node->total_count, "s"));
    else
        fprintf(out, "%.3f s", (double)node->total_ns / 1e9);
    fprintf(out,
            "</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" fill=\"%s\" stroke=\"#ffffff\" "
            "stroke-width=\"0.5\"/>",
            x, y, width, ROW - 1, framed ? kinds[kind].colour : ROOT_COLOUR);
    if (framed && kind == PT_KIND_PSEUDO)
        fprintf(out, "<rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" fill=\"url(#hatch)\"/>", x, y, width,
                ROW - 1);
    double places = (width - 2 * PADDING) / CHARACTER;
    if (places >= SHORTEST) {
        bool native = kind == PT_KIND_INTERPRETER || kind == PT_KIND_NATIVE;
        fprintf(out, "<text x=\"%.3f\" y=\"%u\"%s>", x + PADDING, y + 13, native ? " font-style=\"italic\"" : "");
        put_text(out, text, (uint32_t)places);
        fputs("</text>", out);
    }
    fputs("</g>\n", out);
}

static void put_head(const struct picture *picture)
{
    const struct pt_profile *profile = picture->profile;
    FILE *out = picture->out;
    struct pt_buffer accounting = {0};
    pt_summary_append_accounting(profile, &accounting);
    unsigned height = HEAD + ROW * (picture->deepest + 1) + MARGIN;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" "
            "font-family=\"ui-monospace, 'DejaVu Sans Mono', monospace\" font-size=\"%d\" fill=\"#14181d\">\n"
            "<desc>%s</desc>\n<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
            "<path d=\"M-6 6L0 0M0 6L6 0M6 6L12 0\" stroke=\"#a9a9b0\"/></pattern></defs>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"%d\" y=\"20\">",
            WIDTH, height, WIDTH, height, FONT_SIZE, accounting.data, MARGIN);
    pt_buffer_free(&accounting);
    put_text(out, pt_string(profile, profile->processes.items[0].command_line), LONGEST_LINE);
    fprintf(out,
            "</text>\n<text x=\"%d\" y=\"40\" fill=\"#66707a\">%u process%s, %.2f s CPU, %" PRIu64
            " sample%s; profiling cost another %.2f s</text>\n",
            MARGIN, profile->processes.count, pt_plural(profile->processes.count, "es"),
            (double)picture->view->nodes.items[0].total_ns / 1e9, picture->view->nodes.items[0].total_count,
            pt_plural(picture->view->nodes.items[0].total_count, "s"),
            (double)pt_summary_accounting(profile, PT_NONE).own_ns / 1e9);
    unsigned x = MARGIN;
    for (unsigned i = 0; i < KINDS; i++) {
        fprintf(out,
                "<rect x=\"%u\" y=\"52\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%u\" y=\"62\" "
                "fill=\"#66707a\">%s</text>\n",
                x, kinds[i].colour, x + 17, kinds[i].name);
        x += 40 + (unsigned)(CHARACTER * (double)strlen(kinds[i].name));
    }
}

void pt_export_svg(struct pt_profile *profile, const struct pt_export_options *options, FILE *out)
{
    const struct pt_view_options view_options = {options->lines, options->threads, options->processes,
                                                 options->gil,   PT_NONE,          PT_NONE};
    struct pt_view *view = pt_view_new(profile, &view_options);
    struct picture picture = {.profile = profile, .view = view, .samples = options->samples, .out = out};
    picture.starts = pt_alloc(view->nodes.count, sizeof *picture.starts);
    picture.depths = pt_alloc(view->nodes.count, sizeof *picture.depths);
    place_nodes(&picture);
    put_head(&picture);
    fputs("<g id=\"graph\">\n", out);
    for (uint32_t at = 0; at != PT_NONE; at = next_node(&picture, at))
        put_node(&picture, at);
    fputs("</g>\n</svg>\n", out);
    free(picture.starts);
    free(picture.depths);
    pt_view_free(view);
}
