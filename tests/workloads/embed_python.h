/* A libpython that a program loads: found by name, begun, and made to use CPU in functions of given names. */
#ifndef EMBED_PYTHON_H
#define EMBED_PYTHON_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct python {
    void *library;
    const char *path, *home, *name;
    void (*initialize)(int);
    int (*finalize)(void);
    int (*run)(const char *);
    int (*ensure)(void);
    void (*release)(int);
    void *(*save)(void);
    void (*restore)(void *);
    void *(*swap)(void *);
    void *(*new_interpreter)(void);
    void (*end_interpreter)(void *);
    void *(*get_state)(void);
    void *(*new_state)(void *);
    void (*clear_state)(void *);
    void (*delete_state)(void);
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "embed: %s\n", what);
    exit(1);
}

static void *symbol(const struct python *python, const char *name)
{
    void *address = dlsym(python->library, name);
    if (!address)
        die(dlerror());
    return address;
}

static void load(struct python *python, int flags)
{
    python->library = dlopen(python->path, RTLD_NOW | flags);
    if (!python->library)
        die(dlerror());
    *(void **)&python->initialize = symbol(python, "Py_InitializeEx");
    *(void **)&python->finalize = symbol(python, "Py_FinalizeEx");
    *(void **)&python->run = symbol(python, "PyRun_SimpleString");
    *(void **)&python->ensure = symbol(python, "PyGILState_Ensure");
    *(void **)&python->release = symbol(python, "PyGILState_Release");
    *(void **)&python->save = symbol(python, "PyEval_SaveThread");
    *(void **)&python->restore = symbol(python, "PyEval_RestoreThread");
    *(void **)&python->swap = symbol(python, "PyThreadState_Swap");
    *(void **)&python->new_interpreter = symbol(python, "Py_NewInterpreter");
    *(void **)&python->end_interpreter = symbol(python, "Py_EndInterpreter");
    *(void **)&python->get_state = symbol(python, "PyThreadState_Get");
    *(void **)&python->new_state = symbol(python, "PyThreadState_New");
    *(void **)&python->clear_state = symbol(python, "PyThreadState_Clear");
    *(void **)&python->delete_state = symbol(python, "PyThreadState_DeleteCurrent");
}

static void initialize(const struct python *python)
{
    setenv("PYTHONHOME", python->home, 1);
    int *no_site = dlsym(python->library, "Py_NoSiteFlag");
    if (no_site)
        *no_site = 1;
    python->initialize(0);
}

static __attribute__((noinline)) void burn_native(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

#define WITH_GIL    "sum([i * i for i in range(2000)])"
#define WITHOUT_GIL "__import__('zlib').crc32(bytes(1 << 22))"

/* Runs a Python function of this name. */
static void burn_by(const struct python *python, const char *name, const char *work)
{
    char text[512];
    snprintf(text, sizeof text,
             "import time\n"
             "def %s(seconds):\n"
             "    end = time.thread_time() + seconds\n"
             "    while time.thread_time() < end:\n"
             "        %s\n"
             "%s(0.25)\n",
             name, work, name);
    if (python->run(text) != 0)
        die("a Python function failed");
}

static void burn(const struct python *python, const char *name)
{
    burn_by(python, name, WITH_GIL);
}

#endif
