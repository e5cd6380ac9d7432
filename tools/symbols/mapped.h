/* SPDX-License-Identifier: Apache-2.0 */
/* Protects the program from files that another program writes while they are mapped, as a build or an upgrade does. */
#ifndef PT_SYMBOLS_MAPPED_H
#define PT_SYMBOLS_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The program calls this once, before files are mapped: where a watched file has become shorter, zeros are read instead
 * of SIGBUS. Other faults end the program as before. */
void pt_mapped_protect(void);

struct pt_mapped_file {
    char *path;
    struct stat status;
};

/* The files that one thread has mapped, one set at a time. Starts with pt_mapped_begin; pt_mapped_end ends it. */
struct pt_mapped {
    struct pt_mapped_file *items;
    uint32_t count, capacity;
};

void pt_mapped_begin(struct pt_mapped *mapped);

/* Notes a file and its status. Call before the file is mapped. */
void pt_mapped_watch(struct pt_mapped *mapped, const char *path, const struct stat *status);

/* Returns whether a file was cut or written since pt_mapped_begin: what was read may be of another build. A file that
 * was replaced is still as it was. */
bool pt_mapped_end(struct pt_mapped *mapped);

#endif
