#include "debuginfod.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../cli.h"
#include "../memory.h"
#include "load.h"

#define LIBRARY      "libdebuginfod.so.1"
#define MOST_SECONDS 90 /* of all fetches */

/* The library's client; what it says of progress: so much of so much, in no fixed unit, 0 when unknown. */
typedef struct debuginfod_client client_type;
typedef int progress_function(client_type *client, long done, long all);

struct pp_debuginfod {
    void *library;
    client_type *client;
    int (*find)(client_type *client, const unsigned char *build_id, int length, char **path);
    void (*end)(client_type *client);
    time_t deadline;
    const char *name;
    bool too_long;
};

static struct pp_debuginfod *running; /* for the callback, which older libraries give no context */

static time_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static int on_progress(client_type *client, long done, long all)
{
    (void)client;
    if (now() >= running->deadline) {
        if (!running->too_long)
            pp_error("debuginfod: %s not fetched within %d s", running->name, MOST_SECONDS);
        running->too_long = true;
        return 1;
    }
    if (all > 0)
        pp_progress("debuginfod: fetching %s, %ld of %ld", running->name, done, all);
    else
        pp_progress("debuginfod: fetching %s", running->name);
    return 0;
}

struct pp_debuginfod *pp_debuginfod_begin(void)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    void *library = servers && *servers ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return NULL;
    struct pp_debuginfod *client = pp_alloc(1, sizeof *client);
    client_type *(*begin)(void);
    void (*set_progress)(client_type * client, progress_function * function);
    /* POSIX: what dlsym gives may be a function. */
    *(void **)&begin = dlsym(library, "debuginfod_begin");
    *(void **)&set_progress = dlsym(library, "debuginfod_set_progressfn");
    *(void **)&client->find = dlsym(library, "debuginfod_find_debuginfo");
    *(void **)&client->end = dlsym(library, "debuginfod_end");
    client->library = library;
    client->deadline = now() + MOST_SECONDS;
    if (begin && set_progress && client->find && client->end)
        client->client = begin();
    if (client->client) {
        set_progress(client->client, on_progress);
        return client;
    }
    pp_debuginfod_end(client);
    return NULL;
}

void pp_debuginfod_end(struct pp_debuginfod *client)
{
    if (!client)
        return;
    if (client->client)
        client->end(client->client);
    dlclose(client->library);
    free(client);
}

char *pp_debuginfod_fetch(struct pp_debuginfod *client, const char *build_id, const char *name)
{
    char *path = NULL;
    if (client->too_long)
        return NULL;
    client->name = name;
    running = client;
    int descriptor = client->find(client->client, (const unsigned char *)build_id, 0, &path);
    running = NULL;
    if (descriptor >= 0)
        close(descriptor);
    return descriptor >= 0 ? path : NULL;
}
