/* SPDX-License-Identifier: Apache-2.0 */
#include "read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void *pt_read_file(const char *path, size_t most, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (descriptor < 0)
        return NULL;
    bool found = fstat(descriptor, &status) == 0;
    if (!found || !S_ISREG(status.st_mode)) {
        int error = !found ? errno : S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        close(descriptor);
        errno = error;
        return NULL;
    }
    size_t room = (uint64_t)status.st_size < most ? (size_t)status.st_size : most;
    char *data = malloc(room + 1);
    size_t length = 0;
    while (data && length < room) {
        ssize_t got = read(descriptor, data + length, room - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(data);
            data = NULL;
        }
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    int error = errno;
    close(descriptor);
    errno = error;
    *size = length;
    return data;
}
