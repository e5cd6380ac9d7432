/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NICENESS      5   /* the programs that are profiled come first */
#define PARENTS_FIRST 3   /* descriptors of the server, which the job has but for the first three */
#define PARENTS_LAST  512 /* it has less: serve.h bounds its connections */

void pt_job_order_add(struct pt_job_order *order, const char *word)
{
    if (order->count < PT_JOB_WORDS)
        order->words[order->count++] = pt_strdup(word);
}

void pt_job_order_free(struct pt_job_order *order)
{
    for (unsigned i = 0; i < order->count; i++)
        free(order->words[i]);
    *order = (struct pt_job_order){0};
}

static int run(const struct pt_command_table *commands, struct pt_job_order *order)
{
    const struct pt_command *command = pt_command_named(commands, order->words[0]);
    struct pt_cli cli;
    int status;
    if (!pt_cli_parse(command, (int)order->count, order->words, &cli, &status))
        return status;
    cli.commands = commands;
    cli.request.own_only = true; /* what others plant, a client cannot tell apart */
    if (order->to_ns) {
        cli.request.select.from = (struct pt_when){.unix_ns = order->from_ns};
        cli.request.select.to = (struct pt_when){.unix_ns = order->to_ns};
        cli.request.served = true;
    }
    status = command->main(&cli);
    return fflush(stdout) == 0 && !ferror(stdout) ? status : PT_EXIT_DATA;
}

/* Nothing of the server's is left open: a client whose connection is closed must see its end. The write end of the pipe
 * becomes the first descriptor; it closes when the process ends, in whatever way. */
_Noreturn static void be_job(const struct pt_job *job, int pipe_end, const struct pt_command_table *commands,
                             struct pt_job_order *order, pid_t server)
{
    struct rlimit most = {PT_JOB_MOST_BYTES, PT_JOB_MOST_BYTES};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(job->out, STDOUT_FILENO) < 0 || dup2(job->err, STDERR_FILENO) < 0 || getppid() != server)
        _exit(PT_EXIT_CANNOT_RUN);
    if (pipe_end != PARENTS_FIRST && dup3(pipe_end, PARENTS_FIRST, O_CLOEXEC) < 0)
        _exit(PT_EXIT_CANNOT_RUN);
    for (int i = PARENTS_FIRST + 1; i < PARENTS_LAST; i++)
        close(i);
    signal(SIGPIPE, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &most);
    setpriority(PRIO_PROCESS, 0, NICENESS);
    _exit(run(commands, order));
}

bool pt_job_start(struct pt_job *job, const struct pt_command_table *commands, struct pt_job_order *order)
{
    int ends[2] = {-1, -1};
    *job = (struct pt_job){.end = -1, .out = -1, .err = -1};
    job->out = memfd_create("pyprof-answer", MFD_CLOEXEC);
    job->err = memfd_create("pyprof-messages", MFD_CLOEXEC);
    if (job->out >= 0 && job->err >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
        pid_t server = getpid();
        job->process = fork();
        if (!job->process)
            be_job(job, ends[1], commands, order, server);
        close(ends[1]);
        job->end = ends[0];
    }
    if (job->process > 0)
        return true;
    for (unsigned i = 0; i < 3; i++)
        if ((int[]){job->out, job->err, job->end}[i] >= 0)
            close((int[]){job->out, job->err, job->end}[i]);
    *job = (struct pt_job){.end = -1, .out = -1, .err = -1};
    return false;
}

int pt_job_end(struct pt_job *job, int signal)
{
    int status = -1;
    if (signal)
        kill(job->process, signal);
    while (waitpid(job->process, &status, 0) < 0 && errno == EINTR)
        continue;
    close(job->end);
    job->process = 0;
    job->end = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
