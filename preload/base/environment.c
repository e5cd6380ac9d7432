#include "environment.h"
#include "syscalls.h"
#include <string.h>

extern char **environ;

/* NAME=value, NULL without memory. */
static char *make_entry(const char *name, const char *value)
{
    size_t name_length = strlen(name), value_length = strlen(value);
    char *entry = pp_sys_mmap_anonymous(name_length + value_length + 2);
    if (!entry)
        return NULL;
    memcpy(entry, name, name_length);
    entry[name_length] = '=';
    memcpy(entry + name_length + 1, value, value_length + 1);
    return entry;
}

/* setenv frees the array that it grows, under other threads' getenv: two interpreters that started at once crashed.
 * This keeps the old array: a variable that is there is replaced in its place, as main's third argument shows it too.
 */
static void set_entry(char *entry, size_t name_length)
{
    for (char **at = environ; at && *at; at++) {
        if (strncmp(*at, entry, name_length + 1) == 0) {
            __atomic_store_n(at, entry, __ATOMIC_RELEASE);
            return;
        }
    }
    char **before = environ;
    size_t count = 0;
    while (before && before[count])
        count++;
    char **now = pp_sys_mmap_anonymous((count + 2) * sizeof *now);
    if (!now)
        return;
    if (count)
        memcpy(now, before, count * sizeof *now);
    now[count] = entry;
    __atomic_store_n(&environ, now, __ATOMIC_RELEASE);
}

void pp_environment_set(const char *name, const char *value)
{
    char *entry = make_entry(name, value);
    if (entry)
        set_entry(entry, strlen(name));
}
