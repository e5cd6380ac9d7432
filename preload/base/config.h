/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the settings of this process, read once when profiling starts (preload/config.c), constant afterwards. */
#ifndef PP_BASE_CONFIG_H
#define PP_BASE_CONFIG_H

#include "../common/settings.h"
#include <stdbool.h>
#include <stdint.h>

#define PP_PATH_MAX      3072
#define PP_RUN_ID_LENGTH 32
#define PP_TRACES_TEXT   40
#define PP_SERVICE_TEXT  128

struct pp_config {
    char out[PP_PATH_MAX];          /* PYPROF_OUT, absolute */
    char run[PP_RUN_ID_LENGTH + 1]; /* PYPROF_RUN, or fresh: the same in all descendants */
    bool descends;                  /* a profiled process has passed PYPROF_RUN on to this one */
    uint64_t period_ns;             /* 1e9 / PYPROF_HZ */
    uint64_t max_disk;              /* PYPROF_MAX_DISK, bytes; 0: no limit */
    uint32_t max_overhead_ppm;      /* PYPROF_MAX_OVERHEAD, of the CPU time */
    int signal;                     /* PYPROF_SIGNAL */
    enum pp_clock clock;            /* PYPROF_CLOCK */
    bool libunwind;                 /* PYPROF_UNWIND */
    bool verbose;                   /* PYPROF_VERBOSE */
    bool starts_paused;             /* PYPROF_START */
    uint64_t traces;                /* PYPROF_TRACES; 0: none */
    bool traces_only;
    char traces_text[PP_TRACES_TEXT];
    char service[PP_SERVICE_TEXT]; /* the service's name, as OpenTelemetry's variables have it; "": they have none */
};

extern struct pp_config pp_config;

#endif
