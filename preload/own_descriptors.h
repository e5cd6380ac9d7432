/*
 * The flush thread's own table of descriptors (close_range(2) with CLOSE_RANGE_UNSHARE, Linux 5.9): what it opens for a
 * write, a look at /proc or at a module has no number in the program's table. So the program never meets a descriptor
 * of ours, a limit that it has used up is not ours, a file that it closes is closed, and with one thread of its own its
 * system calls take the kernel's way for tables that nobody shares.
 * Without it (an older kernel, a seccomp filter that kills or that the program itself has put up, valgrind)
 * descriptors of ours are in the program's table for the time of a look or a write.
 */
#ifndef PP_OWN_DESCRIPTORS_H
#define PP_OWN_DESCRIPTORS_H

#include <stdbool.h>

/* Makes the system calls for such a table, but that nothing comes of it: in a child, to see whether a filter kills. */
void pp_own_descriptors_try(void);
/* The filters of the calling thread do not. One that comes later may. At start-up. */
void pp_own_descriptors_tried(void);

/* The calling thread leaves the program's table for an empty one, if one can be had. For a thread that never
 * again needs a descriptor of the program's by its number, while another one of the program lives: what is in a table
 * is closed with its last user. */
void pp_own_descriptors_begin(void);

/* Whether that thread has such a table. Any thread. */
bool pp_own_descriptors_there(void);
/* That thread ends, or is not there: in the child of fork. */
void pp_own_descriptors_end(void);

/* Descriptor `number` (below 10) of the program's main thread: that number itself in a thread which shares its table,
 * else a duplicate. Negative if it is not open or cannot be had. Any thread. */
int pp_program_descriptor(int number);
/* Gives back what pp_program_descriptor returned for `number`. */
void pp_program_descriptor_end(int descriptor);

#endif
