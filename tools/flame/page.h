/* The page before and after its data: made by tools/web/embed.sh. */
#ifndef PT_FLAME_PAGE_H
#define PT_FLAME_PAGE_H

#include <stddef.h>

extern const unsigned char pt_page_head[], pt_page_tail[];
extern const size_t pt_page_head_size, pt_page_tail_size;

#endif
