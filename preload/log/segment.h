/*
 * One log file. No descriptor is held between writes: programs list, close and reuse descriptors. Flush thread only.
 */
#ifndef PP_LOG_SEGMENT_H
#define PP_LOG_SEGMENT_H

#include "../base/config.h"
#include "blocks.h"

#define PP_INSTANCE_LENGTH 32

struct pp_segment {
    char instance[PP_INSTANCE_LENGTH + 1];        /* of this process image */
    char parent_instance[PP_INSTANCE_LENGTH + 1]; /* of the process that forked it, or "" */
    char directory[PP_PATH_MAX];                  /* where files go: PYPROF_OUT or the fallback */
    char path[PP_PATH_MAX + 128];                 /* of the current file */
    uint64_t device, inode;                       /* of the current file */
    uint32_t user;                                /* effective, that made it */
    bool open;                                    /* the file exists and everything written to it so far is whole */
    uint32_t pythons;                             /* interpreters that it names */
    uint64_t period_ns;                           /* that it names */
    uint64_t command_line_sum;                    /* of the one that it names */
    uint32_t number;                              /* segments begun */
    uint32_t sequence;                            /* of the next block */
    uint64_t bytes;                               /* of all segments */
    uint64_t whole_bytes;                         /* of the current file: where its last whole append ended */
    uint64_t retry_at_ns, retry_after_ns;         /* CLOCK_MONOTONIC; after a failure, longer each time */
};

/* Puts file header and PROCESS block for a new file in front; the file itself is made by pp_segment_append. */
void pp_segment_begin(struct pp_segment *segment, struct pp_buffer *out);

/* Puts the PROCESS block of a new segment. */
void pp_segment_put_process(struct pp_segment *segment, struct pp_buffer *out);

/* Puts a PROCESS block with what has changed, if anything has: interpreters that were loaded since, another
 * period, in the first seconds another command line. */
void pp_segment_renew(struct pp_segment *segment, struct pp_buffer *out);

/* Whether the current file is still there as we left it: not removed, replaced, cut or added to by somebody, and of the
 * user that the process now is. */
bool pp_segment_is_intact(const struct pp_segment *segment);

/* Appends the bytes. False when it could not be done whole (said once on stderr): then the file ends
 * where it ended before (one that would be empty goes), the segment is closed, what it should have got is lost, and the
 * next one starts anew, RETRY_MAX_NS later at most. When the file no longer stands, nothing is said and the next one
 * starts at once. */
bool pp_segment_append(struct pp_segment *segment, const struct pp_buffer *bytes);

/* In the child of fork: the parent's file is none of ours any more. */
void pp_segment_after_fork(struct pp_segment *segment);

#endif
