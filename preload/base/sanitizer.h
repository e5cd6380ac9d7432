/* What an AddressSanitizer build (ASAN=1, SAN=1) must be told of the flush side: its memory is not malloc's, and its
 * thread was not made by the sanitizer's own pthread_create. Nothing in any other build. */
#ifndef PP_BASE_SANITIZER_H
#define PP_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define PP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PP_SANITIZED 1
#endif
#endif

#ifdef PP_SANITIZED
#include <sanitizer/asan_interface.h>
#define PP_ARENA_GAP ((size_t)32)
#else
#define PP_ARENA_GAP                      ((size_t)0)
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* First of all in a new thread: libc gives the child of a fork the stacks of the threads that are no more, with what
 * the sanitizer had noted of their frames. */
static inline void pp_sanitizer_clean_stack(size_t size)
{
    char *top = __builtin_frame_address(0);
    ASAN_UNPOISON_MEMORY_REGION(top - size, size);
}

#endif
