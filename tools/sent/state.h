/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server has of the logs of a directory, in a file there: the logs are the spool, and this says how far it was
 * sent. A file each for target and run.
 *
 * Of a log that the state names, the server has what precedes byte `base`. Of other logs it has what ended
 * PT_PUSH_LATE_NS before until_unix_ns. While windows are sent, their batch is what the logs have from `base` to
 * `read`, in the time from batch_from_ns to batch_to_ns: the server has what of this ended before until_unix_ns. So
 * after a crash the same windows are sent.
 */
#ifndef PT_SENT_STATE_H
#define PT_SENT_STATE_H

#include <stdbool.h>

#include "../load/follow.h"

/* An interval is in its log, and read, so long after its end at most: what a disk may keep a writer waiting. */
#define PT_PUSH_LATE_NS UINT64_C(60000000000)

struct pt_push_file {
    char *name;
    uint64_t base, read, inode; /* of another inode: a compacted file, of which only times say what was sent */
};

struct pt_push_count {
    uint64_t windows, cpu_ns;
};

struct pt_push_state {
    char *target, *run;                  /* run NULL: all */
    uint64_t until_unix_ns;              /* 0: nothing is known to have been sent */
    uint64_t batch_from_ns, batch_to_ns; /* 0: all was sent */
    struct pt_push_count sent, refused, expired;
    uint64_t removed, removed_bytes; /* logs that were removed before they were sent; what was not sent of them */
    uint64_t success_unix_ns, error_unix_ns; /* of the last ones; 0: there was none */
    char *error;
    PT_TABLE_OF(struct pt_push_file) files;
};

/* Reads the text of a state. Returns false if it is damaged; *state is then empty. It starts as {0};
 * pt_push_state_free ends it. */
bool pt_push_state_parse(struct pt_push_state *state, const char *text);
void pt_push_state_append(struct pt_buffer *text, const struct pt_push_state *state);

/* Returns whether the server, which has what ended before unix_ns, has all of a log that was last written at this time,
 * and the state need not name it. */
bool pt_push_is_settled(uint64_t written_unix_ns, uint64_t unix_ns);
/* Sets the files to those that are followed, with all that was read as `read` and, if it was sent, as `base`. Their
 * names are those in the directory. */
void pt_push_state_note(struct pt_push_state *state, const struct pt_follow *follow, const char *directory, bool sent);
/* Returns the name of a file in the directory; of others their path. */
const char *pt_push_name(const char *directory, const char *path);

/* Returns the file's entry, adding one if there is none. */
struct pt_push_file *pt_push_state_file(struct pt_push_state *state, const char *name);
/* Returns NULL if there is none. */
const struct pt_push_file *pt_push_state_find(const struct pt_push_state *state, const char *name);
/* Returns whether the server has all of this file, and what is being sent is nothing of it. If the clock was set back
 * since the state was written, times say nothing of files that it does not name. */
bool pt_push_state_has(const struct pt_push_state *state, const char *name, const struct stat *status,
                       uint64_t now_unix_ns);
void pt_push_state_forget_files(struct pt_push_state *state);
void pt_push_state_free(struct pt_push_state *state);

/* Reads the state of this target and run; of what cannot be read, after a message, the previous state. Without both it
 * is empty but for the target and the run. */
void pt_push_state_load(struct pt_push_state *state, const char *directory, const char *target, const char *run);
/* Replaces the file. Returns 0 or an errno. */
int pt_push_state_save(const struct pt_push_state *state, const char *directory);
/* Removes the file: all of a run that has ended was sent. */
void pt_push_state_remove(const struct pt_push_state *state, const char *directory);

/* Keeps other pushers of the directory from the target. Returns a descriptor, which the process keeps open, or -1 with
 * errno: EWOULDBLOCK if another one has it, then *pid is its pid. */
int pt_push_lock(const char *directory, const char *target, const char *run, long *pid);

/* Returns whether a pusher sends to the target now, of the state's run or, like the state, of all; then *pid is its
 * pid, 0 if that is not known. */
bool pt_push_is_on(const char *directory, const struct pt_push_state *state, long *pid);

/* May take the state; NULL: it is there, at this path, but damaged or another user's. */
typedef void pt_push_each(void *data, struct pt_push_state *state, const char *path);
/* Calls each() with every state in the directory. Returns their number. */
uint32_t pt_push_each_state(const char *directory, pt_push_each *each, void *data);

/* Appends when the target was last reached, its last error, and what was sent and lost, as a sentence. */
void pt_push_state_describe(struct pt_buffer *text, const struct pt_push_state *state);

#endif
