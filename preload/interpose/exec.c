/* What a program has used of the CPU is written before exec replaces it. */
#include "../base/libc.h"
#include "../flush/lifecycle.h"
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

/* Calls one of libc's functions that replace the program. */
#define EXEC(name, ...)                                                                                                \
    do {                                                                                                               \
        if (!pp_real()->name) {                                                                                        \
            errno = ENOSYS;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
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

/* The arguments of a call like execl as an array; `list` is after the first one, and in the end after the NULL.
 */
#define COLLECT(arguments, first, list)                                                                                \
    do {                                                                                                               \
        va_list counted;                                                                                               \
        va_copy(counted, list);                                                                                        \
        size_t count = 1;                                                                                              \
        while (va_arg(counted, char *))                                                                                \
            count++;                                                                                                   \
        va_end(counted);                                                                                               \
        (arguments) = alloca((count + 1) * sizeof *(arguments));                                                       \
        (arguments)[0] = (char *)(uintptr_t)(first);                                                                   \
        for (size_t i = 1; i <= count; i++)                                                                            \
            (arguments)[i] = va_arg(list, char *);                                                                     \
    } while (0)

PP_EXPORT int execl(const char *path, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    va_end(list);
    return execv(path, arguments);
}

PP_EXPORT int execlp(const char *file, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    va_end(list);
    return execvp(file, arguments);
}

PP_EXPORT int execle(const char *path, const char *first, ...)
{
    char **arguments;
    va_list list;
    va_start(list, first);
    COLLECT(arguments, first, list);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}
