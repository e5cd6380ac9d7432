/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what the kernel has copied for a sample, by pages. A system call takes as long for a page as for a word, and
 * one for many pages a third of what it takes for each of them: so the pages that the last samples needed are copied at
 * once. No copy outlives its sample, only the knowledge which pages are worth one. */
#ifndef PP_CAPTURE_OBJECT_COPIES_H
#define PP_CAPTURE_OBJECT_COPIES_H

#include "../arch/arch.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define PP_COPY_PAGE   PP_PAGE_MIN
#define PP_COPY_WAYS   4u
#define PP_COPY_SETS   64u
#define PP_COPY_PAGES  (PP_COPY_SETS * PP_COPY_WAYS)
#define PP_COPY_MEMORY (56 * PP_COPY_PAGE)

struct pp_copied_page {
    uintptr_t page;     /* its address, 0: none */
    uint64_t sample;    /* in which it was copied */
    uint32_t used;      /* pp_object_copies.samples, when it was read last */
    int32_t at;         /* of its first byte in the memory, if that were copied */
    uint16_t low, high; /* between these it has been read, in this sample or before; */
    bool whole;         /* else the copy has no more than that */
};

struct pp_object_copies {
    unsigned count;       /* of pages that were copied singly in this sample; 0: there is no copy */
    unsigned fetch_after; /* when so many pages were copied singly, those of the last samples are copied in one call */
    bool fetched;         /* that was done */
    uint32_t bytes;       /* of the memory, in use */
    uint32_t samples;     /* that have copied anything */
    uint64_t sample;
    uintptr_t in_place; /* memory of the handler, which changes within a sample: it is not copied */
    size_t in_place_bytes;
    struct pp_copied_page pages[PP_COPY_PAGES];
    struct iovec wanted[PP_COPY_PAGES];
    uint8_t wanted_pages[PP_COPY_PAGES];
    uint8_t memory[PP_COPY_MEMORY];
};

/* fetch_after of a sample that copies all that it reads; and of a sample that reads most where it is: of a request of
 * Django or a task of asyncio it copies a page or two, so that more are those of a long chain. */
#define PP_FETCH_AFTER      1u
#define PP_FETCH_AFTER_MANY 4u

/* Copies from the copies, and makes those that are missing; false if it cannot be read. async-signal-safe. */
bool pp_object_copies_read(struct pp_object_copies *copies, int pid, uint8_t *to, uintptr_t address, size_t size);

#endif
