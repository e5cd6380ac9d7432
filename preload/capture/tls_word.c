/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_word.h"
#include "../base/libc_kind.h"
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

/* Does what libc's pthread_getspecific does, but also returns a value that has outlived its key. async-signal-safe. */
static uintptr_t value_of_key(uintptr_t place, uintptr_t thread_pointer)
{
    uint32_t created = pp_u32((const void *)place, 0), key = pp_u32((const void *)place, sizeof created);
    const struct key_data *first = (const struct key_data *)(pp_pthread_of(thread_pointer) + pp_libc_kind.specific);
    if (!created || key >= KEYS_MAX)
        return 0;
    if (pp_libc_kind.specific_by_pointer) {
        const uintptr_t *values = *(const uintptr_t *const *)first;
        return values ? values[key] : 0;
    }
    if (key < KEYS_IN_BLOCK)
        return first[key].value;
    const uintptr_t *blocks = (const uintptr_t *)(first + KEYS_IN_BLOCK);
    struct key_data data;
    uintptr_t address = blocks[key / KEYS_IN_BLOCK] + key % KEYS_IN_BLOCK * sizeof data;
    return pp_safe_read(pp_sys_getpid(), &data, address, sizeof data) ? data.value : 0;
}

/* Returns where the address of a thread's DTV is. */
static const uintptr_t *dtv_of(uintptr_t thread_pointer)
{
    return (const uintptr_t *)(thread_pointer + (uintptr_t)(intptr_t)pp_libc_kind.dtv);
}

/* Copies a dynamic word; false if the thread has no block for it. *block: where the block is, 0: nowhere.
 * async-signal-safe. */
static bool copy_dynamic(const struct pp_tls_word *word, uintptr_t dtv, uintptr_t *block, uintptr_t *value)
{
    uintptr_t copied[2]; /* how many entries there are, the block */
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    struct iovec to = {copied, sizeof copied};
    struct iovec from[] = {{(void *)(dtv + (uintptr_t)(intptr_t)pp_libc_kind.dtv_length), sizeof *copied},
                           {(void *)(dtv + word->module * pp_libc_kind.dtv_entry), sizeof *copied}};
    *block = 0;
    if (!pp_plausible(dtv) || pp_sys_safe_copy(pid, &to, 1, from, 2) != sizeof copied || word->module > copied[0] ||
        copied[1] == PP_DTV_UNALLOCATED || !pp_plausible(copied[1]))
        return false;
    *block = copied[1];
    return pp_safe_read(pid, value, *block + (uintptr_t)word->offset, sizeof *value);
}

bool pp_tls_copy(const struct pp_tls_word *word, uintptr_t thread_pointer, uintptr_t *value)
{
    int pid = atomic_load_explicit(&pp_process.pid, memory_order_relaxed);
    uintptr_t dtv, block;
    if (word->kind == PP_TLS_DYNAMIC)
        return pp_safe_read(pid, &dtv, (uintptr_t)dtv_of(thread_pointer), sizeof dtv) &&
               copy_dynamic(word, dtv, &block, value);
    return word->kind == PP_TLS_FIXED &&
           pp_safe_read(pid, value, thread_pointer + (uintptr_t)word->offset, sizeof *value);
}

uintptr_t pp_tls_read_in_block(const struct pp_tls_word *word, uintptr_t thread_pointer, bool outside,
                               struct pp_tls_block *known, bool *certain)
{
    uintptr_t value;
    *certain = true;
    if (word->kind != PP_TLS_DYNAMIC || !thread_pointer)
        return pp_tls_read(word, thread_pointer);
    if (known->address && known->module == word->module)
        return *(const uintptr_t *)(known->address + (uintptr_t)word->offset);
    uintptr_t block;
    bool read = copy_dynamic(word, *dtv_of(thread_pointer), &block, &value);
    bool lasts = pp_libc_kind.dtv_is_whole;
    *certain = block && (lasts || (outside && known->module == word->module && known->candidate == block));
    if (outside || lasts)
        *known = (struct pp_tls_block){word->module, *certain ? block : 0, block};
    return read ? value : 0;
}

/* async-signal-safe. */
uintptr_t pp_tls_read(const struct pp_tls_word *word, uintptr_t thread_pointer)
{
    uintptr_t block, value;
    if (!thread_pointer)
        return 0;
    switch (word->kind) {
    case PP_TLS_FIXED:
        return *(const uintptr_t *)(thread_pointer + (uintptr_t)word->offset);
    case PP_TLS_DYNAMIC:
        return copy_dynamic(word, *dtv_of(thread_pointer), &block, &value) ? value : 0;
    case PP_TLS_KEY:
        return value_of_key((uintptr_t)__atomic_load_n(&word->offset, __ATOMIC_RELAXED), thread_pointer);
    default:
        return 0;
    }
}

/* glibc notes of each block whether the block is to be freed: since 2.25 by its address, before by a flag. A block of
 * which glibc notes what it notes of the first module's is never freed either. */
void pp_tls_fix(struct pp_tls_word *word, uintptr_t thread_pointer)
{
    const struct dtv_entry *dtv = (const struct dtv_entry *)*dtv_of(thread_pointer);
    if (word->kind != PP_TLS_DYNAMIC || pp_libc_kind.dtv_is_whole || word->module > dtv[PP_DTV_LENGTH_ENTRY].block)
        return;
    const struct dtv_entry *entry = &dtv[word->module];
    if (entry->to_free != dtv[1].to_free || !pp_tls_is_static((int64_t)(entry->block - thread_pointer)))
        return;
    word->offset += (int64_t)(entry->block - thread_pointer);
    word->kind = PP_TLS_FIXED;
}
