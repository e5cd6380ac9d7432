/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_word.h"
#include "../base/process.h"
#include "safe_read.h"

#define KEYS_IN_BLOCK 32
#define KEYS_MAX      1024

/* glibc's dtv_t; entry 0 holds the generation. */
struct dtv_entry {
    uintptr_t block, to_free;
};

/* glibc's struct pthread_key_data. */
struct key_data {
    uintptr_t sequence, value;
};

/* Returns the thread's block of a module, 0 if none. async-signal-safe. */
static uintptr_t dynamic_block(uint64_t module, uintptr_t thread_pointer)
{
    const struct dtv_entry *dtv = *(const struct dtv_entry *const *)(thread_pointer + PP_DTV_IN_TCB);
    if (!dtv || module > dtv[PP_DTV_LENGTH_ENTRY].block)
        return 0;
    /* the check is also for a thread that is replacing its DTV: fs:8 may then point to freed memory */
    uintptr_t block = dtv[module].block;
    return block != PP_DTV_UNALLOCATED && pp_plausible(block) ? block : 0;
}

/* As glibc's pthread_getspecific, but it also returns a value that has outlived its key. async-signal-safe. */
static uintptr_t value_of_key(uintptr_t place, uintptr_t thread_pointer)
{
    uint32_t created = pp_u32((const void *)place, 0), key = pp_u32((const void *)place, sizeof created);
    const struct key_data *first = (const struct key_data *)(thread_pointer + PP_DESCRIPTOR_SPECIFIC);
    if (!created || key >= KEYS_MAX)
        return 0;
    if (key < KEYS_IN_BLOCK)
        return first[key].value;
    const uintptr_t *blocks = (const uintptr_t *)(first + KEYS_IN_BLOCK);
    struct key_data data;
    uintptr_t address = blocks[key / KEYS_IN_BLOCK] + key % KEYS_IN_BLOCK * sizeof data;
    return pp_safe_read(pp_sys_getpid(), &data, address, sizeof data) ? data.value : 0;
}

uintptr_t pp_tls_address(const struct pp_tls_word *word, uintptr_t thread_pointer)
{
    uintptr_t block = thread_pointer;
    if (thread_pointer && word->kind == PP_TLS_DYNAMIC)
        block = dynamic_block(word->module, thread_pointer);
    else if (word->kind != PP_TLS_FIXED)
        return 0;
    return block ? block + (uintptr_t)word->offset : 0;
}

bool pp_tls_copy(const struct pp_tls_word *word, uintptr_t thread_pointer, uintptr_t *value)
{
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    uintptr_t block = thread_pointer;
    if (word->kind == PP_TLS_DYNAMIC) {
        const struct dtv_entry *dtv;
        struct dtv_entry length, entry;
        if (!pp_safe_read(pid, &dtv, thread_pointer + PP_DTV_IN_TCB, sizeof dtv) || !pp_plausible((uintptr_t)dtv) ||
            !pp_safe_read(pid, &length, (uintptr_t)(dtv + PP_DTV_LENGTH_ENTRY), sizeof length) ||
            word->module > length.block || !pp_safe_read(pid, &entry, (uintptr_t)(dtv + word->module), sizeof entry) ||
            entry.block == PP_DTV_UNALLOCATED || !pp_plausible(entry.block))
            return false;
        block = entry.block;
    } else if (word->kind != PP_TLS_FIXED) {
        return false;
    }
    return pp_safe_read(pid, value, block + (uintptr_t)word->offset, sizeof *value);
}

/* async-signal-safe. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer)
{
    uintptr_t block;
    if (!thread_pointer)
        return 0;
    switch (word->kind) {
    case PP_TLS_FIXED:
        return *(const uintptr_t *)(thread_pointer + (uintptr_t)word->offset);
    case PP_TLS_DYNAMIC:
        block = dynamic_block(word->module, thread_pointer);
        return block ? *(const uintptr_t *)(block + (uintptr_t)word->offset) : 0;
    case PP_TLS_KEY:
        return value_of_key((uintptr_t)__atomic_load_n(&word->offset, __ATOMIC_RELAXED), thread_pointer);
    default:
        return 0;
    }
}
