/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the logs of a request as they grow, each byte once. */
#ifndef PT_LOAD_FOLLOW_H
#define PT_LOAD_FOLLOW_H

#include "../base/numbers.h"
#include "../model/model.h"
#include "files.h"

struct pt_growing_file;
struct stat;

/* Says how much of a log is read; of 0 nothing, not even whose it is. Logs that another user may have planted are left
 * out then. */
typedef uint64_t pt_follow_limit(void *data, const char *path, const struct stat *status);

struct pt_follow {
    struct pt_load_request request;
    uint64_t keep_ns; /* younger samples keep their interval (timed_from_ns in request.h) */
    /* Logs that nothing wrote to since, of no process that runs, are left out until they grow. */
    uint64_t since_unix_ns;
    struct pt_profile *profile; /* holds the samples that were not taken out yet */
    bool own_only;              /* files that another user may have made up are left out (`foreign` in files.h) */
    uint32_t generation;        /* counts the profiles: changes when another run begins; all numbers are then new */
    char *run;                  /* the run that is read from directories; NULL until there is one */
    uint64_t size, read;        /* bytes in all logs, and how many of them were read */
    uint32_t unusable;          /* number of logs that cannot be read */

    PT_TABLE_OF(struct pt_growing_file) sources; /* by path */
    struct pt_files files;                       /* the usable ones of these */
    pt_follow_limit *limit;                      /* NULL: all is read, by several threads if it is much; else by one */
    void *limit_data;
    uint32_t joined; /* how many of them there were when their runs were joined */
};

/* Makes a reader for the request's paths, runs and processes; it keeps all their samples. The caller ends it with
 * pt_follow_free. */
struct pt_follow *pt_follow_new(const struct pt_load_request *request, uint64_t keep_ns);

/* Finds new files and reads on for about at_most_ns. Returns true when everything that is there was read. */
bool pt_follow_read(struct pt_follow *follow, uint64_t at_most_ns);

/* Returns whether the process may still run: its log does not say that it ended, and if it ran on this machine, it
 * exists or wrote recently. */
bool pt_follow_is_alive(const struct pt_follow *follow, uint32_t process, uint64_t now_unix_ns);

void pt_follow_free(struct pt_follow *follow);

#endif
