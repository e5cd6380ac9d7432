/* SPDX-License-Identifier: Apache-2.0 */
#include "object_copies.h"
#include "safe_read.h"

#define LINE         64u                  /* bytes: parts of pages are whole lines of the CPU's cache */
#define SAMPLES_KEPT 6u                   /* for which a page is fetched that is not read */
#define FETCH_MAX    (PP_COPY_MEMORY / 2) /* the rest is for what is missing */

_Static_assert(PP_COPY_PAGES <= UINT8_MAX + 1, "their numbers are bytes");

/* Returns the page's entry, or the entry to reuse for it, which was read longest ago. async-signal-safe. */
static struct pp_copied_page *entry_of(struct pp_object_copies *copies, uintptr_t page)
{
    uint64_t set = (page * 0x9E3779B97F4A7C15u >> 32) % PP_COPY_SETS;
    struct pp_copied_page *ways = &copies->pages[set * PP_COPY_WAYS], *oldest = &ways[copies->count % PP_COPY_WAYS];
    for (unsigned way = 0; way < PP_COPY_WAYS; way++) {
        if (ways[way].page == page)
            return &ways[way];
        if (copies->samples - ways[way].used > copies->samples - oldest->used)
            oldest = &ways[way];
    }
    return oldest;
}

static bool has(const struct pp_object_copies *copies, const struct pp_copied_page *entry, uintptr_t address,
                size_t size)
{
    uintptr_t offset = address % PP_COPY_PAGE;
    return entry->page == address - offset && entry->sample == copies->sample &&
           (entry->whole || (offset >= entry->low && offset + size <= entry->high));
}

/* Lists the pages that were read in the last samples; false if there are more than fit. *bytes: of the memory, in use
 * with them. async-signal-safe. */
static bool list_wanted(struct pp_object_copies *copies, uint32_t samples, uint32_t *count, uint32_t *bytes)
{
    bool fit = true;
    *count = 0;
    *bytes = copies->bytes;
    for (unsigned i = 0; i < PP_COPY_PAGES; i++) {
        struct pp_copied_page *entry = &copies->pages[i];
        uint32_t size = (uint32_t)(entry->high - entry->low);
        if (!entry->page || entry->low >= entry->high || entry->sample == copies->sample ||
            copies->samples - entry->used > samples)
            continue;
        if (*bytes + size > FETCH_MAX) {
            fit = false;
            continue;
        }
        copies->wanted[*count] = (struct iovec){(void *)(entry->page + entry->low), size};
        copies->wanted_pages[(*count)++] = (uint8_t)i;
        entry->at = (int32_t)(*bytes - entry->low);
        entry->whole = false;
        *bytes += size;
    }
    return fit;
}

/* Copies what the last samples read, as far as it is there. async-signal-safe. */
static void fetch(struct pp_object_copies *copies, int pid)
{
    uint32_t count, bytes, samples = SAMPLES_KEPT;
    copies->fetched = true;
    while (!list_wanted(copies, samples, &count, &bytes) && samples > 1)
        samples /= 2;
    struct iovec to = {copies->memory + copies->bytes, bytes - copies->bytes};
    long copied = count ? pp_sys_safe_copy(pid, &to, 1, copies->wanted, count) : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct pp_copied_page *entry = &copies->pages[copies->wanted_pages[i]];
        copied -= (long)copies->wanted[i].iov_len;
        if (copied < 0) { /* the kernel stops at what is not there any more */
            entry->page = 0;
            break;
        }
        entry->sample = copies->sample;
    }
    copies->bytes = bytes;
}

/* Copies a whole page. async-signal-safe. */
static bool copy_page(struct pp_object_copies *copies, int pid, struct pp_copied_page *entry, uintptr_t page)
{
    if (copies->bytes + PP_COPY_PAGE > sizeof copies->memory) { /* all that was copied is forgotten */
        copies->sample++;
        copies->bytes = 0;
    }
    if (entry->page != page)
        *entry = (struct pp_copied_page){
            .page = page, .used = copies->samples - SAMPLES_KEPT - 1, .low = PP_COPY_PAGE, .high = 0};
    copies->count++;
    entry->sample = 0;
    if (!pp_safe_read(pid, copies->memory + copies->bytes, page, PP_COPY_PAGE))
        return false;
    entry->sample = copies->sample;
    entry->at = (int32_t)copies->bytes;
    entry->whole = true;
    copies->bytes += PP_COPY_PAGE;
    return true;
}

/* Copies from one page. async-signal-safe. */
static bool read_in_page(struct pp_object_copies *copies, int pid, uint8_t *to, uintptr_t address, size_t size)
{
    uintptr_t offset = address % PP_COPY_PAGE, page = address - offset;
    struct pp_copied_page *entry = entry_of(copies, page);
    if (!has(copies, entry, address, size)) {
        if (!copies->fetched && copies->count >= copies->fetch_after) {
            fetch(copies, pid);
            entry = entry_of(copies, page);
        }
        if (!has(copies, entry, address, size) && !copy_page(copies, pid, entry, page))
            return false;
    }
    memcpy(to, copies->memory + (entry->at + (ptrdiff_t)offset), size);
    if (offset < entry->low)
        entry->low = (uint16_t)(offset & ~(uintptr_t)(LINE - 1));
    if (offset + size > entry->high)
        entry->high = (uint16_t)((offset + size + LINE - 1) & ~(uintptr_t)(LINE - 1));
    entry->used = copies->samples;
    return true;
}

bool pp_object_copies_read(struct pp_object_copies *copies, int pid, uint8_t *to, uintptr_t address, size_t size)
{
    if (address - copies->in_place < copies->in_place_bytes &&
        copies->in_place_bytes - (address - copies->in_place) >= size) {
        memcpy(to, (const void *)address, size);
        return true;
    }
    if (!copies->count) {
        copies->sample++;
        copies->samples++;
        copies->bytes = 0;
        copies->fetched = false;
    }
    while (size) {
        size_t left = PP_COPY_PAGE - address % PP_COPY_PAGE, part = size < left ? size : left;
        if (!read_in_page(copies, pid, to, address, part))
            return false;
        to += part;
        address += part;
        size -= part;
    }
    return true;
}
