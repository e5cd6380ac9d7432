/* A gzip stream, compressed by as many threads as there are processors: in pieces, each by itself. Name and time are
 * left out, and pieces have the same size everywhere: equal input gives equal bytes. */
#ifndef PP_EXPORT_GZIP_H
#define PP_EXPORT_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A large one is compressed less, but in a tenth of the time. */
struct pp_gzip;
struct pp_gzip *pp_gzip_new(FILE *out, bool large);
void pp_gzip_append(struct pp_gzip *gzip, const void *data, size_t length);
/* The same without a copy: room for `most` bytes, then how many of them have been written. */
void *pp_gzip_room(struct pp_gzip *gzip, size_t most);
void pp_gzip_filled(struct pp_gzip *gzip, size_t length);
/* Ends the stream and frees it. */
void pp_gzip_end(struct pp_gzip *gzip);

#endif
