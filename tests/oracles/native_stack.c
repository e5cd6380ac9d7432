/* The native stacks of threads of another process as libunwind sees them: native_stack PID TID...
 *
 * For each: "thread TID", then one line per frame, innermost first: the address as the object's file numbers it (its
 * ELF virtual address), the function's name or -, the file's path. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <libunwind-ptrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MAX_FRAMES 2000

struct mapping {
    uint64_t start, end, offset;
    char path[1024];
};

static bool mapping_of(int pid, uint64_t address, struct mapping *found)
{
    char name[64], line[2048];
    bool is_there = false;
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "re");
    while (maps && !is_there && fgets(line, sizeof line, maps)) {
        found->path[0] = 0;
        is_there = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %1023s", &found->start, &found->end,
                          &found->offset, found->path) >= 3 &&
                   address >= found->start && address < found->end;
    }
    if (maps)
        fclose(maps);
    return is_there && found->path[0] == '/';
}

/* The ELF virtual address of a file offset. */
static uint64_t file_address(const char *path, uint64_t offset)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint64_t address = offset;
    FILE *file = fopen(path, "re");
    if (file && fread(&header, sizeof header, 1, file) == 1)
        for (unsigned i = 0; i < header.e_phnum; i++) {
            if (fseek(file, (long)(header.e_phoff + i * sizeof segment), SEEK_SET) != 0 ||
                fread(&segment, sizeof segment, 1, file) != 1)
                break;
            if (segment.p_type == PT_LOAD && offset >= segment.p_offset && offset < segment.p_offset + segment.p_filesz)
                address = offset - segment.p_offset + segment.p_vaddr;
        }
    if (file)
        fclose(file);
    return address;
}

static void print_frame(int pid, unw_cursor_t *cursor)
{
    unw_word_t address, offset;
    char name[512];
    struct mapping mapping;
    unw_get_reg(cursor, UNW_REG_IP, &address);
    int named = unw_get_proc_name(cursor, name, sizeof name, &offset);
    if (mapping_of(pid, address, &mapping))
        printf("%" PRIx64 " %s %s\n", file_address(mapping.path, address - mapping.start + mapping.offset),
               named == 0 || named == -UNW_ENOMEM ? name : "-", mapping.path);
    else
        printf("%" PRIx64 " - -\n", (uint64_t)address);
}

static bool print_stack(int pid, int tid, unw_addr_space_t space)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
        waitpid(tid, NULL, __WALL) != tid) {
        fprintf(stderr, "cannot stop thread %d: %s\n", tid, strerror(errno));
        return false;
    }
    printf("thread %d\n", tid);
    void *target = _UPT_create(tid);
    unw_cursor_t cursor;
    bool begun = target && unw_init_remote(&cursor, space, target) == 0;
    for (unsigned i = 0; begun && i < MAX_FRAMES; i++) {
        print_frame(pid, &cursor);
        if (unw_step(&cursor) <= 0)
            break;
    }
    if (target)
        _UPT_destroy(target);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return begun;
}

int main(int argc, char **argv)
{
    unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
    bool good = argc > 2 && space;
    for (int i = 2; good && i < argc; i++)
        good = print_stack(atoi(argv[1]), atoi(argv[i]), space);
    return good ? 0 : 1;
}
