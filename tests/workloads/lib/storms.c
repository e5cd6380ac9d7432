/* Processes that begin and end while timers are armed, ticks are on their way and every lock is in use. */
#include "cpu.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADS    3
#define PATIENCE 60 /* seconds that a child may live */

extern char **environ;
int storm(const char *what, int count);
long slow_fork(long megabytes, int mappings, int count);

static _Atomic int stop, asks;
static unsigned seed = 1;

static unsigned chance(unsigned most)
{
    return (unsigned)rand_r(&seed) % most;
}

static void *burns_on(void *argument)
{
    for (;;)
        use_us(1000);
    return argument;
}

static void *ends_at_once(void *argument)
{
    use_us(20);
    return argument;
}

/* What takes the profiler's locks, and the loader's. */
static void *disturbs(void *kind)
{
    pthread_t thread;
    struct sigaction action;
    while (!stop)
        switch ((intptr_t)kind) {
        case 0:
            if (pthread_create(&thread, NULL, ends_at_once, NULL) == 0)
                pthread_join(thread, NULL);
            break;
        case 1:
            sigaction(SIGURG, NULL, &action);
            action.sa_handler = asks++ % 2 ? SIG_IGN : SIG_DFL;
            sigaction(SIGURG, &action, NULL);
            use_us(50);
            break;
        default: {
            void *library = dlopen("libresolv.so.2", RTLD_NOW);
            use_us(100);
            if (library)
                dlclose(library);
        }
        }
    return NULL;
}

static char *shell[] = {"sh", "-c", "exit 7", NULL};
static const char *way;
static _Atomic int chosen;

static _Noreturn void runs(void)
{
    execve("/bin/sh", shell, environ);
    _exit(99);
}

static void *may_run(void *number)
{
    if ((intptr_t)number == chosen) {
        use_us(chance(2000));
        if (strcmp(way, "exec") == 0)
            runs();
        else if (strcmp(way, "exit") == 0)
            _exit(7);
        else if (strcmp(way, "exit_group") == 0)
            syscall(SYS_exit_group, 7);
        else
            kill(getpid(), SIGKILL);
    }
    return burns_on(NULL);
}

/* The child of fork: threads that compute, one of which, or the first, ends them all in some way. */
static _Noreturn void with_threads(const char *how)
{
    pthread_t thread;
    way = how;
    chosen = (int)chance(LOADS);
    for (intptr_t i = 1; i < LOADS; i++)
        pthread_create(&thread, NULL, may_run, (void *)i);
    may_run(NULL);
    _exit(98);
}

/* The child of fork, whatever the parent's threads were at: all of it has to work. */
static _Noreturn void uses_everything(void)
{
    pthread_t thread;
    struct sigaction action;
    alarm(PATIENCE);
    if (pthread_create(&thread, NULL, ends_at_once, NULL) != 0)
        _exit(1);
    pthread_join(thread, NULL);
    sigaction(SIGURG, NULL, &action);
    action.sa_handler = SIG_DFL;
    sigaction(SIGURG, &action, NULL);
    if (chance(8) == 0) {
        void *library = dlopen("libnsl.so.1", RTLD_NOW);
        if (library)
            dlclose(library);
    }
    if (chance(8) == 0 && fork() == 0)
        _exit(0);
    free(malloc(100000));
    _exit(7);
}

static int status_of(pid_t pid)
{
    int status = -1;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int one(const char *what)
{
    pid_t pid;
    volatile int expected = 7 << 8;
    int status;
    if (strcmp(what, "spawns") == 0) {
        switch (chance(4)) {
        case 0:
            return posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ) == 0 && status_of(pid) == expected;
        case 1:
            return system("exit 7") == expected;
        case 2: {
            FILE *stream = popen("exit 7", "r");
            return stream && pclose(stream) == expected;
        }
        default:
            pid = vfork();
            if (pid == 0)
                runs();
            return status_of(pid) == expected;
        }
    }
    seed++;
    if (chance(4) == 0) { /* something new for the flush thread to read */
        void *library = dlopen("libresolv.so.2", RTLD_NOW);
        use_us(100);
        if (library)
            dlclose(library);
    }
    pid = fork();
    if (pid == 0) {
        seed ^= (unsigned)getpid();
        alarm(PATIENCE);
        if (strcmp(what, "forks") == 0)
            uses_everything();
        with_threads(what);
    }
    status = status_of(pid);
    if (strcmp(what, "kill") == 0)
        expected = SIGKILL;
    if (status != expected)
        printf("%s: status %#x\n", what, (unsigned)status);
    return status == expected;
}

static void *starts_too(void *count)
{
    intptr_t good = 0;
    for (intptr_t i = 0; i < (intptr_t)count; i++)
        good += one("spawns");
    return (void *)good;
}

/* So many processes; how many ended otherwise than they should. */
int storm(const char *what, int count)
{
    pthread_t threads[LOADS], other;
    int bad = 0, spawns = strcmp(what, "spawns") == 0;
    void *good = NULL;
    stop = 0;
    /* a child of fork would wait for ever for a loader that another thread was in: also without us */
    int loads = spawns ? LOADS : LOADS - 1;
    for (intptr_t i = 0; i < loads; i++)
        pthread_create(&threads[i], NULL, disturbs, (void *)i);
    if (spawns)
        pthread_create(&other, NULL, starts_too, (void *)(intptr_t)count);
    for (int i = 0; i < count; i++)
        bad += !one(what);
    if (spawns) {
        pthread_join(other, &good);
        bad += count - (int)(intptr_t)good;
    }
    stop = 1;
    for (int i = 0; i < loads; i++)
        pthread_join(threads[i], NULL);
    fflush(stdout);
    return bad;
}

static _Atomic int forking, looks, unblocked;
static int forker;

/* Whether SIGURG is blocked in the thread that forks, while it does. */
static void *watches(void *argument)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", forker);
    while (forking >= 0) {
        int before = forking;
        FILE *file = before > 0 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        size_t length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[length] = 0;
        char *mask = strstr(text, "SigBlk:");
        if (!mask || forking != before)
            continue;
        looks++;
        unblocked += !(strtoull(mask + 7, NULL, 16) >> (SIGURG - 1) & 1);
    }
    return argument;
}

/* Forks a process of so much memory and so many mappings; the mean time of a fork in us, negative if any child went
 * wrong. What SIGURG's mask was meanwhile goes to stdout. */
long slow_fork(long megabytes, int mappings, int count)
{
    struct timespec begin, end;
    pthread_t watcher;
    long us = 0, page = sysconf(_SC_PAGESIZE);
    size_t size = (size_t)megabytes << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE) != 0)
        return -1;
    for (size_t i = 0; i < size; i += (size_t)page)
        memory[i] = 1;
    for (int i = 0; i < mappings; i += 2)
        if (mprotect(memory + (size_t)(i * page), (size_t)page, PROT_READ) != 0)
            return -2;
    forker = gettid();
    pthread_create(&watcher, NULL, watches, NULL);
    for (int i = 0; i < count; i++) {
        use_us(2500);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        forking = i + 1;
        pid_t pid = fork();
        if (pid == 0)
            _exit(7);
        forking = 0;
        clock_gettime(CLOCK_MONOTONIC, &end);
        us += (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
        if (status_of(pid) != 7 << 8)
            return -3;
    }
    forking = -1;
    pthread_join(watcher, NULL);
    munmap(memory, size);
    printf("looks %d unblocked %d\n", looks, unblocked);
    fflush(stdout);
    return us / count;
}
