/* Preloaded in front of the profiler: a thread that asks what is loaded stays in there for long, with the loader's
 * lock. With SLOW_LOADER=all also where its callback asks for further objects, but only in the process that began and
 * not in its main thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define STAY_US 800000 /* the profiler gives up what it waits for after 500 ms */

typedef int callback(struct dl_phdr_info *, size_t, void *);

struct call {
    callback *callback;
    void *argument;
    bool stays;
};

static bool is_for_all;
static pid_t began;

__attribute__((constructor)) static void begin(void)
{
    is_for_all = getenv("SLOW_LOADER");
    began = getpid();
}

static int slowly(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct call *call = argument;
    int result = call->callback(info, size, call->argument);
    if (call->stays || (result && !is_for_all))
        usleep(STAY_US);
    call->stays = false;
    return result;
}

int dl_iterate_phdr(callback *callback, void *argument)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct call call = {callback, argument, is_for_all && getpid() == began && gettid() != began};
    return real(slowly, &call);
}
