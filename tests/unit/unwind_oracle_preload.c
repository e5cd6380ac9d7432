/* The oracle inside any program: LD_PRELOAD this object. Samples the main thread by a CPU timer, compares each walk
 * with libunwind's, and prints the sums to stderr at exit. ORACLE_STEPS=N: single-steps N instructions after each
 * sample. */
#include "../../preload/capture/unwind_table.h"
#include "unwind_oracle.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRAP_FLAG 0x100
#define PERIOD_NS 1000000
#define OBJECTS   512

static struct oracle oracle;
static timer_t timer;
static pid_t process;
static volatile long steps_left, steps_each;

/* libunwind looks for objects by dl_iterate_phdr, whose lock the interrupted thread may be about to take: in the
 * handler it gets the objects of the last look instead. */
struct objects {
    unsigned count;
    struct dl_phdr_info infos[OBJECTS];
};
static struct objects buffers[2];
static struct objects *_Atomic objects;

typedef int iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *arg);

static int keep_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct objects *into = arg;
    (void)size;
    if (into->count < OBJECTS)
        into->infos[into->count++] = *info;
    return 0;
}

static iterate *real_iterate(void)
{
    static iterate *_Atomic real;
    iterate *found = real;
    if (!found)
        real = found = (iterate *)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return found;
}

__attribute__((visibility("default"))) int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *),
                                                           void *arg)
{
    struct objects *known = objects;
    if (!oracle_walking || !known || gettid() != process)
        return real_iterate()(callback, arg);
    int result = 0;
    for (unsigned i = 0; i < known->count && result == 0; i++)
        result = callback(&known->infos[i], sizeof known->infos[i], arg);
    return result;
}

static void look_at_objects(void)
{
    struct objects *next = objects == &buffers[0] ? &buffers[1] : &buffers[0];
    next->count = 0;
    real_iterate()(keep_object, next);
    objects = next;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (getpid() != process)
        return;
    oracle_compare(&oracle, context);
    if (steps_each) {
        steps_left = steps_each;
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    }
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    oracle_compare(&oracle, context);
    if (--steps_left <= 0)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

/* Rows are compiled here once more for what was loaded since: not in a handler, but in a timer thread's stead. */
static void *refresh(void *unused)
{
    struct timespec pause = {0, 20000000};
    for (;;) {
        look_at_objects();
        pp_modules_refresh(PP_ROWS_ALL);
        nanosleep(&pause, NULL);
    }
    return unused;
}

static uintptr_t own_stack_top(void)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)start + size;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);
    sigaction(number, &action, NULL);
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    sigset_t all, before;
    const char *steps = getenv("ORACLE_STEPS");
    steps_each = steps ? atol(steps) : 0;
    process = getpid();
    oracle.stack_top = own_stack_top();
    oracle_guard();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, NULL, refresh, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    handle(SIGPROF, on_tick);
    handle(SIGTRAP, on_step);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec interval = {{0, PERIOD_NS}, {0, PERIOD_NS}};
    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &interval, NULL);
}

__attribute__((destructor)) static void stop(void)
{
    if (getpid() != process)
        return;
    steps_left = 0;
    timer_delete(timer);
    oracle_print(&oracle, stderr, "oracle");
}
