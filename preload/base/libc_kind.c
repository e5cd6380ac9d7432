/* SPDX-License-Identifier: Apache-2.0 */
#include "libc_kind.h"
#include "../arch/arch.h"
#include "proc_file.h"
#include "safe_copy.h"
#include "syscalls.h"
#include <pthread.h>
#include <stdlib.h>

#define STAT_MAX             2048
#define STAT_START_STACK     28 /* of proc(5): where the kernel has put argc */
#define SIGNALS(first, last) (((uint64_t)1 << (last)) - ((uint64_t)1 << ((first)-1)))

/* Each libc has some of these and lacks the others. */
extern const uintptr_t *__libc_stack_end __attribute__((weak)); /* glibc */
extern struct r_debug _r_debug __attribute__((weak));           /* glibc */
extern struct r_debug *_dl_debug_addr __attribute__((weak));    /* musl */

struct pp_libc_kind pp_libc_kind = {
    .name = "glibc",
    .own_signals = SIGNALS(32, 33),
    .tid = PP_DESCRIPTOR_TID,
    .specific = PP_DESCRIPTOR_SPECIFIC,
    .dtv = PP_DTV_IN_TCB,
    .dtv_length = PP_DTV_LENGTH_ENTRY * 2 * (int)sizeof(uintptr_t),
    .dtv_entry = 2 * sizeof(uintptr_t), /* dtv_t: {block, to_free} */
};

static const struct pp_libc_kind musl = {
    .name = "musl",
    .own_signals = SIGNALS(32, 34),
    .undescribed = true,
    .tid = PP_MUSL_TID,
    .specific = PP_MUSL_SPECIFIC,
    .specific_by_pointer = true,
    .stack_top = PP_MUSL_STACK,
    .stack_size = PP_MUSL_STACK_SIZE,
    .dtv = PP_MUSL_DTV,
    .dtv_entry = sizeof(uintptr_t),
    .dtv_is_whole = true,
};

bool pp_libc_find(void)
{
    if (&__libc_stack_end || pp_libc_kind.undescribed)
        return true;
    uintptr_t own = (uintptr_t)pthread_self();
    if (!&_dl_debug_addr || *(const uintptr_t *)own != own || *(const int *)(own + PP_MUSL_TID) != pp_sys_gettid())
        return false;
    pp_libc_kind = musl;
    pp_libc_kind.ends[0] = (uintptr_t)exit;
    pp_libc_kind.ends[1] = (uintptr_t)pthread_exit;
    return true;
}

uintptr_t pp_libc_main_stack_top(void)
{
    char stat[STAT_MAX];
    uintptr_t top = 0;
    if (&__libc_stack_end)
        return (uintptr_t)__libc_stack_end;
    stat[pp_read_file("/proc/self/stat", stat, sizeof stat - 1)] = 0;
    for (const char *digit = pp_stat_field(stat, STAT_START_STACK); digit && *digit >= '0' && *digit <= '9'; digit++)
        top = top * 10 + (uintptr_t)(*digit - '0');
    return top;
}

uintptr_t pp_libc_stack_top(uintptr_t descriptor, uintptr_t sp, uintptr_t *low)
{
    uintptr_t top = descriptor, size = 0;
    if (pp_libc_kind.stack_top && (!pp_safe_copy(&top, descriptor + pp_libc_kind.stack_top, sizeof top) ||
                                   !pp_safe_copy(&size, descriptor + pp_libc_kind.stack_size, sizeof size)))
        return 0;
    if (top <= sp || (size && sp < top - size))
        return 0;
    if (size)
        *low = top - size;
    return top & ~(sizeof top - 1);
}

const struct link_map *pp_libc_objects(void)
{
    if (&_r_debug)
        return _r_debug.r_map;
    return &_dl_debug_addr && _dl_debug_addr ? _dl_debug_addr->r_map : NULL;
}
