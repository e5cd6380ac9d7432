/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/pager.h"
#include "../base/print.h"
#include "../cli/options.h"
#include "../load/load.h"
#include "../load/source_text.h"
#include "../view/line_sums.h"
#include "../view/summary.h"
#include "../view/uncertainty.h"
#include "source_files.h"

#define FIGURES_WIDTH 35 /* of a row, before its text, without --ci */

/* What shares are of, and the samples that they come from. */
struct whole {
    uint64_t ns;
    struct pt_draws draws;
    bool ci; /* intervals are printed */
};

/* Finds the files of Python functions and the sources of native code that the name means. */
static struct pt_line_sums find_files(const struct pt_profile *profile, const char *name)
{
    struct pt_line_sums files = pt_line_sums_new(profile);
    PT_AUTO_FREE char *real = realpath(name, NULL);
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    for (PT_EACH(const struct pt_frame, frame, &profile->frames)) {
        bool python = frame->kind == PP_FRAME_PYTHON;
        uint32_t path = python ? profile->functions.items[frame->subject].file : frame->source;
        const char *text = pt_string(profile, path);
        if (*text && (pt_is_end_of_path(text, name) || (real && strcmp(text, real) == 0)))
            pt_line_sums_add_file(&files, path);
    }
    return files;
}

static void print_source(const char *text, size_t length, uint32_t used)
{
    PT_AUTO_BUFFER line = {0};
    for (size_t i = 0; i < length; i++)
        pt_buffer_append(&line, text[i] == '\t' ? "    " : &text[i], text[i] == '\t' ? 4 : 1);
    pt_print_text(stdout, length ? line.data : "", used, PT_STYLE_PLAIN);
}

/* Prints the figures of a line, and its number. */
static void print_figures(const struct pt_line *line, uint32_t number, const struct whole *whole)
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

static bool has_functions(const struct pt_profile *profile, uint32_t path)
{
    for (uint32_t i = 0; i < profile->functions.count; i++)
        if (profile->functions.items[i].file == path)
            return true;
    return false;
}

static void print_file(const struct pt_profile *profile, const struct pt_file_lines *file, const struct whole *whole)
{
    uint32_t used = FIGURES_WIDTH + (whole->ci ? PT_INTERVAL_WIDTH : 0);
    bool python = has_functions(profile, file->path);
    pt_print_paragraph(0, 2,
                       "%s: %.2f s CPU in its own lines, %.1f %% of %.2f s. SELF is the line %s, TOTAL with all that "
                       "it calls.",
                       pt_string(profile, file->path), pt_seconds(file->self_ns), pt_percent(file->self_ns, whole->ns),
                       pt_seconds(whole->ns),
                       python                                             ? "with the C code it calls"
                       : profile->request->select.native == PT_NATIVE_ALL ? "alone"
                                                                          : "with the interpreter's code it calls");
    if (!file->count) {
        pt_print_note("Nothing of it is in what was selected%s.", python ? "" : "; --native=all shows all native code");
        return;
    }
    PT_AUTO(pt_source_free) struct pt_source source = pt_source_of_file(profile, file->path);
    if (source.state != PT_SOURCE_READ)
        pt_print_note("%s", pt_source_state_text(source.state, pt_string(profile, file->path)));
    size_t length;
    bool gap = false;
    pt_print_styled(stdout, PT_STYLE_HEADING, "\n%17s%9s%s%7s\n", "SELF", "TOTAL", whole->ci ? PT_INTERVAL_HEADING : "",
                    "LINE");
    for (uint32_t i = 0;; i++) {
        const char *text = i ? pt_source_line(&source, i, &length) : NULL;
        const struct pt_line none = {0}, *line = i < file->count ? &file->lines[i] : &none;
        if (i >= file->count && !text)
            break;
        if (!line->total_ns && (!text || !pt_line_is_near(file, i))) {
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
}

PT_DEFINE_ORDER(by_self, struct pt_file_lines, pt_compare(y->self_ns, x->self_ns) ?: pt_compare(x->path, y->path))

static int annotate(const struct pt_profile *profile, const char *name, bool ci)
{
    const struct whole whole = {pt_summary_program_ns(profile), pt_draws_of(profile), ci};
    PT_AUTO(pt_line_sums_free) struct pt_line_sums files = find_files(profile, name);
    if (files.count)
        pt_line_sums_count(&files, profile);
    if (!files.count) {
        pt_error("%s: no function of this file was seen%s", name,
                 pt_source_is_python(name) ? "" : "; native code has lines where its library has debug information");
        pt_print_hot_files(profile);
    }
    if (files.count > 1)
        printf("%" PRIu32 " files end in %s.\n\n", files.count, name);
    if (files.count)
        qsort(files.items, files.count, sizeof *files.items, by_self);
    for (uint32_t i = 0; i < files.count; i++) {
        if (i)
            putchar('\n');
        print_file(profile, &files.items[i], &whole);
    }
    int status = files.count ? PT_EXIT_OK : PT_EXIT_DATA;
    return status;
}

/* Says which files there are, when no file or a directory was given. */
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
        pt_error("missing file: pyprof annotate FILE%s%s", name ? " " : "", name ? name : "");
    struct pt_profile *profile = pt_load(&request);
    if (!profile)
        return file ? PT_EXIT_DATA : PT_EXIT_USAGE;
    int exit_status = PT_EXIT_USAGE;
    if (file && !cli->no_pager)
        pt_pager_start();
    if (file)
        exit_status = annotate(profile, name, cli->ci);
    else
        pt_print_hot_files(profile);
    pt_profile_free(profile);
    return exit_status;
}
