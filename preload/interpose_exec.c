/*
 * What a new program inherits is what the application believes: SIGPROF blocked if it has blocked it, ignored if it
 * ignores it. What the old one has burned is written before it is gone.
 */
#include "capture/capture.h"
#include "config.h"
#include "flush/flush.h"
#include "interpose.h"
#include "syscalls.h"
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

struct handed_on {
    bool blocked, ignored;
    uint64_t mask;
};

/* async-signal-safe, as exec is. In the child of vfork the mask is what the child has set, through libc: pp_slot_here
 * knows nothing there. */
static struct handed_on hand_on(void)
{
    struct handed_on before = {.blocked = false};
    if (!atomic_load(&pp_capture.enabled))
        return before;
    const struct pp_slot *slot = pp_slot_here();
    before.ignored = pp_interpose_ignore();
    before.blocked = slot && slot->application_blocks;
    if (before.blocked)
        before.mask = pp_sys_signal_mask(SIG_BLOCK, (uint64_t)1 << (pp_config.signal - 1));
    return before;
}

static void take_back(const struct handed_on *before)
{
    int error = errno;
    if (before->blocked)
        pp_sys_signal_mask(SIG_SETMASK, before->mask);
    if (before->ignored)
        pp_interpose_handle_again();
    errno = error;
}

/* Calls one of libc's functions that replace the program. */
#define EXEC(name, ...)                                                                                                \
    do {                                                                                                               \
        if (!pp_real()->name) {                                                                                        \
            errno = ENOSYS;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
        pp_flush_before_exec();                                                                                        \
        struct handed_on before = hand_on();                                                                           \
        int result = pp_real()->name(__VA_ARGS__);                                                                     \
        take_back(&before);                                                                                            \
        return result;                                                                                                 \
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

/* The arguments of a call like execl as an array; `list` stands behind the first one, and afterwards behind the NULL.
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

static int spawn(spawn_function *libc_function, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    if (!libc_function)
        return ENOSYS;
    struct handed_on before = hand_on();
    int error = libc_function(pid, file, actions, attributes, arguments, environment);
    take_back(&before);
    return error;
}

PP_EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                          const posix_spawn_file_actions_t *restrict actions,
                          const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                          char *const environment[restrict])
{
    return spawn(pp_real()->posix_spawn, pid, path, actions, attributes, arguments, environment);
}

PP_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    return spawn(pp_real()->posix_spawnp, pid, file, actions, attributes, arguments, environment);
}
