/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what a program may call in libpyprof.so, for C and C++.
 *
 * The functions are in a process only where the library is preloaded: nothing is linked with it, and a program asks at
 * run time whether they are there.
 *
 *     int (*set_labels)(const char *) = PYPROF_FIND(pyprof_labels);
 *     if (set_labels)
 *         set_labels("tenant=a;job=nightly");
 *
 * All are async-signal-safe. libpyprof(7) describes what becomes of them. */
#ifndef PYPROF_H
#define PYPROF_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the function, NULL where the library is not preloaded. Before glibc 2.34 programs need -ldl for it. The first
 * argument is RTLD_DEFAULT, which dlfcn.h has with _GNU_SOURCE only. */
#define PYPROF_FIND(function) (__extension__(__typeof__(&(function))) dlsym((void *)0, #function))

/* Returns 1 if this process is being profiled and is not paused. */
int pyprof_is_active(void);

/* Has samples show [paused] in place of stacks, in all threads and in the children of fork, until each pause is taken
 * back. Return 0. */
int pyprof_pause(void);
int pyprof_resume(void);

/* Has all samples written; waits two seconds at most. Returns 0. */
int pyprof_flush(void);

/* Sets what the calling thread's samples belong to from here on: "key=value;key2=value2", 256 bytes at most, a '%' or
 * ';' within a value being %25 and %3B. NULL: nothing. Labels of a context variable (the Python module's) come first; a
 * child of fork has none. Returns 0, -1 if the thread is not profiled. */
int pyprof_labels(const char *text);

/* Has the program's modules searched now for what samples belong to, and not with the next flush: labels of the Python
 * module count from the next sample on. Returns 0. */
int pyprof_find_contexts(void);

/* Counts a request that has ended, unless the process is paused: endpoint as `pyprof report --by endpoint` shows it,
 * NULL for none; cpu_ns: what it used, 0 if that is not known. Returns 0. */
int pyprof_request(const char *endpoint, uint64_t cpu_ns);

/* Say that a trace begins or ends that PYPROF_TRACES=...,only selects: where there was none for a minute, samples come
 * again. Return 0. */
int pyprof_traces_begin(void);
int pyprof_traces_end(void);

#ifdef __cplusplus
}
#endif

#endif
