/* SPDX-License-Identifier: Apache-2.0 */
#include "pager.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"

static pid_t pager_pid;

/* Returns whether the shell will find the program: else all output would be lost. */
static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool is_there(const char *command)
{
    const char *path = getenv("PATH");
    size_t length = strcspn(command, " ");
    if (memchr(command, '/', length) || !path) {
        PT_AUTO_FREE char *name = pt_strndup(command, length);
        return is_program(name);
    }
    for (size_t part; *path; path += part + (path[part] == ':')) {
        PT_AUTO_BUFFER name = {0};
        part = strcspn(path, ":");
        pt_buffer_format(&name, "%.*s/%.*s", (int)part, path, (int)length, command);
        if (is_program(name.data))
            return true;
    }
    return false;
}

static void run_pager(const char *command, const int pipe_ends[2])
{
    dup2(pipe_ends[0], STDIN_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void pt_pager_start(void)
{
    const char *command = getenv("PAGER") ?: "less";
    int pipe_ends[2];
    if (!isatty(STDOUT_FILENO) || !*command || strcmp(command, "cat") == 0 || !is_there(command) ||
        pipe(pipe_ends) != 0)
        return;
    pt_print_as_now();
    pager_pid = fork();
    if (pager_pid == 0)
        run_pager(command, pipe_ends);
    if (pager_pid > 0)
        dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

void pt_pager_end(void)
{
    if (pager_pid <= 0)
        return;
    signal(SIGINT, SIG_IGN); /* it is meant for the pager */
    fclose(stdout);
    waitpid(pager_pid, NULL, 0);
    pager_pid = 0;
}
