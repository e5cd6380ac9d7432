/* SPDX-License-Identifier: Apache-2.0 */
#include "kind.h"

#include <stddef.h>
#include <string.h>

#include "../../preload/common/pseudo_frames.h"
#include "frame_text.h"

static const char *after(const char *path, const char *mark)
{
    const char *found = strstr(path, mark);
    return found ? found + strlen(mark) : NULL;
}

/* Returns the path from our Python module's directory on, NULL if the file is none of its: it is no part of the
 * application where PYTHONPATH leads to it either. */
static const char *path_in_own(const char *path)
{
    static const char directory[] = "libpyprof/";
    const char *base = pt_base_name(path), *found = base - (sizeof directory - 1);
    if (base - path < (ptrdiff_t)sizeof directory || found[-1] != '/' ||
        strncmp(found, directory, sizeof directory - 1) != 0)
        return NULL;
    return *base == '_' || strcmp(base, "pytest_plugin.py") == 0 ? found : NULL; /* none of its others runs */
}

const char *pt_path_in_packages(const char *path)
{
    const char *package = after(path, "/site-packages/");
    package = package ? package : after(path, "/dist-packages/");
    return package ? package : path_in_own(path);
}

/* "libpython3.13.so.1.0", "python3.11", "python"; not "python_calamine.cpython-311-x86_64-linux-gnu.so". */
static bool is_interpreter(const char *path)
{
    static const char lib[] = "lib", python[] = "python";
    const char *base = pt_base_name(path);
    if (strncmp(base, lib, sizeof lib - 1) == 0)
        base += sizeof lib - 1;
    if (strncmp(base, python, sizeof python - 1) != 0)
        return false;
    base += sizeof python - 1;
    return !*base || strchr("0123456789.-", *base);
}

/* Writes a directory without "." and without "..", but for those that it begins with. Returns its length. */
static size_t resolve(const char *directory, size_t length, char *out)
{
    size_t end = 0;
    for (size_t at = 0, part; at < length; at += part) {
        part = (size_t)((const char *)memchr(directory + at, '/', length - at) - directory) + 1 - at;
        bool up = part == 3 && memcmp(directory + at, "../", 3) == 0, here = part == 2 && directory[at] == '.';
        if (up && end > 1) {
            const char *slash = memrchr(out, '/', end - 1);
            end = slash ? (size_t)(slash - out) + 1 : 0;
        } else if (!up && !here) {
            memcpy(out + end, directory + at, part);
            end += part;
        }
    }
    return end;
}

/* Returns whether the first word of a command line is a program in the directory, the first bytes of `path`; of a
 * relative one the end counts: ".venv/bin/", "../venv/bin/". */
static bool is_program_in(const char *command, const char *path, size_t directory)
{
    const char *slash = memrchr(command, '/', strcspn(command, " "));
    PT_AUTO_FREE char *resolved = pt_alloc(directory + 1, 1);
    size_t length = slash ? (size_t)(slash + 1 - command) : 0, wanted = resolve(path, directory, resolved);
    bool relative = *path != '/' && length > wanted && command[length - wanted - 1] == '/';
    return length && wanted && (relative || length == wanted) &&
           memcmp(command + length - wanted, resolved, wanted) == 0;
}

/* Returns whether the script is in the directory of an interpreter that ran: pip puts commands there. */
static bool is_command(const struct pt_profile *profile, const char *path)
{
    size_t directory = (size_t)(pt_base_name(path) - path);
    for (PT_EACH(const struct pt_process, process, &profile->processes))
        if (is_program_in(pt_string(profile, process->command_line), path, directory) ||
            is_program_in(pt_string(profile, process->executable), path, directory))
            return true;
    return false;
}

/* Returns whether the code that follows -c is what a library gives to the processes that it starts, and no code of the
 * program: of multiprocessing, loky, and execnet (pytest-xdist). */
static bool is_start_of_helper(const char *code)
{
    static const char *const starts[] = {"from multiprocessing.", "from joblib.externals.loky.", "from loky.",
                                         "import sys;exec(eval(sys.stdin.readline()))"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(code, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Returns whether "<string>" may be what was given to python -c, or what a program gave to the interpreter in it. Else
 * it is code that a library made, as dataclasses do. */
static bool is_string_the_program(const struct pt_profile *profile)
{
    for (PT_EACH(const struct pt_process, process, &profile->processes)) {
        const char *option = strstr(pt_string(profile, process->command_line), " -c");
        if ((option && !is_start_of_helper(option + strlen(" -c") + strspn(option + strlen(" -c"), " '\""))) ||
            !is_interpreter(pt_string(profile, process->executable)))
            return true;
    }
    return profile->processes.count == 0;
}

static enum pt_kind kind_of_source(const struct pt_profile *profile, const char *path)
{
    if (pt_path_in_packages(path))
        return PT_KIND_PACKAGE;
    if (after(path, "/lib/python") || strncmp(path, "<frozen ", 8) == 0)
        return PT_KIND_STANDARD;
    if (strcmp(path, "<string>") == 0)
        return is_string_the_program(profile) ? PT_KIND_APPLICATION : PT_KIND_STANDARD;
    return after(path, "/bin/") && is_command(profile, path) ? PT_KIND_PACKAGE : PT_KIND_APPLICATION;
}

enum pt_kind pt_kind_of(const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return kind_of_source(profile, pt_string(profile, profile->functions.items[frame->subject].file));
    if (frame->kind != PP_FRAME_NATIVE)
        return PT_KIND_PSEUDO;
    bool interpreter =
        frame->subject != PT_NONE && is_interpreter(pt_string(profile, profile->modules.items[frame->subject].path));
    return interpreter ? PT_KIND_INTERPRETER : PT_KIND_NATIVE;
}

bool pt_is_nameless_code(const struct pt_profile *profile, const struct pt_frame *frame)
{
    const char *text = frame->kind == PP_FRAME_PSEUDO ? pt_string(profile, frame->subject) : "";
    return strcmp(text, PP_PSEUDO_JIT) == 0 || strcmp(text, PP_PSEUDO_JIT_OR_UNLOADED) == 0;
}

bool pt_is_importlib(const struct pt_profile *profile, const struct pt_frame *frame)
{
    const char *file = pt_string(profile, profile->functions.items[frame->subject].file);
    return strncmp(file, PT_IMPORTLIB, sizeof PT_IMPORTLIB - 1) == 0;
}
