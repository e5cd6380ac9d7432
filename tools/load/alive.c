/* SPDX-License-Identifier: Apache-2.0 */
#include "alive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *pt_machine(struct pt_text boot_id, struct pt_text pid_namespace)
{
    struct pt_buffer text = {0};
    pt_buffer_text(&text, "");
    pt_buffer_append(&text, boot_id.data, boot_id.length);
    pt_buffer_append(&text, pid_namespace.data, boot_id.length ? pid_namespace.length : 0);
    return text.data;
}

char *pt_own_machine(void)
{
    char boot_id[64] = "", pid_namespace[64];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    ssize_t length = readlink("/proc/self/ns/pid", pid_namespace, sizeof pid_namespace);
    if (!file || !fgets(boot_id, sizeof boot_id, file) || length <= 0)
        *boot_id = '\0';
    if (file)
        fclose(file);
    return pt_machine((struct pt_text){boot_id, strcspn(boot_id, "\n")},
                      (struct pt_text){pid_namespace, length > 0 ? (size_t)length : 0});
}

static bool is_zombie(const char *directory)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "%s/stat", directory);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *end = strrchr(text, ')');
    return end && strncmp(end, ") Z", 3) == 0;
}

enum pt_alive pt_alive(const char *own, const char *machine, uint64_t pid)
{
    char directory[32];
    if (!*own || strcmp(machine, own) != 0)
        return PT_ALIVE_UNKNOWN;
    snprintf(directory, sizeof directory, "/proc/%" PRIu64, pid);
    return access(directory, F_OK) == 0 && !is_zombie(directory) ? PT_ALIVE_YES : PT_ALIVE_NO;
}
