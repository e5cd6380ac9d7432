/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip stream without name and time: equal input gives equal bytes. By ISA-L (gzip_isal.c) or by zlib (gzip_zlib.c),
 * which a program links that is to run without ISA-L. */
#ifndef PT_BASE_GZIP_H
#define PT_BASE_GZIP_H

#include <stdint.h>
#include <stdio.h>

#include "memory.h"

struct pt_gzip_stream;

struct pt_gzip {
    FILE *out;
    struct pt_gzip_stream *stream;
    struct pt_buffer text; /* not yet compressed; what is appended goes into the stream */
};

void pt_gzip_begin(struct pt_gzip *gzip, FILE *out);
/* Compresses the text if there is much of it: to be called often. */
void pt_gzip_flush(struct pt_gzip *gzip);
void pt_gzip_end(struct pt_gzip *gzip);

/* Returns gzip's CRC of what has the CRC `before` (0: nothing), followed by these bytes. */
uint32_t pt_crc32(uint32_t before, const void *bytes, size_t length);

#endif
