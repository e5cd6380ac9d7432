/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of profiles for other tools, and the list of them: the command line, its help and the completions come from
 * it. Each format has a file of its own. */
#ifndef PT_EXPORT_H
#define PT_EXPORT_H

#include <stdio.h>

#include "../model/model.h"

struct pt_load_request;

struct pt_export_attribute {
    const char *key, *value;
};

/* A window of time, as servers of continuous profiles take it: CPU time only, merged over threads and processes. The
 * samples are those of the window, and have the labels that are shown. */
struct pt_export_window {
    uint64_t start_unix_ns, length_ns;
    const unsigned char *id;                      /* OTLP: 16 bytes */
    const struct pt_export_attribute *attributes; /* OTLP: of the resource */
    uint32_t attribute_count;
};

struct pt_export_options {
    const struct pt_export_window *window; /* pprof and OTLP; NULL: the profile as a whole */
    bool samples;                          /* the weight is the number of samples, not CPU nanoseconds */
    bool lines, threads, processes, gil;
    bool native; /* which native frames are shown was asked for */
    bool events; /* pprof: with the labels that OpenTelemetry's log records have */
};

/* Writes the profile; equal profiles give equal bytes. Errors of the stream are left for the caller to see. */
typedef void pt_exporter(struct pt_profile *profile, const struct pt_export_options *options, FILE *out);

enum pt_format_flag {
    PT_FORMAT_BINARY = 1,
    PT_FORMAT_TIMED = 2,         /* shows when CPU time was used: the profile should keep intervals */
    PT_FORMAT_STACKS = 4,        /* shows threads, processes and the GIL only when asked to */
    PT_FORMAT_ALL = 8,           /* has all native frames unless asked otherwise: its readers can hide them */
    PT_FORMAT_PYTHON = 16,       /* has none unless asked otherwise */
    PT_FORMAT_WHOLE_STACKS = 32, /* each sample has all its frames: many make a large file */
    PT_FORMAT_APART = 64,        /* has the samples of traces that were kept (PT_TRACES_APART) */
    PT_FORMAT_BESIDE = 128,      /* the same with PT_TRACES_BESIDE */
};

/* name, extension, exporter, flags, what reads it (in lines) */
#define PT_FORMATS(X)                                                                                                  \
    X("collapsed", ".collapsed", pt_export_collapsed_file, PT_FORMAT_STACKS, "flamegraph.pl, speedscope,\ninferno")    \
    X("pprof", ".pb.gz", pt_export_pprof, PT_FORMAT_BINARY | PT_FORMAT_ALL,                                            \
      "go tool pprof, Pyroscope,\nParca; lines, threads,\nprocesses and GIL are always in")                            \
    X("svg", ".svg", pt_export_svg, PT_FORMAT_STACKS, "a flame graph as a picture")                                    \
    X("speedscope", ".speedscope.json", pt_export_speedscope, PT_FORMAT_TIMED | PT_FORMAT_WHOLE_STACKS,                \
      "speedscope.app")                                                                                                \
    X("firefox", ".firefox.json", pt_export_firefox, PT_FORMAT_TIMED | PT_FORMAT_ALL,                                  \
      "profiler.firefox.com;\nwhen it ran is in it")                                                                   \
    X("pstats", ".pstats", pt_export_pstats, PT_FORMAT_BINARY | PT_FORMAT_STACKS | PT_FORMAT_PYTHON,                   \
      "Python's pstats, snakeviz,\ngprof2dot; \"ncalls\": samples")                                                    \
    X("callgrind", ".callgrind", pt_export_callgrind, PT_FORMAT_STACKS, "kcachegrind, callgrind_annotate")             \
    X("perf", ".perf", pt_export_perf_script, PT_FORMAT_TIMED, "what reads perf script")                               \
    X("otlp", ".otlp", pt_export_otlp, PT_FORMAT_BINARY | PT_FORMAT_APART,                                             \
      "OpenTelemetry: ProfilesData,\nprofiles/v1development")                                                          \
    X("otel-logs", ".otel-logs", pt_export_otel_logs,                                                                  \
      PT_FORMAT_BINARY | PT_FORMAT_ALL | PT_FORMAT_TIMED | PT_FORMAT_BESIDE,                                           \
      "OpenTelemetry: LogsData,\npprof in log records")

#define PT_DECLARE_EXPORTER(name, extension, write, ...) pt_exporter write;
PT_FORMATS(PT_DECLARE_EXPORTER)
pt_exporter pt_export_collapsed; /* the stacks alone */

struct pt_format {
    const char *name, *extension;
    pt_exporter *write;
    unsigned flags; /* enum pt_format_flag */
    const char *readers;
};
extern const struct pt_format pt_formats[];
extern const size_t pt_format_count;

/* Returns NULL when there is none. */
const struct pt_format *pt_format_named(const char *name);
const struct pt_format *pt_format_of_path(const char *path);

/* Has the request load what the format shows with these options. */
void pt_format_request(const struct pt_format *format, const struct pt_export_options *options,
                       struct pt_load_request *request);

/* Appends all of them with their extension, a line each, or as a table for people. */
void pt_formats_list(struct pt_buffer *text);
void pt_formats_table(struct pt_buffer *text);

#endif
