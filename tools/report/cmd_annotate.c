#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/print.h"
#include "../cli/commands.h"
#include "../load/load.h"
#include "../profile/self.h"
#include "../view/summary.h"
#include "shares.h"
#include "source_files.h"
#include "source_text.h"

#define CONTEXT       4 /* around lines that used CPU */
#define MOST_LINES    (2u << 20)
#define FIGURES_WIDTH 35 /* of a row, before its text, without --ci */

/* CPU nanoseconds of a line: by itself with the native code that it calls (self.h), and with all that it calls. */
struct line {
    uint64_t self_ns, self_count, total_ns, total_count;
    uint32_t last; /* sample + 1 that was last counted in total: recursion counts once */
};

/* What shares are of, and the samples that they come from. */
struct whole {
    uint64_t ns;
    struct pt_draws draws;
    bool ci; /* intervals are printed */
};

struct file {
    uint32_t path; /* string */
    struct line *lines;
    uint32_t count, capacity;
    uint64_t self_ns;
};

struct files {
    struct file *items;
    uint32_t count, capacity;
    uint32_t *of_string; /* file + 1 by path */
};

static struct files find_files(const struct pt_profile *profile, const char *name)
{
    struct files files = {.of_string = pt_alloc(profile->strings.count, sizeof *files.of_string)};
    char *real = realpath(name, NULL);
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    for (uint32_t i = 0; i < profile->functions.count; i++) {
        uint32_t path = profile->functions.items[i].file;
        const char *text = pt_string(profile, path);
        if (files.of_string[path] || !(pt_is_end_of_path(text, name) || (real && strcmp(text, real) == 0)))
            continue;
        PT_APPEND(&files)->path = path;
        files.of_string[path] = files.count;
    }
    free(real);
    return files;
}

static struct line *line_of(struct file *file, uint32_t number)
{
    file->lines = pt_grow(file->lines, &file->capacity, (uint64_t)number + 1, sizeof *file->lines);
    if (number >= file->count)
        file->count = number + 1;
    return &file->lines[number];
}

static void add_sample(const struct pt_profile *profile, struct files *files, const uint32_t *self_frames,
                       uint32_t number)
{
    const struct pt_sample *sample = &profile->samples.items[number];
    uint32_t self = self_frames[sample->node];
    for (uint32_t at = sample->node; at; at = profile->nodes.items[at].parent) {
        const struct pt_frame *frame = &profile->frames.items[profile->nodes.items[at].frame];
        bool innermost = self == profile->nodes.items[at].frame;
        self = innermost ? PT_NONE : self; /* of a recursive function only the innermost frame */
        if (frame->kind != PP_FRAME_PYTHON)
            continue;
        uint32_t file = files->of_string[profile->functions.items[frame->subject].file];
        uint32_t line_number = pt_frame_line(profile, frame);
        /* line numbers are not trusted: they must not claim memory */
        if (!file || line_number >= MOST_LINES)
            continue;
        struct line *line = line_of(&files->items[file - 1], line_number);
        line->self_ns += innermost ? sample->cpu_ns : 0;
        line->self_count += innermost ? sample->count : 0;
        line->total_ns += line->last == number + 1 ? 0 : sample->cpu_ns;
        line->total_count += line->last == number + 1 ? 0 : sample->count;
        line->last = number + 1;
        files->items[file - 1].self_ns += innermost ? sample->cpu_ns : 0;
    }
}

/* Returns the source if all functions of the file that ran are where the profile has them; else prints why there is
 * none. */
static struct pt_source source_of(const struct pt_profile *profile, const struct file *file)
{
    struct pt_source source = {.state = PT_SOURCE_MISSING};
    bool first = true;
    for (uint32_t i = 0; i < profile->functions.count; i++) {
        if (profile->functions.items[i].file != file->path)
            continue;
        struct pt_source one = pt_source_read(profile, &profile->functions.items[i]);
        if (!first)
            pt_source_free(&source);
        source = one;
        first = false;
        if (source.state != PT_SOURCE_READ)
            break;
    }
    if (source.state == PT_SOURCE_MISSING)
        printf("  the source is not here: lines without their text\n");
    else if (source.state == PT_SOURCE_NEWER)
        printf("  the source was changed after the profile began: lines without their text\n");
    else if (source.state == PT_SOURCE_OTHER)
        printf("  the source is not what ran (functions are elsewhere in it): lines without their text\n");
    return source;
}

static bool is_near(const struct file *file, uint32_t number)
{
    uint32_t from = number > CONTEXT ? number - CONTEXT : 1;
    for (uint32_t i = from; i <= number + CONTEXT && i < file->count; i++)
        if (file->lines[i].total_ns)
            return true;
    return false;
}

static void print_source(const char *text, size_t length, uint32_t used)
{
    struct pt_buffer line = {0};
    for (size_t i = 0; i < length; i++)
        pt_buffer_append(&line, text[i] == '\t' ? "    " : &text[i], text[i] == '\t' ? 4 : 1);
    pt_print_text(stdout, length ? line.data : "", used, PT_STYLE_PLAIN);
    pt_buffer_free(&line);
}

/* Prints the figures of a line, and its number. */
static void print_figures(const struct line *line, uint32_t number, const struct whole *whole)
{
    double self = pt_percent(line->self_ns, whole->ns);
    struct pt_share total = pt_share_of(&whole->draws, line->total_count, line->total_ns, whole->ns);
    enum pt_style style = total.known ? PT_STYLE_PLAIN : PT_STYLE_FAINT;
    pt_print_styled(stdout, style ?: pt_style_of_share(self), "%7.2f s %5.1f %%", pt_seconds(line->self_ns), self);
    pt_print_styled(stdout, style, "  %5.1f %%", pt_percent(line->total_ns, whole->ns));
    if (whole->ci)
        pt_print_interval(&total);
    printf("  %5" PRIu32 "  ", number);
}

static void print_file(const struct pt_profile *profile, const struct file *file, const struct whole *whole)
{
    uint32_t used = FIGURES_WIDTH + (whole->ci ? PT_INTERVAL_WIDTH : 0);
    pt_print_paragraph(0, 2,
                       "%s: %.2f s CPU, %.1f %% of %.2f s. SELF is the line with the C code it calls, TOTAL with all "
                       "that it calls.",
                       pt_string(profile, file->path), pt_seconds(file->self_ns), pt_percent(file->self_ns, whole->ns),
                       pt_seconds(whole->ns));
    struct pt_source source = source_of(profile, file);
    size_t length;
    bool gap = false;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s%9s%s%7s\n", "SELF", "TOTAL", whole->ci ? PT_INTERVAL_HEADING : "",
                    "LINE");
    for (uint32_t i = 0;; i++) {
        const char *text = i ? pt_source_line(&source, i, &length) : NULL;
        const struct line none = {0}, *line = i < file->count ? &file->lines[i] : &none;
        if (i >= file->count && !text)
            break;
        if (!line->total_ns && (!text || !is_near(file, i))) {
            gap = gap || i;
            continue;
        }
        if (gap)
            puts("        …");
        gap = false;
        if (line->total_ns)
            print_figures(line, i, whole);
        else
            printf("%*" PRIu32 "  ", (int)used - 2, i);
        if (text)
            print_source(text, length, used);
        else
            puts(i ? "" : "(line unknown)");
    }
    pt_source_free(&source);
}

static int by_self(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    return pt_compare(y->self_ns, x->self_ns) ?: pt_compare(x->path, y->path);
}

static int annotate(const struct pt_profile *profile, const char *name, bool ci)
{
    const struct whole whole = {pt_summary_program_ns(profile), pt_draws_of(profile), ci};
    struct files files = find_files(profile, name);
    uint32_t *self_frames = pt_self_frames(profile);
    for (uint32_t i = 0; files.count && i < profile->samples.count; i++)
        add_sample(profile, &files, self_frames, i);
    if (!files.count) {
        pt_error("%s: no function of this file was seen", name);
        pt_print_hottest_files(profile);
    }
    if (files.count > 1)
        printf("%" PRIu32 " files end in %s.\n\n", files.count, name);
    if (files.count)
        qsort(files.items, files.count, sizeof *files.items, by_self);
    for (uint32_t i = 0; i < files.count; i++) {
        if (i)
            putchar('\n');
        print_file(profile, &files.items[i], &whole);
        free(files.items[i].lines);
    }
    int status = files.count ? PT_EXIT_OK : PT_EXIT_DATA;
    free(self_frames);
    free(files.items);
    free(files.of_string);
    return status;
}

/* Without a file, or with a directory instead of it, says which files there are. */
int pt_cmd_annotate(const struct pt_cli *cli)
{
    struct pt_load_request request = cli->request;
    struct stat status;
    const char *name = cli->arguments[0];
    bool directory = name && stat(name, &status) == 0 && S_ISDIR(status.st_mode);
    bool file = name && !directory;
    request.paths += file;
    request.path_count -= file;
    request.keep = PT_KEEP_STACKS;
    if (!file)
        pt_error("missing file: pyprof annotate FILE.py%s%s", name ? " " : "", name ? name : "");
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return file ? PT_EXIT_DATA : PT_EXIT_USAGE;
    int exit_status = PT_EXIT_USAGE;
    if (file)
        exit_status = annotate(profile, name, cli->ci);
    else
        pt_print_hottest_files(profile);
    pt_profile_free(profile);
    return exit_status;
}
