/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../base/library_path.h"
#include "../base/memory.h"
#include "checks.h"

#define TOPIC   "library"
#define DELETED " (deleted)"

static void read_interpreter(Elf *elf, int file, struct pt_elf_facts *facts)
{
    size_t count = 0;
    GElf_Phdr segment;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_INTERP ||
            segment.p_filesz >= sizeof facts->interpreter)
            continue;
        ssize_t length = pread(file, facts->interpreter, segment.p_filesz, (off_t)segment.p_offset);
        facts->interpreter[length > 0 ? length : 0] = '\0';
    }
}

static uint32_t read_word(Elf *elf, const GElf_Sym *symbol)
{
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    GElf_Shdr header;
    uint32_t word = 0;
    if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
        return 0;
    Elf_Data *data = elf_rawdata(section, NULL);
    uint64_t offset = symbol->st_value - header.sh_addr;
    if (data && data->d_buf && offset < data->d_size && data->d_size - offset >= sizeof word)
        memcpy(&word, (const char *)data->d_buf + offset, sizeof word);
    return word;
}

/* Exported symbols, as the library finds an interpreter. */
static void read_symbols(Elf *elf, struct pt_elf_facts *facts)
{
    bool runtime = false, version = false;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !header.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (!name || symbol.st_shndx == SHN_UNDEF)
                continue;
            runtime |= strcmp(name, "_PyRuntime") == 0;
            version |= strcmp(name, "Py_GetVersion") == 0;
            facts->python_debug |= strcmp(name, "_Py_NegativeRefcount") == 0;
            if (strcmp(name, "Py_Version") == 0)
                facts->python_version = read_word(elf, &symbol);
        }
    }
    facts->python = runtime && version;
}

static void read_needed(Elf *elf, struct pt_elf_facts *facts)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Dyn entry;
        for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
            const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : NULL;
            if (name && (strstr(name, "libasan.so") || strstr(name, "libclang_rt.asan")))
                snprintf(facts->sanitizer, sizeof facts->sanitizer, "%s", name);
        }
    }
}

bool pt_elf_facts_read(const char *path, struct pt_elf_facts *facts)
{
    *facts = (struct pt_elf_facts){0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ, NULL);
    GElf_Ehdr header;
    bool good = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header);
    if (good) {
        facts->class = gelf_getclass(elf);
        facts->machine = header.e_machine;
        read_interpreter(elf, file, facts);
        read_symbols(elf, facts);
        read_needed(elf, facts);
    }
    elf_end(elf);
    close(file);
    errno = 0;
    return good;
}

const char *pt_elf_kind(const struct pt_elf_facts *facts)
{
    static char text[32];
    const char *bits = facts->class == ELFCLASS32 ? "32-bit" : "64-bit";
    const char *machine = facts->machine == EM_X86_64    ? "x86-64"
                          : facts->machine == EM_386     ? "x86"
                          : facts->machine == EM_AARCH64 ? "ARM"
                                                         : NULL;
    if (machine)
        snprintf(text, sizeof text, "%s %s", bits, machine);
    else
        snprintf(text, sizeof text, "%s, machine %d", bits, facts->machine);
    return text;
}

char *pt_preload_entry(const char *value)
{
    for (const char *at = value; at && *at;) {
        size_t length = strcspn(at, " :"), base = length;
        while (base && at[base - 1] != '/')
            base--;
        if (strncmp(at + base, PT_LIBRARY, strlen(PT_LIBRARY)) == 0)
            return pt_strndup(at, length);
        at += length;
        at += strspn(at, " :");
    }
    return NULL;
}

static bool check_program(const struct pt_elf_facts *program, const char *preload, struct pt_findings *findings)
{
    if (program->class && !*program->interpreter) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "the program is static: it has no loader that could preload anything");
        pt_remedy(findings, "use a dynamically linked build of it");
    } else if (*program->sanitizer && !strstr(preload ? preload : "", program->sanitizer)) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC,
                "the program needs AddressSanitizer's library, which ends it when another one is loaded before");
        pt_remedy(findings,
                  "preload it too, before: LD_PRELOAD=%s:" PT_LIBRARY "; or ASAN_OPTIONS=verify_asan_link_order=0",
                  program->sanitizer);
    } else {
        if (strstr(program->interpreter, "musl"))
            pt_find(findings, PT_LEVEL_OK, TOPIC,
                    "the program is of musl libc: functions of libc are shown, but stacks may have a gap there");
        return true;
    }
    return false;
}

static bool is_same_kind(const struct pt_elf_facts *a, const struct pt_elf_facts *b)
{
    return a->class == b->class && a->machine == b->machine;
}

bool pt_check_loadable(const struct pt_process_info *subject, const char *library, const struct pt_elf_facts *program,
                       struct pt_findings *findings)
{
    const char *preload =
        subject->pid == getpid() ? getenv("LD_PRELOAD") : pt_process_info_variable(subject, "LD_PRELOAD");
    bool named = strchr(library, '/') && !strchr(library, '$'); /* else it is the loader's own business */
    PT_AUTO_FREE char *path = named ? pt_process_info_path(subject, library) : NULL;
    struct pt_elf_facts facts;
    struct statvfs mount;
    uint32_t before = findings->count;
    bool is_elf = named && pt_elf_facts_read(path, &facts);
    int error = errno;
    if (is_elf && program->class && !is_same_kind(&facts, program)) {
        PT_AUTO_BUFFER kind = {0};
        pt_buffer_text(&kind, pt_elf_kind(program));
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "the program is %s, the library %s", kind.data, pt_elf_kind(&facts));
        pt_remedy(findings, "only programs of the library's own kind can be profiled");
        return false;
    }
    if (!check_program(program, preload, findings))
        return false;
    if (!named)
        return true;
    if (access(path, F_OK) != 0) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "LD_PRELOAD names %s, which cannot be reached: %s", library,
                strerror(errno));
        pt_remedy(findings,
                  subject->pid == getpid()
                      ? "say where it is: 'pyprof run -- COMMAND' does"
                      : "put the library there as the process sees it (in its container), and start it again");
    } else if (!is_elf) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s cannot be loaded: %s", library,
                error ? strerror(error) : "it is no ELF file");
        pt_remedy(findings, error ? "make it readable for the user of the process" : "install it again");
    } else if (statvfs(path, &mount) == 0 && mount.f_flag & ST_NOEXEC) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s is on a file system that is mounted noexec", library);
        pt_remedy(findings, "copy it to one that is not, and set LD_PRELOAD to that");
    }
    return findings->count == before;
}

static void why_not_loaded(const struct pt_process_info *subject, const char *entry, struct pt_findings *findings)
{
    struct pt_elf_facts program;
    PT_AUTO_BUFFER path = pt_formatted("/proc/%d/exe", subject->pid);
    pt_elf_facts_read(path.data, &program);
    if (subject->secure) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC,
                "the process is privileged by its file (set-user-ID or file capabilities): its loader ignores "
                "LD_PRELOAD");
        pt_remedy(findings, "run it as its user without these, or name the library in /etc/ld.so.preload");
    } else if (pt_check_loadable(subject, entry, &program, findings)) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "LD_PRELOAD names %s, but it is not loaded", entry);
        pt_remedy(findings, strchr(entry, '/')
                                ? "was it put there after the start? start the process again, and check for a line of "
                                  "ld.so on its stderr"
                                : "a bare name must be in the loader's path: 'make install' and ldconfig, or give "
                                  "the whole path");
    }
}

bool pt_is_unseen(const struct pt_process_info *subject)
{
    return !subject->maps || (!*subject->maps && !subject->environment);
}

enum pt_level pt_check_library(const struct pt_process_info *subject, struct pt_findings *findings)
{
    if (pt_is_unseen(subject)) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC,
                "what is loaded in this process of user %u, its environment and its files cannot be seen",
                (unsigned)subject->uid);
        if (geteuid() == 0) /* as in a container */
            pt_remedy(findings, "you are root, but without the right CAP_SYS_PTRACE: ask on the host, or give the "
                                "container that right");
        else
            pt_remedy(findings, "ask as that user or as root (the right is CAP_SYS_PTRACE): sudo pyprof doctor %d",
                      subject->pid);
        return PT_LEVEL_WARN;
    }
    const char *at = subject->maps;
    PT_AUTO_FREE char *mapped = pt_next_mapped(&at, PT_LIBRARY);
    PT_AUTO_FREE char *entry = pt_preload_entry(pt_process_info_variable(subject, "LD_PRELOAD"));
    if (mapped) {
        size_t length = strlen(mapped), suffix = strlen(DELETED);
        if (length > suffix && strcmp(mapped + length - suffix, DELETED) == 0) {
            pt_find(findings, PT_LEVEL_WARN, TOPIC, "%.*s is loaded, but its file was replaced or deleted since",
                    (int)(length - suffix), mapped);
            pt_remedy(findings, "the old one goes on working; a restart takes up the new one");
        } else {
            pt_find(findings, PT_LEVEL_OK, TOPIC, "%s is loaded", mapped);
        }
    } else if (entry) {
        why_not_loaded(subject, entry, findings);
    } else {
        const char *other = pt_process_info_variable(subject, "LD_PRELOAD");
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "not preloaded: LD_PRELOAD of the process %s%s",
                other ? "is only " : "is not set", other ? other : "");
        pt_remedy(findings, "a running process cannot be joined; start it with:\npyprof run -- %s",
                  subject->quoted ? subject->quoted : "COMMAND");
    }
    bool loaded = mapped;
    return loaded ? PT_LEVEL_OK : PT_LEVEL_FAIL;
}
