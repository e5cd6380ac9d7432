/* Writers of profiles for other tools: one file per format. */
#ifndef PP_EXPORT_H
#define PP_EXPORT_H

#include <stdio.h>

#include "../profile/model.h"

struct pp_export_options {
    bool samples; /* weight is the number of samples, not CPU nanoseconds */
    bool lines, threads, processes, gil;
};

/* Writes the profile; the same profile gives the same bytes. Errors of the stream are left for the caller to see. */
typedef void pp_exporter(struct pp_profile *profile, const struct pp_export_options *options, FILE *out);

/* Stacks as text, "root;…;leaf weight", sorted. */
pp_exporter pp_export_collapsed;

/* profile.proto of google/pprof, gzipped. */
pp_exporter pp_export_pprof;

/* speedscope's own JSON: a profile for each thread. */
pp_exporter pp_export_speedscope;

/* A flame graph as a picture. */
pp_exporter pp_export_svg;

/* What pstats.Stats() of every Python loads. */
pp_exporter pp_export_pstats;

/* For kcachegrind and callgrind_annotate. */
pp_exporter pp_export_callgrind;

/* What `perf script` prints. The profile should keep intervals. */
pp_exporter pp_export_perf_script;

/* The Firefox Profiler's processed format. The profile should keep intervals. */
pp_exporter pp_export_firefox;

/* ProfilesData of OpenTelemetry. */
pp_exporter pp_export_otlp;

#endif
