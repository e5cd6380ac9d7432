/* SPDX-License-Identifier: Apache-2.0 */
#include "go_runtime.h"
#include "../base/elf_names.h"
#include "../base/loader_copy.h"
#include "../base/loader_lock.h"
#include "../capture/safe_read.h"
#include <string.h>

#define NOTE_OF_GO_BUILD 4
#define PAGES_AT_ONCE    64
#define MAX_PAGES        32768 /* of an object, below its code */
#define MAX_NOTES        1024  /* bytes */

static bool has_note(const struct dl_phdr_info *object)
{
    uint8_t notes[MAX_NOTES];
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t at = object->dlpi_addr + segment->p_vaddr;
        size_t length, size = segment->p_memsz < sizeof notes ? segment->p_memsz : sizeof notes;
        if (segment->p_type == PT_NOTE && pp_elf_segment(object, at, segment->p_memsz, PF_R) &&
            pp_loader_read(notes, at, size) && pp_elf_note(notes, size, "Go", NOTE_OF_GO_BUILD, &length))
            return true;
    }
    return false;
}

/* A build without its id has no note; a build that uses cgo has the symbol. */
static bool is_go(const struct dl_phdr_info *object)
{
    return has_note(object) || pp_elf_symbol(object, "crosscall2");
}

static int check_object(struct dl_phdr_info *info, size_t size, void *found)
{
    ElfW(Phdr) headers[PP_MAX_HEADERS];
    struct dl_phdr_info object = pp_loader_copy(info, size, headers);
    *(bool *)found = is_go(&object);
    return *(bool *)found;
}

bool pp_go_is_loaded(void)
{
    bool found = false;
    pp_loader_visit(check_object, &found);
    return found;
}

/* Finds the ELF header below an address, at the beginning of a page. 0: there is none, or it is too far. */
static uintptr_t header_below(uintptr_t address)
{
    int pid = pp_sys_getpid();
    uintptr_t size = pp_page_size(), page = address & -size;
    char magics[PAGES_AT_ONCE][SELFMAG];
    struct iovec local = {magics, sizeof magics}, remote[PAGES_AT_ONCE];
    for (unsigned done = 0; done < MAX_PAGES && page >= PAGES_AT_ONCE * size;) {
        for (unsigned i = 0; i < PAGES_AT_ONCE; i++)
            remote[i] = (struct iovec){(void *)(page - i * size), SELFMAG};
        long copied = pp_sys_safe_copy(pid, &local, 1, remote, PAGES_AT_ONCE);
        unsigned pages = copied > 0 ? (unsigned)copied / SELFMAG : 0;
        for (unsigned i = 0; i < pages; i++)
            if (memcmp(magics[i], ELFMAG, SELFMAG) == 0)
                return page - i * size;
        /* the next page is in a gap between segments */
        pages += pages < PAGES_AT_ONCE;
        done += pages;
        page -= pages * size;
    }
    return 0;
}

bool pp_go_holds(uintptr_t code)
{
    uintptr_t start = header_below(code);
    ElfW(Ehdr) header;
    ElfW(Phdr) headers[PP_MAX_HEADERS];
    if (!start || !pp_loader_read(&header, start, sizeof header) || header.e_phentsize != sizeof headers[0] ||
        header.e_phnum > PP_MAX_HEADERS || header.e_phoff > pp_page_size() - sizeof headers ||
        !pp_loader_read(headers, start + header.e_phoff, header.e_phnum * sizeof headers[0]))
        return false;
    struct dl_phdr_info object = {.dlpi_addr = start, .dlpi_phdr = headers, .dlpi_phnum = header.e_phnum};
    for (int i = 0; i < object.dlpi_phnum; i++)
        if (object.dlpi_phdr[i].p_type == PT_LOAD && object.dlpi_phdr[i].p_offset == 0)
            object.dlpi_addr = start - object.dlpi_phdr[i].p_vaddr;
    return pp_elf_segment(&object, code, 1, PF_X) && is_go(&object);
}
