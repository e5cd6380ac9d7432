/* The logs of the command line, read as they grow: what has been read is not read again. */
#ifndef PP_PROFILE_FOLLOW_H
#define PP_PROFILE_FOLLOW_H

#include "files.h"
#include "model.h"

struct pp_source;

struct pp_follow {
    const struct pp_cli *cli;
    uint64_t keep_ns;        /* samples not older than that keep their interval (model.h: apart_from_ns) */
    pp_wants_process *wants; /* NULL: all */
    void *wants_context;
    struct pp_profile *profile; /* its samples are those that nobody has taken out yet */
    uint32_t generation;        /* counts the profiles: another run has begun, all numbers are new */
    char *run;                  /* of directories: which one is read; NULL until there is one */
    uint64_t size, read;        /* bytes there are, and bytes of them read */
    uint32_t unusable;          /* logs that cannot be read */
    bool fell_back;             /* to where the library writes when it cannot write to the default */

    struct pp_source *sources;
    uint32_t source_count, source_capacity;
    struct pp_index index; /* of sources, by path */
    char *data;            /* what is being read */
};

/* cli must outlive it. The caller ends it with pp_follow_free. */
struct pp_follow *pp_follow_new(const struct pp_cli *cli, uint64_t keep_ns, pp_wants_process *wants, void *context);

/* Looks for new files and reads on, for about so many ns; true when all that is there has been read. */
bool pp_follow_read(struct pp_follow *follow, uint64_t at_most_ns);

/* Whether the process may still run: it has not said that it ended, and if it ran here, it is there or wrote lately. */
bool pp_follow_is_alive(const struct pp_follow *follow, uint32_t process, uint64_t now_unix_ns);

void pp_follow_free(struct pp_follow *follow);

uint64_t pp_clock_ns(int clock);

#endif
