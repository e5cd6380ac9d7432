/* SPDX-License-Identifier: Apache-2.0 */
#include "process_info.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/memory.h"
#include "../base/numbers.h"
#include "../base/output.h"

#define CHUNK            65536
#define LONGEST_COMMAND  500                                     /* bytes of a command to type */
#define CPU_CLOCK_OF(id) ((clockid_t)(~(unsigned)(id) << 3 | 2)) /* clock_getcpuclockid's, without its checks */
#define STAT_PARENT      1                                       /* fields of /proc/PID/stat after the name */
#define STAT_START       19

char *pt_proc_text(int pid, const char *name, size_t *size)
{
    char path[64 + NAME_MAX];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    struct pt_buffer text = {0};
    char chunk[CHUNK];
    errno = 0;
    for (size_t length; (length = fread(chunk, 1, sizeof chunk, file));)
        pt_buffer_append(&text, chunk, length);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (size)
        *size = text.length;
    pt_buffer_append(&text, "\0", 2);
    if (!error)
        return text.data;
    pt_buffer_free(&text);
    errno = error;
    return NULL;
}

uint64_t pt_status_number(const char *status, const char *name, int base)
{
    size_t length = strlen(name);
    for (const char *line = status; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return strtoull(line + length + 1, NULL, base);
    return 0;
}

static char *read_link(int pid, const char *name)
{
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return NULL;
    target[length] = '\0';
    return pt_strdup(target);
}

/* Returns a field of /proc/PID/stat, counted from the name on, which may hold blanks and parentheses. */
static uint64_t stat_field(int pid, int field)
{
    char *text = pt_proc_text(pid, "stat", NULL), *at = text ? strrchr(text, ')') : NULL;
    for (int i = 0; at && i <= field; i++)
        at = strchr(at + 1, ' ');
    uint64_t value = at ? strtoull(at, NULL, 10) : 0;
    free(text);
    return value;
}

static uint64_t age_ns(int pid)
{
    uint64_t now = pt_clock_ns(CLOCK_BOOTTIME),
             start = stat_field(pid, STAT_START) * (PT_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
    return now ? now - start : 0;
}

static bool is_secure(int pid)
{
    size_t size = 0;
    PT_AUTO_FREE char *bytes = pt_proc_text(pid, "auxv", &size);
    bool secure = false;
    for (size_t at = 0; bytes && at + sizeof(Elf64_auxv_t) <= size; at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;
        memcpy(&entry, bytes + at, sizeof entry);
        secure |= entry.a_type == AT_SECURE && entry.a_un.a_val;
    }
    return secure;
}

/* Returns the last number of the line that follows a '\n'; `otherwise` without one. */
static int last_number(const char *line, int otherwise)
{
    const char *end = line ? strchrnul(line + 1, '\n') : NULL, *digits = end;
    while (digits && isdigit((unsigned char)digits[-1]))
        digits--;
    return digits == end ? otherwise : atoi(digits);
}

/* Some programs write a title in the place of their arguments: that is one argument with blanks. */
static void quote_command(struct pt_process_info *subject, size_t size)
{
    struct pt_buffer quoted = {0};
    for (size_t i = 0; subject->command && i < size; i += strlen(subject->command + i) + 1) {
        bool fits = quoted.length + strlen(subject->command + i) < LONGEST_COMMAND;
        pt_buffer_text(&quoted, i ? " " : "");
        if (!fits) {
            pt_buffer_text(&quoted, "…");
            break;
        }
        pt_append_argument(&quoted, subject->command + i);
    }
    subject->quoted = quoted.data;
}

bool pt_process_info_read(int pid, struct pt_process_info *subject)
{
    size_t size = 0;
    *subject = (struct pt_process_info){.pid = pid, .status = pt_proc_text(pid, "status", NULL)};
    if (!subject->status)
        return false;
    const char *uids = strstr(subject->status, "\nUid:"), *gids = strstr(subject->status, "\nGid:");
    unsigned real = 0, effective = 0, group = 0;
    if (uids)
        sscanf(uids + 5, "%u %u", &real, &effective);
    if (gids)
        sscanf(gids + 5, "%*u %u", &group);
    subject->real_uid = real;
    subject->uid = effective;
    subject->gid = group;
    subject->pid_inside = last_number(strstr(subject->status, "\nNSpid:"), pid);
    subject->name = pt_proc_text(pid, "comm", NULL);
    if (!subject->name)
        subject->name = pt_strdup("");
    subject->name[strcspn(subject->name, "\n")] = '\0';
    subject->command = pt_proc_text(pid, "cmdline", &size);
    quote_command(subject, size);
    for (size_t i = 0; subject->command && i + 1 < size; i++)
        if (!subject->command[i])
            subject->command[i] = ' ';
    const char *state = strstr(subject->status, "\nState:\t");
    subject->ended = state && (state[8] == 'Z' || state[8] == 'X');
    subject->maps = pt_proc_text(pid, "maps", NULL);
    subject->environment = pt_proc_text(pid, "environ", NULL);
    subject->program = read_link(pid, "exe");
    subject->working = read_link(pid, "cwd");
    subject->secure = is_secure(pid);
    subject->age_ns = age_ns(pid);
    subject->start_ticks = stat_field(pid, STAT_START);
    subject->cpu_ns = pt_clock_ns(CPU_CLOCK_OF(pid));
    return true;
}

void pt_process_info_free(struct pt_process_info *subject)
{
    free(subject->name);
    free(subject->command);
    free(subject->quoted);
    free(subject->status);
    free(subject->maps);
    free(subject->environment);
    free(subject->program);
    free(subject->working);
    *subject = (struct pt_process_info){0};
}

const char *pt_process_info_variable(const struct pt_process_info *subject, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = subject->environment; at && *at; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at[length + 1] ? at + length + 1 : NULL;
    return NULL;
}

char *pt_process_info_path(const struct pt_process_info *subject, const char *path)
{
    struct pt_buffer text = {0};
    if (*path != '/')
        pt_buffer_format(&text, "/proc/%d/cwd/%s", subject->pid, path);
    else if (subject->pid == getpid())
        pt_buffer_text(&text, path);
    else
        pt_buffer_format(&text, "/proc/%d/root%s", subject->pid, path);
    return text.data;
}

const char *pt_process_info_inside(const struct pt_process_info *subject, const char *path)
{
    PT_AUTO_FREE char *top = pt_process_info_path(subject, "/");
    size_t length = strlen(top);
    bool below = strncmp(path, top, length) == 0;
    return below ? path + length - 1 : path;
}

char *pt_next_mapped(const char **at, const char *beginning)
{
    while (*at && **at) {
        const char *line = *at, *end = strchrnul(line, '\n');
        const char *path = memchr(line, '/', (size_t)(end - line));
        *at = *end ? end + 1 : end;
        if (!path)
            continue;
        const char *base = memrchr(path, '/', (size_t)(end - path));
        if (strncmp(base + 1, beginning, strlen(beginning)) == 0)
            return pt_strndup(path, (size_t)(end - path));
    }
    return NULL;
}

void pt_each_task(int pid, void (*each)(void *data, int tid), void *data)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        if (isdigit((unsigned char)*entry->d_name))
            each(data, atoi(entry->d_name));
    if (tasks)
        closedir(tasks);
}

int *pt_descendants(int pid, uint32_t *count)
{
    struct {
        struct child {
            int pid, parent;
        } * items;
        uint32_t count, capacity;
    } all = {0};
    int *found = NULL, parent = pid;
    uint32_t capacity = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        int other = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : getpid();
        if (other != getpid())
            *PT_APPEND(&all) = (struct child){other, (int)stat_field(other, STAT_PARENT)};
    }
    if (processes)
        closedir(processes);
    *count = 0;
    for (uint32_t next = 0;; parent = found[next++]) {
        for (uint32_t i = 0; i < all.count; i++) {
            if (all.items[i].parent != parent)
                continue;
            found = pt_grow(found, &capacity, (uint64_t)*count + 1, sizeof *found);
            found[(*count)++] = all.items[i].pid;
        }
        if (next == *count)
            break;
    }
    free(all.items);
    return found;
}
