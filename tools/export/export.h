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

#endif
