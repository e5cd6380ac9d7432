/* To be preloaded: an allocator whose free() unmaps at once, so that a late read of what was freed is a crash. With
 * slow_free, blocks of such a size are freed slowly: a signal comes right after. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE  4096u
#define SMALL 96u /* not worth pages of their own: never freed */

void slow_free(size_t from, size_t to);

struct header {
    void *base;
    size_t length, size;
    size_t own_pages;
};

static char small[64 << 20];
static size_t small_used, slow_from, slow_to;

static void *allocate(size_t size, size_t alignment)
{
    size_t length = (size + alignment + sizeof(struct header) + PAGE - 1) & ~(size_t)(PAGE - 1);
    char *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t address = ((uintptr_t)base + sizeof(struct header) + alignment - 1) & ~(alignment - 1);
    ((struct header *)address)[-1] = (struct header){base, length, size, 1};
    return (void *)address;
}

void *malloc(size_t size)
{
    size_t with_header = (size + sizeof(struct header) + 15) & ~(size_t)15;
    if (size > SMALL)
        return allocate(size, 16);
    size_t at = __atomic_fetch_add(&small_used, with_header, __ATOMIC_RELAXED);
    if (at + with_header > sizeof small)
        return allocate(size, 16);
    struct header *header = (struct header *)(small + at);
    header->size = size;
    return header + 1;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void slow_free(size_t from, size_t to)
{
    slow_from = from;
    slow_to = to;
}

void free(void *block)
{
    if (!block || !((struct header *)block)[-1].own_pages)
        return;
    struct header header = ((struct header *)block)[-1];
    munmap(header.base, header.length);
    if (header.size < slow_from || header.size >= slow_to)
        return;
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 15000000);
}

void *realloc(void *block, size_t size)
{
    void *moved = malloc(size);
    if (block && moved) {
        size_t before = ((struct header *)block)[-1].size;
        memcpy(moved, block, before < size ? before : size);
        free(block);
    }
    return moved;
}

void *memalign(size_t alignment, size_t size)
{
    return allocate(size, alignment < 16 ? 16 : alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *block)
{
    return block ? ((struct header *)block)[-1].size : 0;
}
