/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the labels that the application has set. */
#ifndef PP_LABELS_APP_LABELS_H
#define PP_LABELS_APP_LABELS_H

#include "../capture/record.h"

#define PP_APP_LABELS_BYTES (PP_CONTEXT_TEXT_MAX + 2)

/* Writes the keys and values of "key=value;key2=value2", in which bytes may be percent-encoded (%3B), with a NUL after
 * each, and returns the length of that. The result is UTF-8: bytes that are not are "?". What is no pair is left out,
 * and the last pair of a text that was cut. */
uint32_t pp_app_labels(char out[PP_APP_LABELS_BYTES], const char *text, const struct pp_record_text *record);

#endif
