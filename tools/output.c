#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "memory.h"

bool pp_write_file(const char *path, void (*write)(void *context, FILE *out), void *context)
{
    struct pp_buffer temporary = {0};
    pp_buffer_format(&temporary, "%s.XXXXXX", path);
    int descriptor = mkstemp(temporary.data);
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    bool written = false;
    if (out) {
        /* mkstemp's 0600 is not what a new file has. */
        mode_t mask = umask(0);
        umask(mask);
        fchmod(descriptor, 0666 & ~mask);
        write(context, out);
        written = fflush(out) == 0 && !ferror(out);
        written = fclose(out) == 0 && written && rename(temporary.data, path) == 0;
    }
    if (!written)
        pp_error("cannot write %s: %s", path, strerror(errno));
    if (!written && descriptor >= 0)
        unlink(temporary.data);
    pp_buffer_free(&temporary);
    return written;
}
