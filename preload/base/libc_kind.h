/* SPDX-License-Identifier: Apache-2.0 */
/* Says in which of the C libraries that we know the program runs, glibc or musl, and what each keeps where: in a
 * thread's descriptor, in the list of loaded objects and on the main thread's stack. */
#ifndef PP_BASE_LIBC_KIND_H
#define PP_BASE_LIBC_KIND_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct pp_libc_kind {
    const char *name;
    uint64_t own_signals; /* by which libc reaches every thread (setuid), as a mask: held back for ever, it hangs */
    bool undescribed;     /* its own code has no unwind information */
    uintptr_t ends[2];    /* where undescribed: its functions that end the process and a thread */
    /* Of a thread's descriptor. */
    uint16_t tid;
    uint16_t specific;              /* values of the first keys, or a pointer to the values of all */
    bool specific_by_pointer;       /* as musl has it, where nothing is between the values */
    uint16_t stack_top, stack_size; /* 0: not noted there. The descriptor itself is at the top of the stack */
    /* Of a DTV. */
    int8_t dtv;        /* distance from the thread pointer to its address */
    int8_t dtv_length; /* distance to the word that says how many entries follow entry 0 */
    uint8_t dtv_entry; /* bytes of an entry, which begins with the block */
    bool dtv_is_whole; /* a thread's DTV has every module's block, and none is freed while the thread lives */
};

/* glibc's until pp_libc_find has found another. Constant from then on. */
extern struct pp_libc_kind pp_libc_kind;

/* Finds out which libc it is, in a thread that libc has made; false if it is none that we know. At start. */
bool pp_libc_find(void);

/* Returns the address of the word where the kernel has put argc: above every frame of the main thread. 0: unknown. */
uintptr_t pp_libc_main_stack_top(void);

/* Returns an address above every frame of the stack of a thread with this descriptor; `sp` is on it. 0: unknown, as
 * where the stack is not libc's. Stores the lowest address where libc says it, else leaves it. The descriptor may be
 * gone. Normal context. */
uintptr_t pp_libc_stack_top(uintptr_t descriptor, uintptr_t sp, uintptr_t *low);

/* Returns the first of the loaded objects; NULL if the loader's list is not accessible. Takes no lock;
 * async-signal-safe. */
const struct link_map *pp_libc_objects(void);

#endif
