/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the labels of pprof's samples. Those of a thread, a state or a label set are made once. */
#ifndef PT_EXPORT_PPROF_LABELS_H
#define PT_EXPORT_PPROF_LABELS_H

#include "frames.h"

/* Holds encoded labels by the number of what they come from; no data: not made yet. */
struct pt_encoded {
    struct pt_buffer *items;
    uint32_t capacity;
};

#define PT_PPROF_LABELS 4u

/* Starts with the first four set; pt_pprof_labels_free ends it. */
struct pt_pprof_labels {
    struct pt_profile *profile;
    struct pt_numbering *strings; /* of the file */
    bool timed;                   /* samples have the time when they were taken */
    bool events;                  /* labels are those of OpenTelemetry's log records */
    bool merged;                  /* samples have neither threads nor states */
    struct pt_encoded threads, label_sets, states;
    struct pt_buffer times;
    struct pt_buffer of_sample[PT_PPROF_LABELS];
};

/* Sets of_sample to the encoded labels of the sample, fields of its message; valid until the next call. */
void pt_pprof_labels_of(struct pt_pprof_labels *labels, const struct pt_sample *sample);
void pt_pprof_labels_free(struct pt_pprof_labels *labels);

#endif
