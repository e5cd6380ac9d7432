/*
 * What start-up finds out about the interpreter that loads this, against what the interpreter itself says. For ctypes:
 * words_with_gil through PyDLL, words_without_gil through CDLL, in any thread; words_field, what the row says.
 */
#include "layout_fields.h"
#include "libc_functions.h"
#include "preload/python/find.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

int words_find(void);
int words_with_gil(void);
int words_without_gil(void);
int words_field(const char *name);
const struct pp_python *words_python(void);

static struct pp_python python;

static uintptr_t ask(const char *name)
{
    uintptr_t (*function)(void);
    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    return function ? function() : 0;
}

static uintptr_t attached(void)
{
    return pp_tls_read(&python.attached, pp_own_thread_pointer());
}

static uintptr_t bound(void)
{
    return pp_tls_read(&python.bound, pp_own_thread_pointer());
}

/* 0, or 1 with a line about what is wrong. */
EXPORT int words_find(void)
{
    static const char *const kinds[] = {"not found", "fixed", "dynamic", "key"};
    const char *why;
    find_libc_functions();
    if (!pp_python_find(&python, &why) || why) {
        printf("not ready: %s\n", why ? why : "no interpreter");
        return 1;
    }
    printf("%s: attached %s %lu %ld, bound %s %lu %ld, current %d, finalizing %d, collecting %d\n", python.version,
           kinds[python.attached.kind], (unsigned long)python.attached.module, (long)python.attached.offset,
           kinds[python.bound.kind], (unsigned long)python.bound.module, (long)python.bound.offset,
           python.layout.runtime.current, python.layout.runtime.finalizing, python.layout.interpreter.collecting);
    struct pp_python second;
    if (pp_python_find(&second, &why)) {
        printf("found twice\n");
        return 1;
    }
    return 0;
}

/* Returns a field of the row by its name, -1 if there is none. */
EXPORT int words_field(const char *name)
{
    for (unsigned i = 0; i < LAYOUT_FIELD_COUNT; i++)
        if (strcmp(layout_fields[i].name, name) == 0)
            return (int)layout_field(&python.layout, &layout_fields[i]);
    return -1;
}

EXPORT int words_with_gil(void)
{
    uintptr_t state = ask("PyThreadState_Get");
    if (python.layout.minor >= 12 && (!python.attached.kind || attached() != state)) {
        printf("attached: %lx, not %lx\n", (unsigned long)attached(), (unsigned long)state);
        return 1;
    }
    if (bound() != state) {
        printf("bound: %lx, not %lx\n", (unsigned long)bound(), (unsigned long)state);
        return 1;
    }
    return 0;
}

EXPORT int words_without_gil(void)
{
    uintptr_t state = ask("PyGILState_GetThisThreadState");
    if (attached() != 0 || bound() != state || !state) {
        printf("without the GIL: attached %lx, bound %lx, not 0 and %lx\n", (unsigned long)attached(),
               (unsigned long)bound(), (unsigned long)state);
        return 1;
    }
    return 0;
}
