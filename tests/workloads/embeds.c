/* A program that takes Python in as a plug-in and throws it out again: embeds LIBPYTHON. Uses CPU in Python, then in
 * C, and prints whether the library is still mapped after dlclose. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void burn_after_python(void);
__attribute__((noinline)) void burn_after_python(void)
{
    double until = cpu() + 0.5;
    while (cpu() < until)
        for (volatile int i = 0; i < 100000; i++)
            ;
}

static int is_mapped(const char *name)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, name) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "embeds: %s\n", count == 2 ? dlerror() : "LIBPYTHON?");
        return 1;
    }
    void (*initialize)(void), (*finalize)(void);
    int (*run)(const char *);
    *(void **)&initialize = dlsym(library, "Py_Initialize");
    *(void **)&finalize = dlsym(library, "Py_Finalize");
    *(void **)&run = dlsym(library, "PyRun_SimpleString");
    if (!initialize || !finalize || !run)
        return 1;
    initialize();
    if (run("import time\n"
            "def burn_in_plugin():\n"
            "    until = time.process_time() + 0.5\n"
            "    while time.process_time() < until:\n"
            "        sum(range(1000))\n"
            "burn_in_plugin()\n") != 0)
        return 1;
    finalize();
    dlclose(library);
    puts(is_mapped(strrchr(arguments[1], '/') + 1) ? "mapped" : "gone");
    fflush(stdout);
    burn_after_python();
    return 0;
}
