#include "kind.h"

#include <string.h>

#include "frame_text.h"

static const char *after(const char *path, const char *mark)
{
    const char *found = strstr(path, mark);
    return found ? found + strlen(mark) : NULL;
}

const char *pt_path_in_packages(const char *path)
{
    const char *package = after(path, "/site-packages/");
    return package ? package : after(path, "/dist-packages/");
}

static enum pt_kind kind_of_source(const char *path)
{
    if (pt_path_in_packages(path))
        return PT_KIND_PACKAGE;
    bool standard = after(path, "/lib/python") || strncmp(path, "<frozen ", 8) == 0;
    return standard ? PT_KIND_STANDARD : PT_KIND_APPLICATION;
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

enum pt_kind pt_kind_of(const struct pt_profile *profile, const struct pt_frame *frame)
{
    if (frame->kind == PP_FRAME_PYTHON)
        return kind_of_source(pt_string(profile, profile->functions.items[frame->subject].file));
    if (frame->kind != PP_FRAME_NATIVE)
        return PT_KIND_PSEUDO;
    bool interpreter =
        frame->subject != PT_NONE && is_interpreter(pt_string(profile, profile->modules.items[frame->subject].path));
    return interpreter ? PT_KIND_INTERPRETER : PT_KIND_NATIVE;
}
