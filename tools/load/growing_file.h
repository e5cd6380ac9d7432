/* SPDX-License-Identifier: Apache-2.0 */
/* One growing log, read portion by portion. */
#ifndef PT_LOAD_GROWING_FILE_H
#define PT_LOAD_GROWING_FILE_H

#include "../model/model.h"

struct pt_growing_file {
    char *path;
    uint32_t file;      /* its number in the files, if it is usable */
    bool named, usable; /* not usable: no log, or not yet */
    bool given_up;
    bool in_order;      /* it is not read beside others: they have parts of its process */
    bool released;      /* all was read, long after it was written: its tables are gone */
    uint64_t seen_size; /* when there was nothing more to take in */
    int descriptor;     /* + 1, while a part is for later: another file may take its place; 0: it is not open */
    struct pt_growing *segment;
    uint64_t before;                             /* bytes of earlier segments in the same file */
    uint64_t end;                                /* bytes of this one that were read */
    uint64_t size, written_unix_ns, inode_there; /* of the file, when it was last found or opened; 0: it is gone */
    uint64_t inode;                              /* of the file that these bytes were read of */
    uint64_t size_before;                        /* when directories were read the time before */
    /* What counts, if not all of it does (pt_follow_begin). */
    uint64_t from;  /* bytes before do not */
    uint64_t limit; /* bytes from here on are not read now; UINT64_MAX: all are */
    bool timed;     /* nor do intervals that ended before since_unix_ns */
    uint64_t since_unix_ns;
    uint64_t next_unix_ns; /* end of the interval that it was read up to; 0: all is read */
    uint32_t portion;      /* read at a time, from what was taken in the last time */
};

struct stat;

/* Reads into a profile, in one thread. */
struct pt_growing_reader {
    struct pt_load_request *request; /* the profile's */
    struct pt_profile *profile;
    uint64_t keep_ns;  /* samples of a log's last nanoseconds keep their interval */
    uint64_t deadline; /* on CLOCK_MONOTONIC */
    char *data;        /* buffer, made when it is needed; the caller frees */
    /* Intervals that ended then or later are left; UINT64_MAX: none are (struct pt_growing_part). */
    uint64_t until_unix_ns, compacted_until_unix_ns;
};

/* Notes what the directory has; NULL: nothing, so far. */
void pt_growing_file_note(struct pt_growing_file *source, const struct stat *status);

/* Reads what the log has gained. Returns false if the time was over before its end. */
bool pt_growing_file_read(struct pt_growing_file *source, struct pt_growing_reader *reader);
/* Returns how many of its bytes need not be read again. */
uint64_t pt_growing_file_done(const struct pt_growing_file *source);
/* Returns how many bytes all blocks that were read have. */
uint64_t pt_growing_file_blocks(const struct pt_growing_file *source);
/* Frees the tables of a log that is not expected to grow. */
void pt_growing_file_release(struct pt_growing_file *source);
void pt_growing_file_end(struct pt_growing_file *source);
/* Makes the next read begin with the first byte. */
void pt_growing_file_rewind(struct pt_growing_file *source);

#endif
