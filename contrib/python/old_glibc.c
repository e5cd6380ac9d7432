/* SPDX-License-Identifier: Apache-2.0 */
/* What the wheel's pyprof takes from glibc 2.25 and 2.26, for systems from glibc 2.17 on. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    return syscall(SYS_getrandom, buffer, length, flags);
}

void *reallocarray(void *array, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(array, count * size);
}
