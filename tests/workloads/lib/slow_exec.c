/* Preloaded after the profiler: programs take their time to begin, as on a full machine. */
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

int execve(const char *path, char *const arguments[], char *const environment[])
{
    usleep(600000);
    return (int)syscall(SYS_execve, path, arguments, environment);
}

int execv(const char *path, char *const arguments[])
{
    return execve(path, arguments, environ);
}
