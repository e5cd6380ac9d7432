/* SPDX-License-Identifier: Apache-2.0 */
#include "debuginfod.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../model/frame_text.h"

#define PROGRAM     "debuginfod-find"
#define MAX_NS      UINT64_C(90000000000) /* of all fetches */
#define MAX_SILENCE "30"                  /* s in which a server sends little or nothing: the client's default is 90 */
#define PROGRESS_MS 100
/* A module with less than this percentage of the CPU time is not worth a download. */
#define FETCHED_FROM 1

struct pt_debuginfod {
    const struct pt_profile *profile;
    uint64_t *ns, all_ns; /* by module: CPU time at the leaf */
    uint64_t deadline;    /* CLOCK_MONOTONIC, ns */
    bool ended;           /* the program is not there, or all took too long */
};

static void sum_up(struct pt_debuginfod *servers)
{
    const struct pt_profile *profile = servers->profile;
    servers->ns = pt_alloc(profile->modules.count, sizeof *servers->ns);
    for (PT_EACH(const struct pt_sample, sample, &profile->samples)) {
        uint32_t number = profile->nodes.items[sample->node].frame;
        const struct pt_frame *frame = number == PT_NONE ? NULL : &profile->frames.items[number];
        servers->all_ns += frame ? sample->cpu_ns : 0; /* request.h: PT_KEEP_STACKS */
        if (frame && frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE)
            servers->ns[frame->subject] += sample->cpu_ns;
    }
}

struct pt_debuginfod *pt_debuginfod_new(const struct pt_profile *profile)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!urls || !*urls)
        return NULL;
    setenv("DEBUGINFOD_TIMEOUT", MAX_SILENCE, 0);
    struct pt_debuginfod *servers = pt_alloc(1, sizeof *servers);
    servers->profile = profile;
    sum_up(servers);
    servers->deadline = pt_clock_ns(CLOCK_MONOTONIC) + MAX_NS;
    return servers;
}

void pt_debuginfod_free(struct pt_debuginfod *servers)
{
    if (!servers)
        return;
    free(servers->ns);
    free(servers);
}

/* Starts the program, whose end closes *output. Returns 0 if it is not there. */
static pid_t start(const char *build_id, int *output)
{
    char *arguments[] = {PROGRAM, "debuginfo", (char *)build_id, NULL};
    int ends[2];
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, PROGRAM, &actions, NULL, arguments, environ) != 0)
        child = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!child)
        close(ends[0]);
    *output = ends[0];
    return child;
}

bool pt_debuginfod_fetch(struct pt_debuginfod *servers, uint32_t number)
{
    const struct pt_profile *profile = servers->profile;
    const struct pt_messages *messages = profile->request->messages;
    const struct pt_module *module = &profile->modules.items[number];
    const char *name = pt_base_name(pt_string(profile, module->path));
    char path[256]; /* where the program has put it: in the cache, in which it will be found */
    int output;
    if (servers->ended || !servers->ns[number] || servers->ns[number] < servers->all_ns / 100 * FETCHED_FROM)
        return false;
    pid_t child = start(pt_string(profile, module->build_id), &output);
    servers->ended = !child;
    if (!child)
        return false;
    struct pollfd ready = {.fd = output, .events = POLLIN};
    do {
        pt_progress_to(messages, "debuginfod: fetching %s", name);
        servers->ended = pt_clock_ns(CLOCK_MONOTONIC) >= servers->deadline;
    } while (!servers->ended && (poll(&ready, 1, PROGRESS_MS) <= 0 || read(output, path, sizeof path) > 0));
    if (servers->ended) {
        kill(child, SIGKILL);
        pt_message_to(messages, "debuginfod: %s takes too long to fetch: going on without what is missing", name);
    }
    close(output);
    waitpid(child, NULL, 0);
    return !servers->ended;
}
