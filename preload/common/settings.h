/*
 * The PYPROF_ variables: names, what they may be, and what is used otherwise. Part of the library, which obeys them
 * before libc is ready (no locale, no allocation), and of `pyprof doctor`, which judges them in its place.
 */
#ifndef PP_SETTINGS_H
#define PP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_HIGHEST_HZ 1000

#define PP_PPM_PER_PERCENT 10000
#define PP_DEFAULT_OUT     "pyprof.out"

enum pp_setting {
    PP_SETTING_HZ,           /* samples per second of CPU time */
    PP_SETTING_MAX_OVERHEAD, /* parts per million of the CPU time */
    PP_SETTING_MAX_DISK,     /* bytes; 0: no limit */
    PP_SETTING_SIGNAL,       /* its number */
    PP_SETTING_UNWIND,       /* whether by libunwind */
    PP_SETTING_VERBOSE,
    PP_SETTING_OUT, /* this one and the next are text */
    PP_SETTING_RUN,
    PP_SETTING_COUNT,
};

extern const char *const pp_setting_names[PP_SETTING_COUNT];

/* What a setting's text means, its default if the text is NULL or "". NULL, or else why the text is wrong and what is
 * used instead: the rest of a sentence that begins with "NAME=TEXT". Not for settings that are text. */
const char *pp_setting_read(enum pp_setting setting, const char *text, uint64_t *value);

/* Whether the last bytes of a disk are left, which are the program's own: it fails when they are gone. Bytes that are
 * free for this user, of all that the file system has; some file systems do not say (all 0). */
bool pp_disk_is_full(uint64_t free_bytes, uint64_t all_bytes);

#endif
