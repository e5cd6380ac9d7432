/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "../model/frame_text.h"

bool pt_are_of_one_process(const char *a, const char *b)
{
    size_t length = strspn(pt_base_name(a), "0123456789");
    return length && strncmp(pt_base_name(a), pt_base_name(b), length + 1) == 0;
}

uint32_t pt_parts_divide(const struct pt_part_file *files, uint32_t count, uint32_t ends[PT_PARTS + 1])
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t bytes = 0, sum = 0;
    uint32_t parts = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += files[i].size;
    uint32_t most = bytes < PT_PARTS_FROM || processors < 1 ? 1
                    : processors > PT_PARTS                 ? PT_PARTS
                                                            : (uint32_t)processors;
    for (uint32_t i = 0; i < count; i++) {
        sum += files[i].size;
        bool full = sum >= bytes * (parts + 1) / most;
        bool last = i + 1 == count;
        if (last || (full && !pt_are_of_one_process(files[i].path, files[i + 1].path)))
            ends[parts++] = i + 1;
    }
    return parts;
}

void pt_parts_read(void *parts, size_t size, uint32_t count, void *(*read)(void *part))
{
    pthread_t threads[PT_PARTS + 1];
    bool started[PT_PARTS + 1] = {false};
    for (uint32_t i = count; i-- > 0;) {
        void *part = (char *)parts + i * size;
        started[i] = i && pthread_create(&threads[i], NULL, read, part) == 0;
        if (!started[i])
            read(part);
    }
    for (uint32_t i = 1; i < count; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}
