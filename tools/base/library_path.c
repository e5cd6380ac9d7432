#include "library_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"

/* Directory of this program, "" when the kernel does not say. The caller frees. */
static char *own_directory(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return pt_strdup(path);
}

char *pt_find_library(void)
{
    static const char *const places[] = {"/" PT_LIBRARY, "/../lib/" PT_LIBRARY, "/../lib/pyprof/" PT_LIBRARY};
    char *directory = own_directory();
    for (size_t i = 0; *directory && i < sizeof places / sizeof places[0]; i++) {
        struct pt_buffer candidate = {0};
        pt_buffer_format(&candidate, "%s%s", directory, places[i]);
        char *path = realpath(candidate.data, NULL);
        pt_buffer_free(&candidate);
        if (!path)
            continue;
        bool usable = access(path, R_OK) == 0 && !strpbrk(path, " :");
        if (!usable && access(path, R_OK) != 0)
            pt_error("%s: %s: make it readable for the user that runs the command", path, strerror(errno));
        else if (!usable)
            pt_error("%s: LD_PRELOAD cannot hold a path with a space or a colon: install pyprof elsewhere", path);
        if (!usable)
            free(path);
        free(directory);
        return usable ? path : NULL;
    }
    /* The loader's own directories; nothing happens in a process without Python, so it can be tried here. */
    bool found = dlopen(PT_LIBRARY, RTLD_LAZY | RTLD_LOCAL) != NULL;
    if (!found)
        pt_error(PT_LIBRARY " is neither in %s nor in %s/../lib nor in the loader's path: install it next to pyprof",
                 directory, directory);
    free(directory);
    return found ? pt_strdup(PT_LIBRARY) : NULL;
}
