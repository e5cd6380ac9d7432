/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the logs of a request as they grow, each byte once. */
#ifndef PT_LOAD_FOLLOW_H
#define PT_LOAD_FOLLOW_H

#include "../model/model.h"
#include "files.h"

struct pt_growing_file;
struct stat;

/* Sets what of a new log counts. Returns false if nothing of it does: it is asked for again. */
typedef bool pt_follow_begin(void *data, const struct stat *status, struct pt_growing_file *source);

struct pt_follow {
    struct pt_load_request request;
    uint64_t keep_ns;           /* younger samples keep their interval (timed_from_ns in request.h) */
    struct pt_profile *profile; /* holds the samples that were not taken out yet */
    bool own_only;              /* files that another user may have made up are left out (`foreign` in files.h) */
    uint32_t generation;        /* counts the profiles: changes when another run begins; all numbers are then new */
    char *run;                  /* the run that is read from directories; NULL until there is one */
    uint64_t size, read;        /* bytes in all logs, and how many of them were read */
    uint32_t unusable;          /* number of logs that cannot be read */

    PT_TABLE_OF(struct pt_growing_file) sources; /* by path */
    struct pt_files files;                       /* the usable ones of these */
    uint32_t joined;                             /* how many of them there were when their runs were joined */

    /* To count each thing once over years, and over several lives of the program. NULL: all is read, by several
     * threads if it is much. */
    pt_follow_begin *begin;
    void (*took)(void *data); /* takes the samples of request.whole, when there are thousands and at the end */
    void *data;               /* of both */
    /* Of what ended then or later nothing is read yet, of compacted logs and of others; UINT64_MAX: all is. */
    uint64_t until_unix_ns, compacted_until_unix_ns;
    uint64_t gone;       /* logs that were removed before they were read to their end */
    uint64_t gone_bytes; /* what was not read of them */
    bool stale;          /* a log has grown that was not expected to, or was replaced in the middle */
    uint64_t weight;     /* of what it knew when all had been read for the first time */
    uint32_t unopened;   /* logs that are there and cannot be opened; a message has said so */
    bool said_unopened;
};

/* Makes a reader for the request's paths, runs and processes; it keeps all their samples. The caller ends it with
 * pt_follow_free. */
struct pt_follow *pt_follow_new(const struct pt_load_request *request, uint64_t keep_ns);

/* Finds new files, and what was removed. */
void pt_follow_scan(struct pt_follow *follow);

/* Finds new files and reads on for about at_most_ns. Returns true when everything that is there was read. */
bool pt_follow_read(struct pt_follow *follow, uint64_t at_most_ns);

/* Returns the end of the first interval that was left for later, or the start of a log that was; 0: there is none. */
uint64_t pt_follow_next(const struct pt_follow *follow);

/* Returns whether it knows so much more than when it began that it is time to begin again with what still grows: twice
 * that, and `spare` nodes besides. */
bool pt_follow_is_stale(const struct pt_follow *follow, uint64_t spare);

/* Returns whether the process may still run: its log does not say that it ended, and if it ran on this machine, it
 * exists or wrote recently. */
bool pt_follow_is_alive(const struct pt_follow *follow, uint32_t process, uint64_t now_unix_ns);

void pt_follow_free(struct pt_follow *follow);

#endif
