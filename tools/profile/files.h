/* Which log files the command line means. */
#ifndef PP_PROFILE_FILES_H
#define PP_PROFILE_FILES_H

#include "../cli.h"
#include "model.h"
#include "reader.h"

struct pp_file {
    char *path;
    char *run, *instance; /* of its first segment */
    uint64_t segment;     /* its number in the instance */
    uint64_t start_unix_ns, size;
    bool named;    /* on the command line, not found in a directory */
    bool foreign;  /* another user may have planted it (is_foreign) */
    bool fallback; /* found where processes write that cannot write their directory */
    uint32_t owner;
};

struct pp_files {
    struct pp_file *items;
    uint32_t count, capacity;
    char *closed;      /* a fallback directory that cannot be read; NULL: none */
    uint32_t unusable; /* in directories */
    struct {
        uint32_t count;
        char *path;                 /* of one of them */
    } reasons[PP_READ_VERSION + 1]; /* by enum pp_read_result; PP_READ_OK: they cannot be opened */
};

/* Adds the files of the command line: files, what directories hold, PYPROF_OUT or ./pyprof.out when there is none.
 * False after a line on stderr when there is nothing to read. Starts as {0}; pp_files_free ends it whatever happened.
 */
bool pp_files_find(struct pp_files *files, const struct pp_cli *cli);

/* Keeps the files of the runs that were asked for: --run, --all, else of directories the latest. False after a line on
 * stderr when none is left. */
bool pp_files_choose(struct pp_files *files, const struct pp_cli *cli);

/* Adds a file when it is of use, else says on stderr why not if it was named: true when the others can be read. */
bool pp_files_add(struct pp_files *files, const char *path, bool named);

/* Appends how many files of directories are of no use, and why. */
void pp_files_append_unusable(struct pp_buffer *text, const struct pp_files *files);

/* Calls each with the path of every log in the directory, by name. Returns how many, -1 when it cannot be read. */
int pp_each_log(const char *directory, void (*each)(void *argument, const char *path), void *argument);

/* Where the library writes. The caller frees. */
char *pp_default_directory(void);

void pp_files_free(struct pp_files *files);

#endif
