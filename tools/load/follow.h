/* The logs of the command line, read as they grow: what has been read is not read again. */
#ifndef PT_PROFILE_FOLLOW_H
#define PT_PROFILE_FOLLOW_H

#include "../base/numbers.h"
#include "../profile/model.h"
#include "files.h"

struct pt_source;

struct pt_follow {
    struct pt_load_request request;
    uint64_t keep_ns;           /* samples not older than that keep their interval (request.h: timed_from_ns) */
    struct pt_profile *profile; /* its samples are those not yet taken out */
    uint32_t generation;        /* counts the profiles: another run has begun, all numbers are new */
    char *run;                  /* of directories: which one is read; NULL until there is one */
    uint64_t size, read;        /* bytes there are, and bytes of them read */
    uint32_t unusable;          /* logs that cannot be read */
    bool fell_back;             /* to where the library writes when it cannot write to the default */

    struct pt_source *sources;
    uint32_t source_count, source_capacity;
    struct pt_index index; /* of sources, by path */
    char *data;            /* what is being read */
};

/* Of the request: paths, runs and processes; all their samples. The caller ends it with pt_follow_free. */
struct pt_follow *pt_follow_new(const struct pt_load_request *request, uint64_t keep_ns);

/* Looks for new files and reads on, for about so many ns; true when all that is there has been read. */
bool pt_follow_read(struct pt_follow *follow, uint64_t at_most_ns);

/* Whether the process may still run: it has not said that it ended, and if it ran here, it is there or wrote lately. */
bool pt_follow_is_alive(const struct pt_follow *follow, uint32_t process, uint64_t now_unix_ns);

void pt_follow_free(struct pt_follow *follow);

#endif
