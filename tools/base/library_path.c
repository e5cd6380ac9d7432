/* SPDX-License-Identifier: Apache-2.0 */
#include "library_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"

#define UNUSABLE  ":;" /* between directories in LD_LIBRARY_PATH */
#define SEPARATES " :" /* between libraries in LD_PRELOAD */

char *pt_own_path(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return pt_strdup(path);
}

/* Directory of this program, "" when the kernel does not say. The caller frees. */
static char *own_directory(void)
{
    char *path = pt_own_path(), *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return path;
}

char *pt_find_library(void)
{
    static const char *const places[] = {"/" PT_LIBRARY, "/../lib/" PT_LIBRARY, "/../libexec/pyprof/" PT_LIBRARY,
                                         "/../lib64/" PT_LIBRARY, "/../lib/" PYPROF_PROCESSOR "-linux-gnu/" PT_LIBRARY};
    PT_AUTO_FREE char *directory = own_directory();
    for (size_t i = 0; *directory && i < sizeof places / sizeof places[0]; i++) {
        struct pt_buffer candidate = pt_formatted("%s%s", directory, places[i]);
        char *path = realpath(candidate.data, NULL);
        pt_buffer_free(&candidate);
        if (!path)
            continue;
        bool usable = access(path, R_OK) == 0 && !strpbrk(path, UNUSABLE);
        if (!usable && access(path, R_OK) != 0)
            pt_error("%s: %s: make it readable for the user that runs the command", path, strerror(errno));
        else if (!usable)
            pt_error("%s: the loader takes no path with a colon or a semicolon: install pyprof elsewhere", path);
        if (!usable)
            free(path);
        return usable ? path : NULL;
    }
    pt_error(PT_LIBRARY " is neither in %s nor in %s/../lib: install it next to pyprof", directory, directory);
    return NULL;
}

/* Appends an entry to a variable that is a list with colons, unless it is there. */
static void append_entry(const char *variable, const char *entry)
{
    const char *present = getenv(variable);
    PT_AUTO_BUFFER value = {0};
    if (present && *present && !strstr(present, entry))
        pt_buffer_format(&value, "%s:%s", present, entry);
    else
        pt_buffer_text(&value, present && *present ? present : entry);
    setenv(variable, value.data, 1);
}

bool pt_fits_preload(const char *library)
{
    return !strpbrk(library, SEPARATES);
}

void pt_preload(const char *library)
{
    const char *name = strrchr(library, '/');
    if (pt_fits_preload(library)) {
        append_entry("LD_PRELOAD", library);
        return;
    }
    PT_AUTO_FREE char *directory = pt_strndup(library, (size_t)(name - library));
    append_entry("LD_LIBRARY_PATH", directory);
    append_entry("LD_PRELOAD", name + 1);
}
