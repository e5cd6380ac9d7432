/* Does what a profiler's library is in the way of, by libc alone: threads on stacks of any kind, keys with destructors,
 * signals, changes of the user, forks and children. libc_calls [LIBPYTHON [SECONDS]] prints what comes of it, which is
 * the same with an interpreter and without, profiled or not; with an interpreter each kind of thread uses SECONDS. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN_STACK    (256u << 10)
#define SMALL_STACK  (64u << 10)
#define USER_CHANGES 50
#define BETWEEN      100000 /* readings of the clock */

static double seconds = 0.01;
static pthread_key_t key;
static _Thread_local int own_number = 7;
static _Atomic int rounds, handled, ended;

static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define USE_CPU(name)                                                                                                  \
    static __attribute__((noinline)) void name(void)                                                                   \
    {                                                                                                                  \
        double end = used() + seconds;                                                                                 \
        while (used() < end)                                                                                           \
            for (int i = 0; i < BETWEEN; i++)                                                                          \
                __asm__ volatile("");                                                                                  \
    }
USE_CPU(use_usual)
USE_CPU(use_small)
USE_CPU(use_own)
USE_CPU(use_detached)
USE_CPU(use_child)

/* The value is set again until the last of libc's rounds. */
static void at_thread_end(void *value)
{
    rounds++;
    pthread_setspecific(key, value);
}

static void on_signal(int number)
{
    (void)number;
    handled++;
}

static void *run(void *function)
{
    sigset_t all, before;
    pthread_setspecific(key, function);
    own_number++;
    ((void (*)(void))(unsigned long)function)();
    pthread_kill(pthread_self(), SIGUSR1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_sigmask(SIG_SETMASK, &before, &all);
    if (own_number != 8 || pthread_getspecific(key) != function || !sigismember(&all, SIGURG) ||
        sigismember(&before, SIGURG))
        abort();
    ended++;
    return function;
}

static void start(const char *name, pthread_attr_t *attributes, void (*function)(void), pthread_t *thread)
{
    int error = pthread_create(thread, attributes, run, (void *)(unsigned long)function);
    if (error)
        printf("%s: %s\n", name, strerror(error));
}

static void threads(void)
{
    pthread_t usual, small, own, detached;
    pthread_attr_t attributes;
    void *stack = mmap(NULL, OWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *result;
    start("usual", NULL, use_usual, &usual);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL_STACK);
    start("small", &attributes, use_small, &small);
    pthread_attr_setstack(&attributes, stack, OWN_STACK);
    start("own", &attributes, use_own, &own);
    pthread_attr_destroy(&attributes);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    start("detached", &attributes, use_detached, &detached);
    /* a signal of libc's to every thread, ours too */
    for (int i = 0; i < USER_CHANGES; i++)
        if (setresuid(getuid(), geteuid(), getuid()) != 0)
            puts("the user cannot be set");
    pthread_join(usual, &result);
    pthread_join(small, &result);
    pthread_join(own, &result);
    while (ended < 4)
        usleep(1000);
    usleep(20000); /* the end of the detached thread's destructors */
    printf("4 threads: %d rounds of destructors, %d signals\n", rounds, handled);
}

static void prepare(void)
{
    putchar('(');
}

static void in_parent(void)
{
    putchar(')');
}

static void children(void)
{
    char *const arguments[] = {"/bin/sh", "-c", "exit 6", NULL}, *const environment[] = {NULL};
    int status;
    pid_t child = fork();
    if (child == 0) {
        use_child();
        setresuid(getuid(), geteuid(), getuid());
        exit(handled);
    }
    waitpid(child, &status, 0);
    printf("fork %d\n", WEXITSTATUS(status));
    child = vfork();
    if (child == 0) {
        execve(arguments[0], arguments, environment);
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, environment) == 0)
        waitpid(child, &status, 0);
    printf("spawn %d, system %d\n", WEXITSTATUS(status), WEXITSTATUS(system("exit 5")));
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    setvbuf(stdout, NULL, _IONBF, 0);
    sigaction(SIGUSR1, &action, NULL);
    pthread_key_create(&key, at_thread_end);
    pthread_atfork(prepare, in_parent, NULL);
    if (count > 1) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
        void (*initialize)(int), *(*save)(void);
        *(void **)&initialize = library ? dlsym(library, "Py_InitializeEx") : NULL;
        *(void **)&save = library ? dlsym(library, "PyEval_SaveThread") : NULL;
        if (!initialize || !save) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        initialize(0);
        save();
        seconds = count > 2 ? atof(arguments[2]) : seconds;
    }
    threads();
    children();
    return 0;
}
