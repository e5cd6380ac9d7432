/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes profiles of a directory smaller that are no longer written to: intervals of the last hour stay as they are,
 * those of the last day become minutes, older ones hours; names are deflated. A file is replaced at once by one of the
 * same name, owner, permissions and time (rename), so that a reader has the one or the other, and what is interrupted
 * has changed nothing. Only regular files of this user with names like the library's are touched, and none that a state
 * of `pyprof push` does not have as sent: of a compacted file only times say what was sent, and an interval of a minute
 * or an hour may be sent in part.
 */
#ifndef PT_COMPACT_H
#define PT_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/print.h"

struct pt_compacted {
    uint32_t files;         /* replaced */
    uint32_t failed;        /* to be replaced; messages say why */
    uint32_t left;          /* that cannot be: they are damaged, or hold several parts */
    uint32_t unsent;        /* left until a server has them */
    bool unreadable;        /* a state of `pyprof push` is: nothing is known to have been sent */
    char state[256];        /* name of the file that says that something was not, or cannot be read */
    uint32_t seen, recent;  /* profiles of this user; of them those of the last hour */
    uint32_t running;       /* of the older profiles, those of processes that run */
    uint64_t before, after; /* bytes of those that were replaced */
};

/* Compacts what is due in the directory at this time. Messages say what is in the way. Returns false if the directory
 * cannot be read or written, or the disk is full; what was done until then is sound. While another process compacts the
 * directory, nothing is done. */
bool pt_compact(const char *directory, uint64_t now_unix_ns, const struct pt_messages *messages,
                struct pt_compacted *compacted);

#endif
