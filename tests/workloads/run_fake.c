/* Loads the library of its first argument and has it start, as a program does that embeds Python. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void (*initialize)(void);
    *(void **)&initialize = library ? dlsym(library, "Py_Initialize") : NULL;
    if (!initialize) {
        fprintf(stderr, "run_fake: %s\n", dlerror());
        return 1;
    }
    initialize();
    return 0;
}
