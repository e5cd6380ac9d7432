/* How much of a disk we may take: shared by the library, which keeps to it, and the doctor, who explains it. */
#ifndef PP_DISK_ROOM_H
#define PP_DISK_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PP_DISK_LEFT       ((uint64_t)64 << 20)
#define PP_DISK_LEFT_SHARE 20
#define PP_DISK_LEAST      ((uint64_t)1 << 20)

/* Bytes that are free for this user, of all that the file system has. The last of a disk is the program's own: it fails
 * when that is gone. Some file systems do not tell (all 0). */
static inline bool pp_disk_is_full(uint64_t free_bytes, uint64_t all_bytes)
{
    uint64_t least = all_bytes / PP_DISK_LEFT_SHARE;
    return free_bytes < (least < PP_DISK_LEFT ? least : PP_DISK_LEFT);
}

/* What PYPROF_MAX_DISK means: bytes, or with a K, M, G or T behind the number, each 1024 of the one before; 0: no
 * limit. UINT64_MAX for anything else, and for less than PP_DISK_LEAST. */
static inline uint64_t pp_disk_limit_of(const char *text)
{
    static const char units[] = "KkMmGgTt";
    uint64_t number = 0, most = UINT64_MAX >> 40;
    size_t digits = strspn(text, "0123456789"), unit = 0;
    if (!digits || digits > 19)
        return UINT64_MAX;
    for (size_t i = 0; i < digits; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    const char *found = text[digits] ? strchr(units, text[digits]) : NULL;
    if (text[digits] && (!found || text[digits + 1] || number > most))
        return UINT64_MAX;
    if (found)
        unit = (size_t)(found - units) / 2 + 1;
    number <<= 10 * unit;
    return number && number < PP_DISK_LEAST ? UINT64_MAX : number;
}

#endif
