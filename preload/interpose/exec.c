/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the profile before exec replaces the program. */
#include "../base/libc.h"
#include "../flush/lifecycle.h"
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

/* Calls libc's function after everything is written. */
#define EXEC(name, ...)                                                                                                \
    do {                                                                                                               \
        PP_REQUIRE(name);                                                                                              \
        pp_flush_before_exec();                                                                                        \
        return pp_real()->name(__VA_ARGS__);                                                                           \
    } while (0)

PP_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    EXEC(execve, path, arguments, environment);
}

PP_EXPORT int execv(const char *path, char *const arguments[])
{
    EXEC(execv, path, arguments);
}

PP_EXPORT int execvp(const char *file, char *const arguments[])
{
    EXEC(execvp, file, arguments);
}

PP_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    EXEC(execvpe, file, arguments, environment);
}

PP_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    EXEC(fexecve, fd, arguments, environment);
}

PP_EXPORT int execveat(int directory, const char *path, char *const arguments[], char *const environment[], int flags)
{
    EXEC(execveat, directory, path, arguments, environment, flags);
}

/* Makes an array `arguments` of `first` and what follows it up to the NULL, then calls; `list` is after the NULL. */
#define EXEC_LIST(first, call)                                                                                         \
    va_list list, counted;                                                                                             \
    size_t count = 1;                                                                                                  \
    va_start(list, first);                                                                                             \
    va_copy(counted, list);                                                                                            \
    while (va_arg(counted, char *))                                                                                    \
        count++;                                                                                                       \
    va_end(counted);                                                                                                   \
    char **arguments = alloca((count + 1) * sizeof *arguments);                                                        \
    arguments[0] = (char *)(uintptr_t)(first);                                                                         \
    for (size_t i = 1; i <= count; i++)                                                                                \
        arguments[i] = va_arg(list, char *);                                                                           \
    int result = call;                                                                                                 \
    va_end(list);                                                                                                      \
    return result

PP_EXPORT int execl(const char *path, const char *first, ...)
{
    EXEC_LIST(first, execv(path, arguments));
}

PP_EXPORT int execlp(const char *file, const char *first, ...)
{
    EXEC_LIST(first, execvp(file, arguments));
}

PP_EXPORT int execle(const char *path, const char *first, ...)
{
    EXEC_LIST(first, execve(path, arguments, va_arg(list, char *const *)));
}
