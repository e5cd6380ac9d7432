/* SPDX-License-Identifier: Apache-2.0 */
#include "package.h"

#include <stdlib.h>
#include <string.h>

#include "../model/frame_text.h"
#include "../model/kind.h"

#define STANDARD_LIBRARY "standard library"
#define CALLERS          (PT_NONE - 1) /* no string: code that works for the package that calls it */

/* Returns whether a pseudo-frame is CPU time of which no stack is known, and not a part of a stack. */
static bool stands_alone(const char *text)
{
    static const char *const parts[] = {PP_PSEUDO_PARTS};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strncmp(text, parts[i], strlen(parts[i])) == 0)
            return false;
    return true;
}

uint32_t pt_self_frame(const struct pt_profile *profile, uint32_t number, uint32_t without)
{
    if (number == PT_NONE)
        return PT_NONE;
    const struct pt_frame *frame = &profile->frames.items[number];
    const char *text = frame->kind == PP_FRAME_PSEUDO ? pt_string(profile, frame->subject) : "";
    if (frame->kind == PP_FRAME_PYTHON || strcmp(text, PP_PSEUDO_GC) == 0)
        return number;
    return without == PT_NONE && *text && stands_alone(text) ? number : without;
}

uint32_t *pt_self_frames(const struct pt_profile *profile)
{
    uint32_t *frames = pt_alloc(profile->nodes.count, sizeof *frames);
    frames[0] = PT_NONE;
    for (uint32_t i = 1; i < profile->nodes.count; i++)
        frames[i] = pt_self_frame(profile, profile->nodes.items[i].frame, frames[profile->nodes.items[i].parent]);
    return frames;
}

uint32_t pt_frame_line(const struct pt_profile *profile, const struct pt_frame *frame)
{
    return frame->line ? frame->line : profile->functions.items[frame->subject].first_line;
}

bool pt_is_application(const struct pt_profile *profile, uint32_t frame)
{
    return frame != PT_NONE && pt_kind_of(profile, &profile->frames.items[frame]) == PT_KIND_APPLICATION &&
           pt_has_package(profile, frame);
}

bool *pt_applications(const struct pt_profile *profile)
{
    bool *own = pt_alloc(profile->frames.count, sizeof *own);
    for (uint32_t i = 0; i < profile->frames.count; i++)
        own[i] = pt_is_application(profile, i);
    return own;
}

/* Returns the path of the frame's source or library; "" when it has none. */
static const char *path_of(const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return pt_string(profile, profile->functions.items[frame->subject].file);
    bool library = frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE;
    return library ? pt_string(profile, profile->modules.items[frame->subject].path) : "";
}

/* Returns whether a source is no part of what a project builds: headers, a language's library, what Cython adds. */
static bool is_foreign(const char *source)
{
    return pt_path_in_packages(source) || strncmp(source, "/usr/", 5) == 0 || strncmp(source, "/rustc/", 7) == 0 ||
           strstr(source, "cython_utility") || strstr(source, "/include/");
}

/* The application's directories: each is the first bytes of a path. */
struct project {
    PT_TABLE_OF(struct directory {
        const char *path;
        size_t length;
    })
    directories;
    uint8_t *known; /* answers, by string; 0: not asked yet */
};

static bool is_below(const char *path, const struct project *project)
{
    for (PT_EACH(const struct directory, directory, &project->directories))
        if (strncmp(path, directory->path, directory->length) == 0 && path[directory->length] == '/')
            return true;
    return false;
}

static void add_directory(struct project *project, const char *path, size_t length)
{
    if (length > 1 && !is_below(path, project))
        *PT_APPEND(&project->directories) = (struct directory){path, length};
}

/* Returns the directories where processes began, and those of the application's Python files. */
static struct project project_of(const struct pt_profile *profile)
{
    struct project project = {.known = pt_alloc(profile->strings.count, sizeof *project.known)};
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const char *cwd = pt_string(profile, profile->processes.items[i].cwd);
        add_directory(&project, cwd, strlen(cwd));
    }
    PT_AUTO_FREE bool *own = pt_applications(profile);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const char *file = own[i] ? path_of(profile, &profile->frames.items[i]) : "", *slash = strrchr(file, '/');
        if (slash)
            add_directory(&project, file, (size_t)(slash - file));
    }
    return project;
}

/* Returns whether a path is in the environment of an interpreter that ran, which may be in the project. */
static bool is_in_environment(const struct pt_profile *profile, const char *path)
{
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        const char *program = pt_string(profile, profile->processes.items[i].executable);
        const char *bin = strstr(program, "/bin/");
        size_t length = bin ? (size_t)(bin - program) : 0;
        if (bin && strncmp(path, program, length) == 0 && strncmp(path + length, "/lib", 4) == 0)
            return true;
    }
    return false;
}

/* Returns whether the path, a string, of a library or a source is in the project. */
static bool is_in_project(const struct pt_profile *profile, struct project *project, uint32_t string)
{
    const char *path = pt_string(profile, string);
    if (!project->known[string])
        project->known[string] = 1 + (is_below(path, project) && !pt_path_in_packages(path) &&
                                      !strstr(path, "/.cargo/") && !is_in_environment(profile, path));
    return project->known[string] == 2;
}

bool *pt_native_applications(const struct pt_profile *profile)
{
    static const char *const added[] = {"__Pyx_", "__pyx_pymod_", "__pyx_pyframe_", "_Py", "Py"};
    bool *own = pt_alloc(profile->frames.count, sizeof *own);
    struct project project = project_of(profile);
    for (uint32_t i = 0; i < profile->frames.count; i++) {
        const struct pt_frame *frame = &profile->frames.items[i];
        if (!frame->symbol || pt_kind_of(profile, frame) != PT_KIND_NATIVE || frame->subject == PT_NONE ||
            profile->modules.items[frame->subject].flags & PP_MODULE_MAIN)
            continue;
        const char *source = pt_string(profile, frame->source);
        own[i] = is_in_project(profile, &project, frame->source) ||
                 (is_in_project(profile, &project, profile->modules.items[frame->subject].path) && !is_foreign(source));
        const char *symbol = pt_string(profile, frame->symbol);
        own[i] = own[i] && !strchr(symbol, '@') && !strstr(symbol, "$$$"); /* stubs, what Nuitka has compiled */
        for (size_t n = 0; own[i] && n < sizeof added / sizeof *added; n++)
            own[i] = strncmp(symbol, added[n], strlen(added[n])) != 0;
    }
    free(project.known);
    PT_FREE_TABLE(&project.directories);
    return own;
}

uint32_t *pt_application_frames(const struct pt_profile *profile)
{
    uint32_t *frames = pt_alloc(profile->nodes.count, sizeof *frames);
    PT_AUTO_FREE bool *own = pt_applications(profile);
    frames[0] = PT_NONE;
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        frames[i] = own[node->frame] ? node->frame : frames[node->parent];
    }
    return frames;
}

/* Returns the first part of a relative path: a directory, or a file without ".py". */
static uint32_t first_part(struct pt_profile *profile, const char *path)
{
    size_t length = strcspn(path, "/");
    if (!path[length] && length > 3 && strcmp(path + length - 3, ".py") == 0)
        length -= 3;
    return pt_intern(profile, path, length);
}

uint32_t pt_package_of(struct pt_profile *profile, uint32_t number)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    const char *path = path_of(profile, frame), *installed = pt_path_in_packages(path);
    if (frame->kind == PP_FRAME_PSEUDO)
        return frame->subject;
    if (installed)
        return first_part(profile, installed);
    if (frame->kind == PP_FRAME_NATIVE)
        return pt_intern_text(profile, *path ? pt_base_name(path) : frame->symbol ? PT_JIT_MODULE : "no module");
    if (pt_kind_of(profile, frame) == PT_KIND_STANDARD)
        return pt_intern_text(profile, STANDARD_LIBRARY);
    const char *file = pt_string(profile, profile->functions.items[frame->subject].short_file);
    return first_part(profile, *file == '/' ? pt_base_name(file) : file);
}

/* Returns whether the path is that of code which a library made, as of a template: it works for its caller. What is in
 * no file because a user gave it to the interpreter, or a library sent it to another process, is not. */
static bool is_generated(const char *path)
{
    return *path == '<' && strcmp(path, "<string>") != 0 && strcmp(path, "<stdin>") != 0 &&
           strcmp(path, PT_DYNAMIC_CODE) != 0;
}

bool pt_has_package(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_frame *frame = &profile->frames.items[number];
    const char *path = path_of(profile, frame);
    return pt_path_in_packages(path) || (pt_kind_of(profile, frame) == PT_KIND_APPLICATION && !is_generated(path));
}

uint32_t pt_package_with(struct pt_profile *profile, uint32_t frame, uint32_t without)
{
    if (frame == PT_NONE)
        return 0;
    bool python = profile->frames.items[frame].kind == PP_FRAME_PYTHON;
    bool alone = profile->frames.items[frame].kind == PP_FRAME_PSEUDO &&
                 pt_self_frame(profile, frame, without ? frame + 1 : PT_NONE) == frame;
    return alone || pt_has_package(profile, frame) || (!without && python) ? pt_package_of(profile, frame) : without;
}

uint32_t *pt_packages_by_node(struct pt_profile *profile)
{
    uint32_t *packages = pt_alloc(profile->nodes.count, sizeof *packages);
    /* By frame, below nothing and below a package: what pt_package_with returns + 1; 0: not known yet. */
    uint32_t *known[2];
    for (int below = 0; below < 2; below++)
        known[below] = pt_alloc(profile->frames.count, sizeof *known[0]);
    for (uint32_t i = 1; i < profile->nodes.count; i++) {
        const struct pt_node *node = &profile->nodes.items[i];
        uint32_t without = packages[node->parent], *found = &known[without != 0][node->frame];
        if (!*found)
            *found = pt_package_with(profile, node->frame, without ? CALLERS : 0) + 1;
        packages[i] = *found - 1 == CALLERS ? without : *found - 1;
    }
    for (int below = 0; below < 2; below++)
        free(known[below]);
    return packages;
}
