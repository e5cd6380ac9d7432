/* A gzip stream, compressed by as many threads as there are processors: in pieces, each by itself. Name and time are
 * left out, and pieces have the same size everywhere: equal input gives equal bytes. */
#ifndef PT_EXPORT_GZIP_H
#define PT_EXPORT_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A large one is compressed less, but in a tenth of the time. */
struct pt_gzip;
struct pt_gzip *pt_gzip_new(FILE *out, bool large);
void pt_gzip_append(struct pt_gzip *gzip, const void *data, size_t length);
/* The same without a copy: room for `most` bytes, then how many of them have been written. */
void *pt_gzip_room(struct pt_gzip *gzip, size_t most);
void pt_gzip_filled(struct pt_gzip *gzip, size_t length);
/* Ends the stream and frees it. */
void pt_gzip_end(struct pt_gzip *gzip);

#endif
