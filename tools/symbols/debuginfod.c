/* SPDX-License-Identifier: Apache-2.0 */
#include "debuginfod.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/numbers.h"
#include "../model/frame_text.h"

#define LIBRARY     "libdebuginfod.so.1"
#define MAX_NS      UINT64_C(90000000000) /* of all fetches */
#define MAX_SILENCE UINT64_C(30000000000) /* ns in which nothing comes, or its size is not known */
/* A module with less than this percentage of the CPU time is not worth a download. */
#define FETCHED_FROM 1

/* The client of the library reports its progress as a part of a whole, in no fixed unit; 0: unknown. */
typedef struct debuginfod_client client_type;
typedef int progress_function(client_type *client, long done, long all);

struct pt_debuginfod {
    const struct pt_profile *profile;
    uint64_t *ns, all_ns; /* by module: CPU time at the leaf */
    void *library;
    client_type *client;
    int (*find)(client_type *client, const unsigned char *build_id, int length, char **path);
    void (*end)(client_type *client);
    const char *name;             /* of what is being fetched */
    uint64_t deadline, last_news; /* CLOCK_MONOTONIC, ns */
    long done;
    bool too_long;
};

/* The callback uses this: older libraries give it no context. */
static _Thread_local struct pt_debuginfod *running;

static int on_progress(client_type *client, long done, long all)
{
    (void)client;
    const struct pt_messages *messages = running->profile->request->messages;
    if (all > 0 && done != running->done) /* before that it counts something else */
        running->last_news = pt_clock_ns(CLOCK_MONOTONIC);
    running->done = done;
    if (pt_clock_ns(CLOCK_MONOTONIC) >= running->deadline ||
        pt_clock_ns(CLOCK_MONOTONIC) >= running->last_news + MAX_SILENCE) {
        running->too_long = true;
        return 1;
    }
    if (all > 0)
        pt_progress_to(messages, "debuginfod: fetching %s, %ld of %ld", running->name, done, all);
    else
        pt_progress_to(messages, "debuginfod: fetching %s", running->name);
    return 0;
}

/* Returns false when the library is not there. */
static bool open_library(struct pt_debuginfod *servers)
{
    client_type *(*new_client)(void);
    void (*set_progress)(client_type * client, progress_function * function);
    servers->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!servers->library)
        return false;
    /* POSIX: what dlsym gives may be a function. */
    *(void **)&new_client = dlsym(servers->library, "debuginfod_begin");
    *(void **)&set_progress = dlsym(servers->library, "debuginfod_set_progressfn");
    *(void **)&servers->find = dlsym(servers->library, "debuginfod_find_debuginfo");
    *(void **)&servers->end = dlsym(servers->library, "debuginfod_end");
    if (new_client && set_progress && servers->find && servers->end)
        servers->client = new_client();
    if (servers->client)
        set_progress(servers->client, on_progress);
    return servers->client;
}

static void sum_up(struct pt_debuginfod *servers)
{
    const struct pt_profile *profile = servers->profile;
    servers->ns = pt_alloc(profile->modules.count, sizeof *servers->ns);
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
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
    struct pt_debuginfod *servers = pt_alloc(1, sizeof *servers);
    servers->profile = profile;
    if (!open_library(servers)) {
        pt_debuginfod_free(servers);
        return NULL;
    }
    sum_up(servers);
    servers->deadline = pt_clock_ns(CLOCK_MONOTONIC) + MAX_NS;
    return servers;
}

void pt_debuginfod_free(struct pt_debuginfod *servers)
{
    if (!servers)
        return;
    if (servers->client)
        servers->end(servers->client);
    if (servers->library)
        dlclose(servers->library);
    free(servers->ns);
    free(servers);
}

bool pt_debuginfod_fetch(struct pt_debuginfod *servers, uint32_t number)
{
    const struct pt_profile *profile = servers->profile;
    const struct pt_module *module = &profile->modules.items[number];
    char *path = NULL;
    if (servers->too_long || !servers->ns[number] || servers->ns[number] < servers->all_ns / 100 * FETCHED_FROM)
        return false;
    servers->name = pt_base_name(pt_string(profile, module->path));
    servers->last_news = pt_clock_ns(CLOCK_MONOTONIC);
    servers->done = 0;
    running = servers;
    int descriptor =
        servers->find(servers->client, (const unsigned char *)pt_string(profile, module->build_id), 0, &path);
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    if (servers->too_long)
        pt_message_to(profile->request->messages,
                      "debuginfod: %s takes too long to fetch: going on without what is missing", servers->name);
    return descriptor >= 0;
}
