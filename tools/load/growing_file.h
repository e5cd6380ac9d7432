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
    uint64_t seen_size; /* when there was nothing more to take in */
    struct pt_growing *segment;
    uint64_t before;          /* bytes of earlier segments in the same file */
    uint64_t end;             /* bytes of this one that were read */
    uint64_t size;            /* of the file, when it was last read */
    uint64_t inode;           /* of the file that these bytes were read of */
    uint64_t written_unix_ns; /* as of then; 0: it is gone, or another file is in its place */
    uint64_t limit;           /* bytes from here on are not read now; UINT64_MAX: all are */
};

/* Reads into a profile, in one thread. */
struct pt_growing_reader {
    struct pt_load_request *request; /* the profile's */
    struct pt_profile *profile;
    uint64_t keep_ns;  /* samples of a log's last nanoseconds keep their interval */
    uint64_t deadline; /* on CLOCK_MONOTONIC */
    char *data;        /* buffer, made when it is needed; the caller frees */
};

/* Reads what the log has gained. Returns false if the time was over before its end. */
bool pt_growing_file_read(struct pt_growing_file *source, struct pt_growing_reader *reader);
/* Returns how many of its bytes need not be read again. */
uint64_t pt_growing_file_done(const struct pt_growing_file *source);
/* Returns how many bytes all blocks that were read have. */
uint64_t pt_growing_file_blocks(const struct pt_growing_file *source);
/* Makes the next read begin with the first byte. */
void pt_growing_file_rewind(struct pt_growing_file *source);

#endif
