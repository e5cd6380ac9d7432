/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the characters of a str object to UTF-8. */
#ifndef PP_MERGE_RECORD_TEXT_H
#define PP_MERGE_RECORD_TEXT_H

#include "../capture/record.h"
#include <stddef.h>

/* Writes at most `room` bytes (16 or more), without a NUL, and returns their number. What was cut, or has no room, ends
 * with an ellipsis; what could not be read is "?". */
size_t pp_record_text_utf8(char *out, size_t room, const struct pp_record_text *text, const uint8_t *characters);

#endif
