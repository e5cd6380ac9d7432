/* Forks that meet: of two threads, of a signal handler in the middle of another, and beside a thread in the loader. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int slow, stop, nested;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_on(double seconds)
{
    double end = now() + seconds;
    while (now() < end)
        usleep(1000);
}

static void slowly(void)
{
    if (slow)
        wait_on(0.8);
}

/* To be preloaded: its atfork handler is called after those of a library that comes later. */
__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(slowly, NULL, NULL);
}

/* The kernel's word for the signals that the calling thread blocks. */
static unsigned long blocked(void)
{
    char line[256];
    unsigned long mask = 0;
    FILE *status = fopen("/proc/thread-self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "SigBlk: %lx", &mask) == 1)
            break;
    if (status)
        fclose(status);
    return mask;
}

/* What a fork changed of the mask, in parent and child. */
static unsigned long change_by_fork(void)
{
    unsigned long before = blocked(), child = 0;
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        child = blocked() ^ before;
        _exit(write(ends[1], &child, sizeof child) != sizeof child);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    if (status != 0 || read(ends[0], &child, sizeof child) != sizeof child)
        return 1;
    close(ends[0]);
    close(ends[1]);
    return child | (blocked() ^ before);
}

static void *fork_here(void *unused)
{
    (void)unused;
    return (void *)change_by_fork();
}

unsigned long two_at_once(void)
{
    pthread_t threads[2];
    unsigned long changes = 0;
    slow = 1;
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, fork_here, NULL);
        wait_on(0.05);
    }
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        changes |= (unsigned long)result;
    }
    slow = 0;
    return changes;
}

/* Its child comes back to the fork that was interrupted, and makes that. */
static void fork_in_handler(int number)
{
    (void)number;
    if (nested++)
        return;
    pid_t pid = fork();
    int status = 1;
    if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0))
        nested = -1000;
}

/* Returns what the forks changed of the mask; 1: a child went wrong. */
unsigned long one_in_another(void)
{
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    struct itimerval time = {{0, 0}, {0, 200000}};
    pid_t self = getpid();
    slow = 1;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &time, NULL);
    unsigned long change = change_by_fork();
    slow = 0;
    if (getpid() != self)
        _exit(change != 0);
    return nested > 0 ? change : 1;
}

__attribute__((noinline)) void burn_in_child(double seconds)
{
    double end = cpu() + seconds;
    while (cpu() < end)
        ;
}

static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)info, (void)size, (void)argument;
    for (volatile int i = 0; i < 300; i++)
        ;
    return 0;
}

static void *stay_in_loader(void *unused)
{
    (void)unused;
    while (!stop)
        dl_iterate_phdr(look, NULL);
    return NULL;
}

/* The longest that a child took to end. */
double beside_loader(int children, double seconds)
{
    pthread_t thread;
    double worst = 0;
    double *done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stop = 0;
    pthread_create(&thread, NULL, stay_in_loader, NULL);
    for (int i = 0; i < children; i++) {
        wait_on(0.002);
        pid_t pid = fork();
        if (pid == 0) {
            burn_in_child(seconds);
            *done = now();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        worst = now() - *done > worst ? now() - *done : worst;
    }
    stop = 1;
    pthread_join(thread, NULL);
    return worst;
}

static int stay(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)info, (void)size, (void)argument;
    while (!stop)
        usleep(1000);
    return 1;
}

static void *stay_in_callback(void *unused)
{
    (void)unused;
    dl_iterate_phdr(stay, NULL);
    return NULL;
}

/* How long so many forks take together while a thread that has the loader stays in its callback. */
double beside_callback(int forks)
{
    pthread_t thread;
    stop = 0;
    pthread_create(&thread, NULL, stay_in_callback, NULL);
    wait_on(2.5); /* the profiler asks what is loaded each second, and waits for the loader */
    double start = now();
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    double took = now() - start;
    stop = 1;
    pthread_join(thread, NULL);
    return took;
}
