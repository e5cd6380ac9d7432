/* The oracle inside any program: LD_PRELOAD this object. It compares walks of one thread with libunwind's, sampled some
 * time after each other or at every instruction, phase by phase: the program calls oracle_phase and works until
 * oracle_left says 0. What was found goes to the file $ORACLE_LOG, the examples to stderr. */
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
#define PERIOD_NS 100000 /* from the end of one comparison to the next: a slow one must not keep the program back */
#define OBJECTS   512
#define PLACES    (1u << 20)

static struct oracle oracle;
static const char *phase;
static timer_t timer;
static pid_t process, sampled;
static volatile long samples_left;
static bool stepping;
static atomic_ulong refreshes;

/* Which instructions were met, as a hash set. */
static uintptr_t places[PLACES];
static unsigned long place_count;

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
    if (!oracle_walking || !known || gettid() != sampled)
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

static void note_place(uintptr_t pc)
{
    uint32_t at = (uint32_t)((uint64_t)pc * 0x9E3779B97F4A7C15u >> 32) % PLACES;
    while (places[at] && places[at] != pc)
        at = (at + 1) % PLACES;
    if (places[at] || place_count == PLACES / 2)
        return;
    places[at] = pc;
    place_count++;
}

static void compare(const ucontext_t *context)
{
    note_place((uintptr_t)context->uc_mcontext.gregs[REG_RIP]);
    oracle_compare(&oracle, context);
    samples_left--;
}

static void sample_later(void)
{
    struct itimerspec once = {.it_value = {0, PERIOD_NS}};
    timer_settime(timer, 0, &once, NULL);
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (samples_left <= 0 || gettid() != sampled)
        return;
    compare(context);
    if (stepping)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    else
        sample_later();
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (samples_left > 0 && gettid() == sampled)
        compare(context);
    if (samples_left <= 0 || gettid() != sampled)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

/* Rows are compiled here for what was loaded since: not in a handler, but in a flush thread's stead. */
static void *refresh(void *unused)
{
    struct timespec pause = {0, 20000000};
    for (;;) {
        look_at_objects();
        pp_modules_refresh(PP_ROWS_ALL);
        atomic_fetch_add(&refreshes, 1);
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

static void log_place(FILE *to, uintptr_t ip)
{
    uintptr_t start = 0;
    struct pp_module *module = pp_module_find(ip);
    const char *name = module ? pp_module_symbol(module, ip, &start) : NULL;
    const char *file = module ? strrchr(module->path, '/') : NULL;
    fprintf(to, "\t%s+%#lx\t%s+%#lx", file ? file + 1 : "?", module ? ip - module->bias : ip, name ? name : "?",
            name ? ip - start : 0);
}

static void log_phase(FILE *to)
{
    const char *how = stepping ? "step" : "sample";
    const struct oracle *o = &oracle;
    fprintf(to, "phase\t%s\t%s\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", phase, how, o->samples,
            o->complete, o->frames, o->agree, o->differ, o->missing, o->unnamed_stops, o->oracle_stopped, o->crashed,
            place_count);
    if (o->kinds_dropped)
        fprintf(to, "dropped\t%s\t%s\t%lu\n", phase, how, o->kinds_dropped);
    for (unsigned i = 0; i < ORACLE_KINDS; i++) {
        const struct oracle_kind *k = &o->kinds[i];
        if (!k->count)
            continue;
        fprintf(to, "kind\t%s\t%s\t%lu\t%s\t%s", phase, how, k->count, k->kind, oracle_reasons[k->reason]);
        log_place(to, k->ip);
        log_place(to, k->innermost);
        fputc('\n', to);
    }
}

static void end_phase(void)
{
    samples_left = 0;
    sampled = 0;
    if (!phase)
        return;
    const char *path = getenv("ORACLE_LOG");
    FILE *log = path ? fopen(path, "a") : NULL;
    log_phase(log ? log : stderr);
    if (log)
        fclose(log);
    if (oracle.example_count)
        oracle_print(&oracle, stderr, phase);
    phase = NULL;
}

void oracle_phase(const char *name, long samples, int at_every_instruction);
long oracle_left(void);

/* Ends the phase before it, and begins one of the calling thread; NULL: none. What is loaded later has no rows yet. */
__attribute__((visibility("default"))) void oracle_phase(const char *name, long samples, int at_every_instruction)
{
    struct timespec pause = {0, 5000000};
    end_phase();
    if (!name)
        return;
    for (unsigned long seen = refreshes; refreshes < seen + 2;)
        nanosleep(&pause, NULL);
    memset(&oracle, 0, sizeof oracle);
    memset(places, 0, sizeof places);
    place_count = 0;
    phase = strdup(name);
    stepping = at_every_instruction;
    oracle.stack_top = own_stack_top();
    oracle_guard(); /* somebody may have taken SIGSEGV */
    sampled = gettid();
    samples_left = samples;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = sampled;
    if (timer)
        timer_delete(timer);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    sample_later();
}

__attribute__((visibility("default"))) long oracle_left(void)
{
    return samples_left > 0 ? samples_left : 0;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    sigset_t all, before;
    process = getpid();
    unsetenv("LD_PRELOAD"); /* children are not of interest */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, NULL, refresh, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    handle(SIGPROF, on_tick);
    handle(SIGTRAP, on_step);
}

__attribute__((destructor)) static void stop(void)
{
    if (getpid() == process)
        end_phase();
}
