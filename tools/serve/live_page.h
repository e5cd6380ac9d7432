/* SPDX-License-Identifier: Apache-2.0 */
/* The page at "/": made by tools/flame/web/embed.sh of tools/serve/web. */
#ifndef PT_SERVE_LIVE_PAGE_H
#define PT_SERVE_LIVE_PAGE_H

#include <stddef.h>

extern const unsigned char pt_live_head[];
extern const size_t pt_live_head_size;

#endif
