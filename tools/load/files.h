/* Which log files a request means. */
#ifndef PT_PROFILE_FILES_H
#define PT_PROFILE_FILES_H

#include "../log/reader.h"
#include "../profile/model.h"
#include "../profile/request.h"

struct pt_file {
    char *path;
    char *run, *instance; /* of its first segment */
    uint64_t segment;     /* its number in the instance */
    uint64_t start_unix_ns, size;
    bool named;    /* a path of the request, not found in a directory */
    bool foreign;  /* another user may have planted it (is_foreign) */
    bool fallback; /* found where processes write that cannot write their directory */
    uint32_t owner;
};

struct pt_files {
    const struct pt_messages *messages; /* set by pt_files_find */
    struct pt_file *items;
    uint32_t count, capacity;
    char *closed;      /* a fallback directory that cannot be read; NULL: none */
    uint32_t unusable; /* in directories */
    struct {
        uint32_t count;
        char *path;                 /* of one of them */
    } reasons[PT_READ_VERSION + 1]; /* by enum pt_read_result; PT_READ_OK: they cannot be opened */
};

/* Adds the files that the request's paths stand for; without paths those of PYPROF_OUT or ./pyprof.out. False after a
 * message if there is nothing to read. Starts as {0}; pt_files_free ends it whatever happened. */
bool pt_files_find(struct pt_files *files, const struct pt_load_request *request);

/* Keeps the files of the runs that are asked for: of one id, all, else of directories the latest. False after a message
 * if none is left. */
bool pt_files_choose(struct pt_files *files, const struct pt_load_request *request);

/* Adds a file that is of use; of a named one that is not, a message says why. True if the other files can be read. */
bool pt_files_add(struct pt_files *files, const char *path, bool named);

/* Appends how many files of directories are of no use, and why. */
void pt_files_append_unusable(struct pt_buffer *text, const struct pt_files *files);

/* Calls each with the path of every log in the directory, by name. Returns how many, -1 when it cannot be read. */
int pt_each_log(const char *directory, void (*each)(void *argument, const char *path), void *argument);

/* Where the library writes. The caller frees. */
char *pt_default_directory(void);

/* Reads a whole file, or its first `most` bytes; NULL if that fails (errno says why). The caller frees. An empty file
 * gives size 0. */
void *pt_read_file(const char *path, size_t most, size_t *size);

void pt_files_free(struct pt_files *files);

#endif
