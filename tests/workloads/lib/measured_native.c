/* Threads that Python does not know, of kinds that profilers do not see: each uses CPU in a function that is named
 * after its kind, and adds what its own clock says to what is returned. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE (256 << 10)

uint64_t run_threads(const char *kind, int count, uint64_t ns);

static _Atomic uint64_t used;
static _Atomic int done;
static uint64_t wanted_ns;

/* Not by libc: a raw thread has its creator's errno. */
static uint64_t thread_ns(void)
{
    struct timespec t = {0, 0};
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_clock_gettime), "D"(CLOCK_THREAD_CPUTIME_ID), "S"(&t)
                     : "rcx", "r11", "memory");
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The empty asm keeps gcc from making one function of those that are the same. */
#define BURN(name)                                                                                                     \
    void burn_##name(void);                                                                                            \
    __attribute__((noinline)) void burn_##name(void)                                                                   \
    {                                                                                                                  \
        uint64_t start = thread_ns(), now;                                                                             \
        do {                                                                                                           \
            for (volatile int i = 0; i < 20000; i++)                                                                   \
                ;                                                                                                      \
            now = thread_ns();                                                                                         \
            __asm__ volatile("# " #name);                                                                              \
        } while (now - start < wanted_ns);                                                                             \
        atomic_fetch_add(&used, now - start);                                                                          \
        atomic_fetch_add(&done, 1);                                                                                    \
    }

BURN(plain)
BURN(short)
BURN(masked)
BURN(raw_masked)
BURN(raw_clone)
BURN(exits)
BURN(cancelled)

static void *plain(void *argument)
{
    burn_plain();
    return argument;
}

static void *short_lived(void *argument)
{
    burn_short();
    return argument;
}

static void *masked(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    burn_masked();
    return argument;
}

/* As Go's runtime and Rust's rustix do it: past libc, and past what is in front of libc. */
static void *raw_masked(void *argument)
{
    uint64_t all = ~(uint64_t)0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    burn_raw_masked();
    return argument;
}

static void *exits(void *argument)
{
    burn_exits();
    pthread_exit(argument);
}

static void *cancelled(void *argument)
{
    burn_cancelled();
    for (;;)
        pause();
    return argument;
}

static int raw_clone(void *argument)
{
    (void)argument;
    burn_raw_clone();
    syscall(SYS_exit, 0);
    return 0;
}

static int run_raw_clones(int count)
{
    for (int i = 0; i < count; i++) {
        char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
        if (stack == MAP_FAILED || clone(raw_clone, stack + STACK_SIZE, flags, NULL) < 0)
            return -1;
    }
    while (atomic_load(&done) < count)
        usleep(1000);
    return 0;
}

static int run_pthreads(void *(*routine)(void *), int count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    int made = 0;
    while (threads && made < count && pthread_create(&threads[made], NULL, routine, NULL) == 0)
        made++;
    if (routine == cancelled) {
        while (atomic_load(&done) < made)
            usleep(1000);
        for (int i = 0; i < made; i++)
            pthread_cancel(threads[i]);
    }
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return made == count ? 0 : -1;
}

/* ns that the threads used, 0 when not all could be made. */
uint64_t run_threads(const char *kind, int count, uint64_t ns)
{
    static const struct {
        const char *name;
        void *(*routine)(void *);
    } kinds[] = {{"plain", plain},           {"short", short_lived}, {"masked", masked},
                 {"raw_masked", raw_masked}, {"exits", exits},       {"cancelled", cancelled}};
    wanted_ns = ns;
    atomic_store(&used, 0);
    atomic_store(&done, 0);
    int status = -1;
    if (strcmp(kind, "raw_clone") == 0)
        status = run_raw_clones(count);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].name) == 0)
            status = run_pthreads(kinds[i].routine, count);
    return status == 0 ? atomic_load(&used) : 0;
}
