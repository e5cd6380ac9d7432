/* SPDX-License-Identifier: Apache-2.0 */
#include "open_ends.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Identifies the processes that this program sees in /proc. */
struct here {
    char boot_id[64], pid_namespace[64];
};

static void find_here(struct here *here)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    ssize_t length = readlink("/proc/self/ns/pid", here->pid_namespace, sizeof here->pid_namespace - 1);
    here->pid_namespace[length > 0 ? length : 0] = '\0';
    if (!file || !fgets(here->boot_id, sizeof here->boot_id, file))
        *here->boot_id = '\0';
    if (file)
        fclose(file);
    here->boot_id[strcspn(here->boot_id, "\n")] = '\0';
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

enum pt_end pt_end_of(const struct pt_profile *profile, uint32_t number)
{
    const struct pt_process *process = &profile->processes.items[number];
    struct here here;
    char directory[32];
    if (process->ended)
        return PT_END_ITSELF;
    find_here(&here);
    snprintf(directory, sizeof directory, "/proc/%" PRIu64, process->pid);
    if (!*here.boot_id || !*here.pid_namespace || strcmp(pt_string(profile, process->boot_id), here.boot_id) != 0 ||
        strcmp(pt_string(profile, process->pid_namespace), here.pid_namespace) != 0)
        return PT_END_UNKNOWN;
    return access(directory, F_OK) == 0 && !is_zombie(directory) ? PT_END_RUNNING : PT_END_SIGNAL;
}

struct pt_open_ends pt_open_ends_of(const struct pt_profile *profile)
{
    struct pt_open_ends ends = {0};
    for (uint32_t i = 0; i < profile->processes.count; i++) {
        enum pt_end end = pt_end_of(profile, i);
        ends.running += end == PT_END_RUNNING;
        ends.killed += end == PT_END_SIGNAL;
        ends.unknown += end == PT_END_UNKNOWN;
    }
    return ends;
}

static void append_count(struct pt_buffer *text, size_t before, uint32_t count, const char *what)
{
    if (count)
        pt_buffer_format(text, "%s%" PRIu32 " %s", text->length > before ? ", " : "", count, what);
}

void pt_open_ends_append(struct pt_buffer *text, const struct pt_open_ends *ends)
{
    size_t before = text->length;
    append_count(text, before, ends->running, "still running");
    append_count(text, before, ends->killed, "ended by a signal");
    append_count(text, before, ends->unknown, "still running or killed");
}
