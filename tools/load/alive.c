/* SPDX-License-Identifier: Apache-2.0 */
#include "alive.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PF_EXITING 4u /* the kernel's flag of a thread that exits; it may take long to free its memory */
#define KILL_BIT   (1u << (SIGKILL - 1))

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

static bool seems_to_run(uint64_t pid)
{
    char path[32], text[512], state = 'X';
    unsigned flags = 0;
    uint64_t pending = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')');
    if (end)
        sscanf(end,
               ") %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %*s %" SCNu64,
               &state, &flags, &pending);
    return !strchr("ZX", state) && !(flags & PF_EXITING) && !(pending & KILL_BIT);
}

/* The kernel reads the flag before the signal: the process may take the signal, and set the flag, in between. */
bool pt_runs(uint64_t pid)
{
    return seems_to_run(pid) && seems_to_run(pid);
}

enum pt_alive pt_alive(const char *own, const char *machine, uint64_t pid)
{
    if (!*own || strcmp(machine, own) != 0)
        return PT_ALIVE_UNKNOWN;
    return pt_runs(pid) ? PT_ALIVE_YES : PT_ALIVE_NO;
}
