#include "debuginfod.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../cli/options.h"
#include "../profile/load.h"
#include "../view/frame_text.h"
#include "debug_info.h"

#define LIBRARY      "libdebuginfod.so.1"
#define MOST_SECONDS 90 /* of all fetches */
#define MOST_SILENCE 30 /* seconds in which nothing comes, or nothing is said of how much */
/* Less than so many per cent of the CPU time are not worth a download. */
#define FETCHED_FROM 1

/* The library's client; what it says of progress: so much of so much, in no fixed unit, 0 when unknown. */
typedef struct debuginfod_client client_type;
typedef int progress_function(client_type *client, long done, long all);

struct servers {
    void *library;
    client_type *client;
    int (*find)(client_type *client, const unsigned char *build_id, int length, char **path);
    void (*end)(client_type *client);
};

/* For the callback, which older libraries give no context. */
static struct {
    const char *name; /* of what is being fetched */
    time_t deadline, last_news;
    long done;
    bool too_long;
} running;

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static int on_progress(client_type *client, long done, long all)
{
    (void)client;
    if (all > 0 && done != running.done) /* before that it counts something else */
        running.last_news = now();
    running.done = done;
    if (now() >= running.deadline || now() >= running.last_news + MOST_SILENCE) {
        running.too_long = true;
        return 1;
    }
    if (all > 0)
        pt_progress("debuginfod: fetching %s, %ld of %ld", running.name, done, all);
    else
        pt_progress("debuginfod: fetching %s", running.name);
    return 0;
}

static void end(struct servers *servers)
{
    if (servers->client)
        servers->end(servers->client);
    if (servers->library)
        dlclose(servers->library);
}

/* False when the library is not there. */
static bool begin(struct servers *servers)
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

static void fetch(struct servers *servers, const char *build_id, const char *name)
{
    char *path = NULL;
    running.name = name;
    running.last_news = now();
    running.done = 0;
    int descriptor = servers->find(servers->client, (const unsigned char *)build_id, 0, &path);
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    if (running.too_long)
        pt_error("debuginfod: %s takes too long to fetch: going on without what is missing", name);
}

/* By module: CPU time at the leaf. The caller frees. */
static uint64_t *ns_by_module(const struct pt_profile *profile, uint64_t *all_ns)
{
    uint64_t *ns = pt_alloc(profile->modules.count, sizeof *ns);
    *all_ns = 0;
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const struct pt_sample *sample = &profile->samples.items[i];
        uint32_t number = profile->nodes.items[sample->node].frame;
        const struct pt_frame *frame = number == PT_NONE ? NULL : &profile->frames.items[number];
        *all_ns += frame ? sample->cpu_ns : 0; /* model.h: stacks_only */
        if (frame && frame->kind == PP_FRAME_NATIVE && frame->subject != PT_NONE)
            ns[frame->subject] += sample->cpu_ns;
    }
    return ns;
}

static bool is_here(const char *path, const char *build_id)
{
    struct pt_debug_info *info = pt_debug_info_find_file(path, build_id);
    pt_debug_info_close(info);
    return info;
}

void pt_debuginfod_fetch(const struct pt_profile *profile)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    struct servers servers = {0};
    uint64_t all_ns;
    if (!urls || !*urls || !begin(&servers)) {
        end(&servers);
        return;
    }
    uint64_t *ns = ns_by_module(profile, &all_ns);
    running.deadline = now() + MOST_SECONDS;
    running.too_long = false;
    for (uint32_t i = 0; i < profile->modules.count && !running.too_long; i++) {
        const char *build_id = pt_string(profile, profile->modules.items[i].build_id);
        const char *path = pt_string(profile, profile->modules.items[i].path);
        bool wanted = *build_id && ns[i] && ns[i] >= all_ns / 100 * FETCHED_FROM;
        if (wanted && !is_here(path, build_id))
            fetch(&servers, build_id, pt_base_name(path));
    }
    free(ns);
    end(&servers);
}
