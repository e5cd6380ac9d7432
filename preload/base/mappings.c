#include "mappings.h"
#include "syscalls.h"
#include <fcntl.h>

#define CHUNK 4096

/* Lines are "start-end perms …": a state machine over the bytes, since a line may straddle two reads. */
bool pp_mapping_around(uintptr_t address, uintptr_t *found_start, uintptr_t *found_end)
{
    int fd = pp_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    char buffer[CHUNK];
    uintptr_t start = 0, end = 0;
    bool found = false;
    enum { IN_START, IN_END, IN_REST } where = IN_START;
    long n;
    while (!found && (n = pp_sys_read(fd, buffer, sizeof buffer)) > 0) {
        for (long i = 0; i < n && !found; i++) {
            char c = buffer[i];
            unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
            if (c == '\n') {
                where = IN_START;
                start = end = 0;
            } else if (where == IN_START && c == '-') {
                where = IN_END;
            } else if (where == IN_END && c == ' ') {
                where = IN_REST;
                found = address >= start && address < end;
            } else if (where == IN_START) {
                start = start << 4 | digit;
            } else if (where == IN_END) {
                end = end << 4 | digit;
            }
        }
    }
    pp_sys_close(fd);
    *found_start = start;
    *found_end = end;
    return found;
}
