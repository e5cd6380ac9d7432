/* A gzip stream without name and time: equal input gives equal bytes. */
#ifndef PT_BASE_GZIP_H
#define PT_BASE_GZIP_H

#include <stdio.h>

#include "memory.h"

struct isal_zstream;

struct pt_gzip {
    FILE *out;
    struct isal_zstream *stream;
    struct pt_buffer text; /* not yet compressed; what is appended goes into the stream */
};

void pt_gzip_begin(struct pt_gzip *gzip, FILE *out);
/* Compresses the text if there is much of it: to be called often. */
void pt_gzip_flush(struct pt_gzip *gzip);
void pt_gzip_end(struct pt_gzip *gzip);

#endif
