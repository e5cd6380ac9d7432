/* SPDX-License-Identifier: Apache-2.0 */
#include "source_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "../query/package.h"
#include "../view/summary.h"

#define FILES_LISTED 5
#define LISTED_FROM  0.05 /* per cent of the CPU time */

bool pt_is_end_of_path(const char *path, const char *end)
{
    size_t length = strlen(path), suffix = strlen(end);
    if (length < suffix || strcmp(path + length - suffix, end) != 0)
        return false;
    return length == suffix || *end == '/' || path[length - suffix - 1] == '/';
}

static bool is_the_only_end(const struct pt_profile *profile, uint32_t path, const char *end)
{
    for (uint32_t i = 0; i < profile->functions.count; i++) {
        uint32_t other = profile->functions.items[i].file;
        if (other != path && pt_is_end_of_path(pt_string(profile, other), end))
            return false;
    }
    return true;
}

const char *pt_shortest_path(const struct pt_profile *profile, uint32_t path)
{
    const char *text = pt_string(profile, path), *end = text + strlen(text);
    while (end > text) {
        for (end--; end > text && end[-1] != '/';)
            end--;
        if (*end && *end != '/' && is_the_only_end(profile, path, end))
            return end;
    }
    return text;
}

struct file {
    uint32_t path;
    bool application;
    uint64_t self_ns;
};

PT_DEFINE_ORDER(by_self, struct file,
                pt_compare(y->application, x->application) ?: pt_compare(y->self_ns, x->self_ns)
                    ?: pt_compare(x->path, y->path))

void pt_print_hot_files(const struct pt_profile *profile)
{
    struct file *files = pt_alloc(profile->strings.count, sizeof *files); /* by path */
    uint32_t *frames = pt_self_frames(profile), listed = 0;
    uint64_t whole_ns = pt_summary_program_ns(profile);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        uint32_t frame = frames[profile->samples.items[i].node];
        if (frame == PT_NONE || profile->frames.items[frame].kind != PP_FRAME_PYTHON)
            continue;
        struct file *file = &files[profile->functions.items[profile->frames.items[frame].subject].file];
        file->path = (uint32_t)(file - files);
        file->application = pt_is_application(profile, frame);
        file->self_ns += profile->samples.items[i].cpu_ns;
    }
    qsort(files, profile->strings.count, sizeof *files, by_self);
    for (uint32_t i = 0; i < profile->strings.count && listed < FILES_LISTED; i++) {
        double share = pt_percent(files[i].self_ns, whole_ns);
        if (share < LISTED_FROM)
            continue;
        if (!listed++)
            fputs("Files with most CPU time:\n", stderr);
        fprintf(stderr, "  %5.1f %%  %s\n", share, pt_shortest_path(profile, files[i].path));
    }
    free(frames);
    free(files);
}
