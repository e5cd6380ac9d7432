/* The page before and after its data: made by tools/web/embed.sh. */
#ifndef PP_FLAME_PAGE_H
#define PP_FLAME_PAGE_H

#include <stddef.h>

extern const unsigned char pp_page_head[], pp_page_tail[];
extern const size_t pp_page_head_size, pp_page_tail_size;

#endif
