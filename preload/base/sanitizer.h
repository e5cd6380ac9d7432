/* SPDX-License-Identifier: Apache-2.0 */
/* Annotates the flush side for AddressSanitizer (ASAN=1, SAN=1): its memory is not malloc's, and its thread was not
 * made by the sanitizer's pthread_create. Does nothing in any other build. */
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

/* Must be the first call of a new thread: in the child of a fork, libc reuses the stacks of threads that are gone, with
 * what the sanitizer had noted of their frames. */
static inline void pp_sanitizer_clean_stack(size_t size)
{
    char *top = __builtin_frame_address(0);
    ASAN_UNPOISON_MEMORY_REGION(top - size, size);
}

#endif
