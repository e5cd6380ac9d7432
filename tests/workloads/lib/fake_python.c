/*
 * What a libpython is to a reader of its symbols. Compiled with -DVERSION=0x030e00f0 (PY_VERSION_HEX) and
 * one of -DDEBUG_BUILD, -DSTACKREF_DEBUG, -DOFFSETS (an untrue _Py_DebugOffsets), or none (nothing is where it should
 * be). -DSLOW: the loader takes half a second to relocate it, and waits where only its functions are not bound yet.
 */
#include <pthread.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

#ifndef SLOW
EXPORT const unsigned long Py_Version = VERSION;
#endif
EXPORT void *PyType_Type[64] = {0, PyType_Type};
EXPORT void *PyFrame_Type[64] = {0, PyType_Type}, *PyCode_Type[64] = {0, PyType_Type}, *PyGen_Type[64],
            *PyCoro_Type[64], *PyAsyncGen_Type[64];
#ifdef OFFSETS
EXPORT unsigned long _PyRuntime[4096] = {0x7970677562656478, VERSION, 0};
#else
EXPORT unsigned long _PyRuntime[4096];
#endif

#ifdef DEBUG_BUILD
EXPORT void _Py_NegativeRefcount(void);
void _Py_NegativeRefcount(void)
{
}
#endif
#ifdef STACKREF_DEBUG
EXPORT void _Py_stackref_get_object(void);
void _Py_stackref_get_object(void)
{
}
#endif

EXPORT const char *Py_GetVersion(void);
EXPORT int Py_IsInitialized(void);
EXPORT void Py_Initialize(void);
EXPORT void _PyEval_EvalFrameDefault(void);
EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT void *_PyThreadState_GetCurrent(void);

#ifdef SLOW
#include "slowly_bound.c"

EXPORT const char *version_text(void);

const char *version_text(void)
{
    return "4.1.0 (fake)";
}

const char *Py_GetVersion(void)
{
    return version_text();
}
#else
const char *Py_GetVersion(void)
{
    return "fake";
}
#endif

int Py_IsInitialized(void)
{
    return (int)_PyRuntime[4095];
}

void _PyEval_EvalFrameDefault(void)
{
}

void *PyGILState_GetThisThreadState(void)
{
    return 0;
}

void *_PyThreadState_GetCurrent(void)
{
    return 0;
}

/* As an interpreter starts; then 100 ms of work. */
void Py_Initialize(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    clock_t end = clock() + CLOCKS_PER_SEC / 10;
    while (clock() < end)
        ;
    _PyRuntime[4095] = 1;
}
