/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the PYPROF_ variables: their names, valid values and defaults. The library uses this before libc is ready (no
 * locale, no allocation), and `pyprof doctor` uses it to check a process's settings. */
#ifndef PP_COMMON_SETTINGS_H
#define PP_COMMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_HIGHEST_HZ      5000
#define PP_HIGHEST_TICK_HZ 1000 /* what ticks may be asked for: no kernel ticks more often */

#define PP_PPM_PER_PERCENT 10000
#define PP_TRACES_ALL      1000000000000000u   /* 15 digits after the point */
#define PP_TRACES_ONLY     ((uint64_t)1 << 63) /* nothing else is kept */
#define PP_DEFAULT_OUT     "pyprof.out"
#define PP_RUN_IS_NEW      '+' /* before the id in PYPROF_RUN: `pyprof run` made it, no profiled process has had it yet */

enum pp_setting {
    PP_SETTING_HZ,           /* samples per second of CPU time */
    PP_SETTING_MAX_OVERHEAD, /* parts per million of the CPU time */
    PP_SETTING_MAX_DISK,     /* bytes; 0: no limit */
    PP_SETTING_SIGNAL,       /* a signal number */
    PP_SETTING_UNWIND,       /* 1: libunwind, 0: rows */
    PP_SETTING_CLOCK,        /* enum pp_clock */
    PP_SETTING_VERBOSE,
    PP_SETTING_START,  /* 1: paused, until `pyprof ctl` says otherwise */
    PP_SETTING_TRACES, /* the part of traces that is selected, in units of 1 / PP_TRACES_ALL, and PP_TRACES_ONLY; 0: no
                          traces are kept */
    PP_SETTING_OUT,    /* PYPROF_OUT and PYPROF_RUN are text: pp_setting_read does not take them */
    PP_SETTING_RUN,
    PP_SETTING_COUNT,
};

enum pp_clock {
    PP_CLOCK_TICK, /* POSIX timers, which the kernel checks at its ticks */
    PP_CLOCK_PERF, /* perf events for each thread, and the ticks for its system calls */
    PP_CLOCK_AUTO, /* ticks; perf events for threads that wait often and can afford them, and for rates above the ticks'
                    */
};

extern const char *const pp_setting_names[PP_SETTING_COUNT];

/* Sets *value to what the text means, or to the default if the text is NULL, empty or wrong. Returns NULL, or for a
 * wrong text the rest of a sentence that begins with "NAME=TEXT": why it is wrong and what is used instead (static).
 * Not for settings that are text. */
const char *pp_setting_read(enum pp_setting setting, const char *text, uint64_t *value);

/* Returns the name, without SIG, of a signal that PYPROF_SIGNAL takes by name; NULL for another. */
const char *pp_setting_signal_name(int number);

/* Returns the highest value of the low 64 bits of a trace id that PYPROF_TRACES selects: one less than OpenTelemetry's
 * TraceIdRatioBased has as its bound, so that services agree. value: that of the setting, not 0. */
uint64_t pp_traces_highest(uint64_t value);

/* Returns whether a file system is too full for profiles: the last 5 %, at most 64 MiB, are left to the program, which
 * would fail without them. free_bytes: free for this user; all_bytes: the size, 0 if the file system does not say. */
bool pp_disk_is_full(uint64_t free_bytes, uint64_t all_bytes);

#endif
