/*
 * Loads the library of its first argument and has it start, as a program does that embeds Python. A second one is being
 * loaded by another thread when the first one starts, and starts then.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct library {
    char *path;
    void (*initialize)(void);
};

static void *load(void *argument)
{
    struct library *library = argument;
    void *handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    *(void **)&library->initialize = handle ? dlsym(handle, "Py_Initialize") : NULL;
    if (!library->initialize) {
        fprintf(stderr, "run_fake: %s\n", dlerror());
        exit(1);
    }
    return NULL;
}

static int is_path(struct dl_phdr_info *object, size_t size, void *path)
{
    (void)size;
    return strcmp(object->dlpi_name, path) == 0;
}

int main(int argc, char **argv)
{
    struct library first = {.path = argv[1]}, second = {.path = argv[2]};
    load(&first);
    if (argc == 2) {
        first.initialize();
        return 0;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, load, &second);
    while (!dl_iterate_phdr(is_path, second.path))
        usleep(1000);
    usleep(100000);
    first.initialize();
    pthread_join(thread, NULL);
    second.initialize();
    return 0;
}
