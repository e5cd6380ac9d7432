/* The formats of `pyprof export`: the one list that the command line, its help and the completions come from. */
#ifndef PP_EXPORT_FORMATS_H
#define PP_EXPORT_FORMATS_H

#include "export.h"

/* name, extensions, exporter, flags, what reads it (in lines) */
#define PP_FORMATS(X)                                                                                                  \
    X(collapsed, ".collapsed .folded .txt", pp_export_collapsed, PP_FORMAT_STACKS,                                     \
      "flamegraph.pl, speedscope,\ninferno")                                                                           \
    X(pprof, ".pb.gz .pprof", pp_export_pprof, PP_FORMAT_BINARY,                                                       \
      "go tool pprof, Pyroscope,\nParca; lines, threads,\nprocesses and GIL are always in")                            \
    X(svg, ".svg", pp_export_svg, PP_FORMAT_STACKS, "a flame graph as a picture")                                      \
    X(speedscope, ".speedscope.json .speedscope", pp_export_speedscope, 0, "speedscope.app")                           \
    X(firefox, ".firefox.json .firefox", pp_export_firefox, PP_FORMAT_TIMED,                                           \
      "profiler.firefox.com;\nwhen it ran is in it")                                                                   \
    X(pstats, ".pstats .prof", pp_export_pstats, PP_FORMAT_BINARY | PP_FORMAT_STACKS,                                  \
      "Python's pstats, snakeviz,\ngprof2dot; \"ncalls\": samples")                                                    \
    X(callgrind, ".callgrind", pp_export_callgrind, PP_FORMAT_STACKS, "kcachegrind, callgrind_annotate")               \
    X(perf, ".perf", pp_export_perf_script, PP_FORMAT_TIMED, "what reads perf script")                                 \
    X(otlp, ".otlp .otlp.pb", pp_export_otlp, PP_FORMAT_BINARY, "OpenTelemetry: ProfilesData,\nprofiles/v1development")

enum pp_format_flag {
    PP_FORMAT_BINARY = 1,
    PP_FORMAT_TIMED = 2,  /* shows when CPU time was used */
    PP_FORMAT_STACKS = 4, /* shows threads, processes and the GIL only when asked to */
};

struct pp_format {
    const char *name, *extensions; /* blanks between extensions */
    pp_exporter *write;
    unsigned flags;
    const char *readers;
};

/* NULL when there is none. */
const struct pp_format *pp_format_named(const char *name);
const struct pp_format *pp_format_of_path(const char *path);

/* Appends all of them in a line, with their extensions, or as a table for people. */
void pp_formats_line(struct pp_buffer *text);
void pp_formats_table(struct pp_buffer *text);

#endif
