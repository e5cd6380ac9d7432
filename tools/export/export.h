/* Writers of profiles for other tools: one file per format. */
#ifndef PT_EXPORT_H
#define PT_EXPORT_H

#include <stdio.h>

#include "../profile/model.h"

struct pt_export_options {
    bool samples; /* weight is the number of samples, not CPU nanoseconds */
    bool lines, threads, processes, gil;
};

/* Writes the profile; the same profile gives the same bytes. Errors of the stream are left for the caller to see. */
typedef void pt_exporter(struct pt_profile *profile, const struct pt_export_options *options, FILE *out);

/* Stacks as text, "root;…;leaf weight", sorted. */
pt_exporter pt_export_collapsed;

/* profile.proto of google/pprof, gzipped. */
pt_exporter pt_export_pprof;

/* speedscope's own JSON: a profile for each thread. */
pt_exporter pt_export_speedscope;

/* A flame graph as a picture. */
pt_exporter pt_export_svg;

/* What pstats.Stats() of every Python loads. */
pt_exporter pt_export_pstats;

/* For kcachegrind and callgrind_annotate. */
pt_exporter pt_export_callgrind;

/* What `perf script` prints. The profile should keep intervals. */
pt_exporter pt_export_perf_script;

/* The Firefox Profiler's processed format. The profile should keep intervals. */
pt_exporter pt_export_firefox;

/* ProfilesData of OpenTelemetry. */
pt_exporter pt_export_otlp;

#endif
