/* SPDX-License-Identifier: Apache-2.0 */
#include "tls.h"
#include "../base/elf_names.h"
#include "../base/libc.h"
#include "../capture/python.h"
#include "../capture/safe_read.h"
#include <pthread.h>
#include <string.h>

#define CODE_MAX      64
#define WORD          ((int64_t)sizeof(uintptr_t))
#define KEY_PLACE_MAX 256 /* bytes by which patch releases may have moved a key */

static bool read_memory(const void *context, uintptr_t address, void *to, size_t size, bool in_object)
{
    if (in_object) {
        if (!pp_elf_segment(context, address, size, PF_R))
            return false;
        memcpy(to, (const void *)address, size);
        return true;
    }
    return pp_safe_read(pp_sys_getpid(), to, address, size);
}

static bool in_block(const struct dl_phdr_info *object, const struct pp_tls_word *word)
{
    int64_t size = 0, offset = word->offset;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_TLS)
            size = (int64_t)object->dlpi_phdr[i].p_memsz;
    if (size < WORD || offset % WORD != 0)
        return false;
    if (word->kind == PP_TLS_FIXED) {
        if (!object->dlpi_tls_data) /* this thread has not touched the block yet */
            return pp_tls_is_static(offset);
        offset += (int64_t)(pp_own_thread_pointer() - (uintptr_t)object->dlpi_tls_data);
    }
    return offset >= 0 && offset <= size - WORD;
}

struct pp_tls_word pp_python_tls_find(const struct dl_phdr_info *object, uintptr_t getter)
{
    size_t size = CODE_MAX;
    while (size && !pp_elf_segment(object, getter, size, PF_R | PF_X))
        size--;
    struct pp_tls_object code = {object->dlpi_tls_modid, read_memory, object};
    struct pp_tls_word word = pp_tls_of_code(&code, getter, size);
    return word.kind != PP_TLS_NONE && in_block(object, &word) ? word : (struct pp_tls_word){0};
}

/* Py_tss_t. */
struct key_place {
    int is_created;
    pthread_key_t key;
};

struct pp_tls_word pp_python_key_find(uintptr_t place)
{
    const struct pp_real *libc = pp_real();
    struct key_place own = {.is_created = 1};
    struct pp_tls_word word = {.kind = PP_TLS_KEY, .offset = (int64_t)(uintptr_t)&own};
    if (!libc->pthread_key_create || !libc->pthread_setspecific || !libc->pthread_key_delete ||
        libc->pthread_key_create(&own.key, NULL) != 0)
        return (struct pp_tls_word){0};
    bool there =
        libc->pthread_setspecific(own.key, &own) == 0 && pp_tls_read(&word, pp_own_thread_pointer()) == (uintptr_t)&own;
    libc->pthread_setspecific(own.key, NULL);
    libc->pthread_key_delete(own.key);
    word.offset = (int64_t)place;
    return there ? word : (struct pp_tls_word){0};
}

static bool is_key_of(const struct pp_python *python, uintptr_t address)
{
    const struct pp_real *libc = pp_real();
    struct key_place place;
    if (address < python->runtime || address + sizeof place > python->module_end)
        return false;
    memcpy(&place, (const void *)address, sizeof place);
    if (place.is_created != 1 || libc->pthread_getspecific(place.key) ||
        libc->pthread_setspecific(place.key, &place) != 0)
        return false;
    bool same = python->this_thread_state() == &place;
    libc->pthread_setspecific(place.key, NULL);
    return same;
}

void pp_python_key_settle(struct pp_python *python)
{
    uintptr_t known = python->runtime + python->layout.runtime.key;
    for (uintptr_t away = 0; python->this_thread_state && away <= KEY_PLACE_MAX; away += sizeof(int)) {
        for (int side = 0; side < 2; side++) {
            uintptr_t address = side ? known - away : known + away;
            if (!is_key_of(python, address))
                continue;
            __atomic_store_n(&python->bound.offset, (int64_t)address, __ATOMIC_RELAXED);
            python->this_thread_state = NULL;
            return;
        }
    }
}
