/* To be preloaded: an allocator whose blocks end where their page ends, and whose free() unmaps at once: a late read of
 * what was freed is a crash, and so is one beyond the end. With slow_free, blocks of such a size are freed slowly: a
 * signal comes right after. With UNMAPPING_LATE in the environment all of this begins when pages_from is called, for
 * blocks of that size or more. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE  4096u
#define SMALL 96u /* not worth pages of their own: libc's */

void slow_free(size_t from, size_t to);
void pages_from(size_t size);
extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

struct header {
    void *base;
    size_t length, size;
    size_t own_pages;
};

static size_t pages_least = SMALL + 1, slow_from, slow_to;

__attribute__((constructor)) static void begin(void)
{
    if (getenv("UNMAPPING_LATE"))
        pages_least = SIZE_MAX;
}

void pages_from(size_t size)
{
    pages_least = size;
}

static void *allocate(size_t size, size_t alignment)
{
    size_t length = ((size + alignment + sizeof(struct header) + PAGE - 1) & ~(size_t)(PAGE - 1)) + PAGE;
    char *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + length - PAGE, PAGE, PROT_NONE) != 0) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t address = ((uintptr_t)base + length - PAGE - size) & ~(alignment - 1);
    ((struct header *)address)[-1] = (struct header){base, length, size, 1};
    return (void *)address;
}

void *malloc(size_t size)
{
    if (size >= pages_least)
        return allocate(size, 16);
    struct header *header = __libc_malloc(size + sizeof(struct header));
    if (!header)
        return NULL;
    *header = (struct header){.size = size};
    return header + 1;
}

void *calloc(size_t count, size_t size)
{
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void slow_free(size_t from, size_t to)
{
    slow_from = from;
    slow_to = to;
}

void free(void *block)
{
    if (!block)
        return;
    struct header header = ((struct header *)block)[-1];
    if (!header.own_pages) {
        __libc_free((struct header *)block - 1);
        return;
    }
    /* and the address is not used again */
    mmap(header.base, header.length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
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
