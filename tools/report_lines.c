#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load.h"
#include "profile/summary.h"
#include "report.h"

#define LINE_ROWS    8
#define LONGEST_LINE 90          /* of source text */
#define SOURCE_BYTES (16u << 20) /* larger files are no source that anybody wrote */

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* By node: the innermost Python frame at or above it, PP_NONE when there is none. The caller frees. */
static uint32_t *innermost_python(const struct pp_profile *profile)
{
    uint32_t *frames = pp_alloc(profile->nodes.count, sizeof *frames);
    frames[0] = PP_NONE;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pp_node *node = &profile->nodes.items[i];
        bool python = profile->frames.items[node->frame].kind == PP_FRAME_PYTHON;
        frames[i] = python ? node->frame : frames[node->parent];
    }
    return frames;
}

struct line {
    uint32_t number;
    uint64_t ns;
};

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The text of a line without its indentation; nothing when the file or the line is not there. */
static void print_source(const char *source, size_t size, uint32_t line)
{
    const char *at = source, *end = source + size;
    while (at && --line)
        at = (at = memchr(at, '\n', (size_t)(end - at))) ? at + 1 : NULL;
    if (!at)
        return;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    size_t length = 0;
    while (at + length < end && length < LONGEST_LINE && (unsigned char)at[length] >= ' ')
        length++;
    printf("  %.*s", (int)length, at);
}

static char *read_source(const struct pp_profile *profile, const struct pp_function *function, size_t *size)
{
    const char *path = pp_string(profile, function->file);
    if (*path == '<' || !*path)
        return NULL;
    char *source = pp_read_file(path, SOURCE_BYTES, size);
    for (uint32_t i = 0; !source && *path != '/' && i < profile->processes.count; i++) {
        struct pp_buffer absolute = {0};
        pp_buffer_format(&absolute, "%s/%s", pp_string(profile, profile->processes.items[i].cwd), path);
        source = pp_read_file(absolute.data, SOURCE_BYTES, size);
        pp_buffer_free(&absolute);
    }
    return source;
}

static void print_lines(const struct pp_report *report, const uint64_t *ns_of_frame, uint32_t number)
{
    const struct pp_profile *profile = report->profile;
    const struct pp_function *function = &profile->functions.items[number];
    struct line *lines = pp_alloc(profile->frames.count, sizeof *lines);
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->frames.count; i++)
        if (profile->frames.items[i].kind == PP_FRAME_PYTHON && profile->frames.items[i].subject == number &&
            ns_of_frame[i])
            lines[count++] = (struct line){profile->frames.items[i].line, ns_of_frame[i]};
    qsort(lines, count, sizeof *lines, by_time);
    size_t size = 0;
    char *source = read_source(profile, function, &size);
    printf("\nLines of %s (%s), with the native code that they call:\n", pp_string(profile, function->name),
           pp_string(profile, function->short_file));
    for (uint32_t i = 0; i < count && i < LINE_ROWS; i++) {
        printf("%9.2f s %5.1f %%  ", seconds(lines[i].ns), pp_percent(lines[i].ns, report->whole_ns));
        if (lines[i].number)
            printf("%6u", lines[i].number);
        else
            printf("     ?");
        if (source && lines[i].number)
            print_source(source, size, lines[i].number);
        putchar('\n');
    }
    if (count > LINE_ROWS)
        printf("  and %u more lines\n", count - LINE_ROWS);
    free(source);
    free(lines);
}

void pp_report_lines(const struct pp_report *report)
{
    const struct pp_profile *profile = report->profile;
    uint32_t *innermost = innermost_python(profile);
    uint64_t *ns_of_frame = pp_alloc(profile->frames.count, sizeof *ns_of_frame);
    uint64_t *ns_of_function = pp_alloc(profile->functions.count, sizeof *ns_of_function);
    uint32_t top = PP_NONE;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t frame = innermost[profile->samples.items[i].node];
        if (frame == PP_NONE)
            continue;
        uint32_t function = profile->frames.items[frame].subject;
        ns_of_frame[frame] += profile->samples.items[i].cpu_ns;
        ns_of_function[function] += profile->samples.items[i].cpu_ns;
    }
    for (uint32_t i = 0; i < profile->functions.count; i++)
        if (ns_of_function[i] && (top == PP_NONE || ns_of_function[i] > ns_of_function[top]))
            top = i;
    if (top != PP_NONE)
        print_lines(report, ns_of_frame, top);
    free(innermost);
    free(ns_of_frame);
    free(ns_of_function);
}
