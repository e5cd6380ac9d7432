/* SPDX-License-Identifier: Apache-2.0 */
/* log/ writes the log: this header its files, tables.h what they define, blocks.h the encoding. No descriptor is held
 * between writes: programs list, close and reuse descriptors. Flush thread only. */
#ifndef PP_LOG_SEGMENT_H
#define PP_LOG_SEGMENT_H

#include "../base/config.h"
#include "blocks.h"

#define PP_INSTANCE_LENGTH 32

/* What holds by the control file (common/control.h) and PYPROF_START: PP_PROCESS_PAUSED and so on. All 0: neither says
 * anything. */
struct pp_control_obeyed {
    uint64_t paused, since_unix_ns, hz, written;
};

struct pp_segment {
    char instance[PP_INSTANCE_LENGTH + 1];        /* of this process image */
    char parent_instance[PP_INSTANCE_LENGTH + 1]; /* of the process that forked it, or "" */
    char directory[PP_PATH_MAX];                  /* of the files: PYPROF_OUT or the fallback */
    char path[PP_PATH_MAX + 128];                 /* of the current file */
    uint64_t device, inode;                       /* of the current file */
    uint32_t user;                                /* the effective user that made it */
    bool open;                                    /* the file exists, and all that was written to it is whole */
    uint32_t pythons;                             /* interpreters that it names */
    const char *clock;                            /* that it names */
    const struct pp_context_facts *contexts;      /* that it describes */
    uint64_t period_ns;                           /* that it names */
    struct pp_control_obeyed control;             /* that it names */
    uint64_t command_line_sum;                    /* of the command line that it names */
    uintptr_t arguments;                          /* where the command line is in memory */
    size_t arguments_size;                        /* with the environment after them; 0: unknown */
    uint64_t arguments_sum;
    uint32_t number;                      /* segments begun */
    uint32_t sequence;                    /* of the next block */
    uint64_t bytes;                       /* of all segments */
    uint64_t whole_bytes;                 /* of the current file: where its last whole append ended */
    uint64_t retry_at_ns, retry_after_ns; /* CLOCK_MONOTONIC; after a failure, longer each time */
};

/* Begins a file with its header and PROCESS block; the file itself is made by pp_segment_append. */
void pp_segment_begin(struct pp_segment *segment, struct pp_buffer *out);

/* Puts the PROCESS block of a new segment. */
void pp_segment_put_process(struct pp_segment *segment, struct pp_buffer *out);

/* Sets what a segment is to say of the control file. Also in the thread that starts profiling. */
void pp_segment_set_control(const struct pp_control_obeyed *obeyed);

/* Puts a PROCESS block if what it says of the process has changed; the command line counts in the first seconds. */
void pp_segment_renew(struct pp_segment *segment, struct pp_buffer *out);

/* Whether the current file is as we left it (not removed, replaced or changed) and of the process's present user. */
bool pp_segment_is_intact(const struct pp_segment *segment);

/* Appends the bytes. False when they could not be written whole (a warning, once): then the file is cut back to where
 * it ended (an empty file is removed), the segment is closed, the bytes are lost, and a new file is tried later, after
 * RETRY_MAX_NS at most. When the file is not intact, there is no warning and a new file begins at once. last: the
 * program ends; it is tried whatever failed before, and may take of the room that is left to the program. */
bool pp_segment_append(struct pp_segment *segment, const struct pp_buffer *bytes, bool last);

/* Runs in the child of fork: leaves the parent's file to the parent. */
void pp_segment_after_fork(struct pp_segment *segment);

#endif
