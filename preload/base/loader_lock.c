/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_lock.h"
#include "elf_names.h"
#include "loader_copy.h"
#include "safe_copy.h"
#include "syscalls.h"
#include <stdatomic.h>
#include <string.h>

#define MAX_WORDS        4096
#define OWNER_AFTER_LOCK 2 /* ints, in pthread_mutex_t: lock, count, owner */

/* glibc keeps the lock in _rtld_global, at an undocumented place. Its owner is a word that is our tid while the list is
 * walked, and 0 before and after; the lock itself is two words before it. The lock counts, not the owner: a thread that
 * is interrupted between taking the lock and storing its tid would wait for itself. */
struct search {
    const int *words;
    size_t count;
    const int *found;
    unsigned matches;
};

static const int *lock;
static bool lost;
static _Atomic int visitor; /* tid, from the first callback on */

static int find_end(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    (void)size;
    const ElfW(Phdr) *segment = pp_elf_segment(info, (uintptr_t)search->words, 1, 0);
    if (segment)
        search->count =
            (info->dlpi_addr + segment->p_vaddr + segment->p_memsz - (uintptr_t)search->words) / sizeof *search->words;
    return 0;
}

static int before[MAX_WORDS];

static int compare(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    int tid = pp_sys_gettid();
    (void)info, (void)size;
    volatile const int *now = search->words;
    for (size_t i = OWNER_AFTER_LOCK; i < search->count; i++)
        if (before[i] == 0 && now[i] == tid && before[i - OWNER_AFTER_LOCK] == 0 && now[i - OWNER_AFTER_LOCK] != 0) {
            search->found = &search->words[i - OWNER_AFTER_LOCK];
            search->matches++;
        }
    return 1;
}

void pp_loader_lock_find(const void *rtld_global)
{
    struct search search = {.words = rtld_global};
    if (!dl_iterate_phdr || !search.words)
        return;
    dl_iterate_phdr(find_end, &search);
    search.count = search.count < MAX_WORDS ? search.count : MAX_WORDS;
    memcpy(before, search.words, search.count * sizeof *before);
    dl_iterate_phdr(compare, &search);
    if (search.matches == 1)
        lock = search.found;
}

const int *pp_loader_lock(void)
{
    return lock;
}

struct visit {
    int (*callback)(struct dl_phdr_info *, size_t, void *);
    void *argument;
    int tid;
};

/* Whether the last byte that the object's file has in memory is there: a file that was cut off has lost it first. */
static bool has_its_end(uintptr_t base, const ElfW(Phdr) * headers, unsigned count)
{
    const ElfW(Phdr) *last = NULL;
    char byte;
    for (unsigned i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_filesz && (!last || headers[i].p_offset > last->p_offset))
            last = &headers[i];
    return last && pp_safe_copy(&byte, base + last->p_vaddr + last->p_filesz - 1, 1);
}

struct dl_phdr_info pp_loader_copy(const struct dl_phdr_info *info, size_t size, ElfW(Phdr) headers[PP_MAX_HEADERS])
{
    struct dl_phdr_info object = {0};
    memcpy(&object, info, size < sizeof object ? size : sizeof object);
    if (!pp_loader_is_copied())
        return object;
    object.dlpi_phdr = headers;
    if (object.dlpi_phnum > PP_MAX_HEADERS ||
        !pp_safe_copy(headers, (uintptr_t)info->dlpi_phdr, object.dlpi_phnum * sizeof headers[0]) ||
        !has_its_end(object.dlpi_addr, headers, object.dlpi_phnum))
        object.dlpi_phnum = 0;
    return object;
}

static int visit_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct visit *visit = arg;
    atomic_store(&visitor, visit->tid);
    return visit->callback(info, size, visit->argument);
}

void pp_loader_visit(int (*callback)(struct dl_phdr_info *, size_t, void *), void *argument)
{
    struct visit visit = {callback, argument, pp_sys_gettid()};
    if (!dl_iterate_phdr || lost)
        return;
    dl_iterate_phdr(visit_one, &visit);
    /* another thread may have the lock already */
    atomic_compare_exchange_strong(&visitor, &(int){visit.tid}, 0);
}

bool pp_loader_is_visited(void)
{
    return atomic_load(&visitor) != 0;
}

bool pp_loader_lock_is_lost(void)
{
    return lost;
}

void pp_loader_lock_after_fork(void)
{
    lost = lock && *(volatile const int *)lock != 0;
    atomic_store(&visitor, 0);
}
