/* Preloaded in front of the profiler: a thread that asks what is loaded stays in there for long, with the loader's
 * lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

typedef int callback(struct dl_phdr_info *, size_t, void *);

struct call {
    callback *callback;
    void *argument;
};

static int slowly(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct call *call = argument;
    int result = call->callback(info, size, call->argument);
    if (result)
        usleep(800000);
    return result;
}

int dl_iterate_phdr(callback *callback, void *argument)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct call call = {callback, argument};
    return real(slowly, &call);
}
