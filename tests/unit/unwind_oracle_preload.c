/* The oracle inside any program: LD_PRELOAD this object. It compares walks of one thread with libunwind's, sampled some
 * time after each other or at every instruction, phase by phase: the program calls oracle_phase and works until
 * oracle_left says 0. What was found goes to the file $ORACLE_LOG, the examples to stderr. */
#include "../../preload/modules/loaded_objects.h"
#include "single_step.h"
#include "thread_stack.h"
#include "unwind_oracle.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS  100000 /* from the end of one comparison to the next: a slow one must not keep the program back */
#define OBJECTS    512
#define BURST      1000 /* so many instructions one after another, then some time of the program's own */
#define MADE_WORDS (1u << 19)
#define MAX_BYTES  (4u << 20)
#define PLACES     (1u << 20)

static struct oracle oracle;
static const char *phase, *how;
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
    int saved_errno = errno;
    note_place(pp_context_pc(context));
    oracle_compare(&oracle, context);
    errno = saved_errno;
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
        step_on(context);
    else
        sample_later();
}

static void on_step(int number, siginfo_t *info, void *context)
{
    static uintptr_t last;
    ucontext_t *uc = context;
    uintptr_t pc = pp_context_pc(uc);
    (void)number, (void)info;
    bool wanted = samples_left > 0 && gettid() == sampled;
    bool repeated = pc == last; /* a string instruction traps at each repetition */
    last = pc;
    if (wanted && !repeated)
        compare(uc);
    if (wanted && (repeated || samples_left % BURST)) {
        step_on(uc);
        return;
    }
    step_off(uc);
    if (wanted)
        sample_later();
}

static bool nothing_else_runs(void)
{
    return true;
}

/* Publishes what handlers have met, and what was loaded since. Handlers go on while the loader's lock is taken: the
 * interrupted thread may have it. */
static void *refresh(void *unused)
{
    struct timespec pause = {0, 20000000};
    pp_loaded_objects_set_gate(oracle_unlock_modules, oracle_lock_modules);
    for (;;) {
        look_at_objects();
        oracle_lock_modules();
        pp_modules_refresh();
        pp_modules_publish();
        pp_modules_reclaim(nothing_else_runs);
        oracle_unlock_modules();
        atomic_fetch_add(&refreshes, 1);
        nanosleep(&pause, NULL);
    }
    return unused;
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
    const struct oracle *o = &oracle;
    fprintf(to, "phase\t%s\t%s\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", phase, how,
            o->samples, o->complete, o->frames, o->agree, o->differ, o->missing, o->unnamed_stops, o->oracle_stopped,
            o->crashed, place_count, o->finished, o->finished_cut, o->finished_wrong);
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
void oracle_every_byte(const char *name);
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
    how = stepping ? "step" : "sample";
    oracle.stack_top = thread_stack_top();
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

/* A stack on which every word leads to another place of it: whatever a rule reads, a wrong one reads something else. */
static uintptr_t made_stack[MADE_WORDS];

/* Registers other than those of the stack lead there too, or are small numbers: OpenSSL finds CFAs by an index in one.
 */
static void make_stack(ucontext_t *context, bool small)
{
    for (size_t i = 0; i < MADE_WORDS; i++)
        made_stack[i] = (uintptr_t)&made_stack[MADE_WORDS / 2 + i * 7919 % (MADE_WORDS / 2)];
    getcontext(context);
    for (unsigned i = 0; i < PP_REG_COUNT; i++)
        put_register(context, i,
                     small && i != PP_REG_SP && i != PP_REG_FP
                         ? i * 5
                         : (uintptr_t)&made_stack[MADE_WORDS / 16 + i * (MADE_WORDS / (2 * PP_REG_COUNT))]);
}

#define CRASHED (-2)

/* libunwind's caller of the first frame: 1 found, 0 there is none, -1 it has no CFI for this address; or CRASHED. */
static int oracle_step(ucontext_t *context, struct oracle_frame *caller)
{
    unw_cursor_t cursor;
    unw_word_t ip = 0, sp = 0;
    volatile int result = -1;
    oracle_walking = 1;
    if (sigsetjmp(oracle_crash, 0)) {
        oracle_walking = 0;
        return CRASHED;
    }
    if (unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME) == 0 && oracle_has_cfi(&cursor)) {
        result = unw_step(&cursor);
        if (oracle_lost_sp(&cursor, context))
            result = -1;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
    }
    oracle_walking = 0;
    *caller = (struct oracle_frame){ip, sp};
    return result > 0 && ip ? 1 : result < 0 ? -1 : 0;
}

/* False when libunwind crashes. */
static bool compare_byte(ucontext_t *context, uintptr_t pc)
{
    struct pp_native_frame ours[4];
    struct pp_native_stack stack = {.frames = ours, .max = 4};
    struct oracle_frame theirs[2] = {{pc, pp_context_sp(context)}};
    put_pc(context, pc);
    int result = oracle_step(context, &theirs[1]);
    if (result < 0)
        return result != CRASHED;
    oracle_walk_by_rows(&oracle, context, &stack);
    bool stopped = stack.count == 1, none = stopped && stack.reason == PP_REASON_NONE;
    oracle.samples++;
    oracle.frames++;
    bool same = !stopped && ours[0].cfa == theirs[1].sp &&
                (ours[1].ip == theirs[1].ip - 1 || ours[1].ip == theirs[1].ip /* behind a signal's frame */);
    if (result == 0 ? none : same) {
        oracle.agree++;
        return true;
    }
    oracle.differ++;
    oracle.unnamed_stops += none;
    const char *kind = result == 0 ? "libunwind stops" : none ? "we stop without a name" : "cfa or ip differs";
    enum pp_reason reason = stopped ? stack.reason : PP_REASON_NONE;
    oracle_keep(&oracle, stopped && !none ? "we stop with a name" : kind, reason, 0, ours, stack.count, theirs, 2);
    return true;
}

static void compare_module(struct pp_module *module, void *name)
{
    static ucontext_t contexts[2];
    const char *file = strrchr(module->path, '/');
    if (!strstr(file ? file : module->path, name))
        return;
    oracle.stack_top = (uintptr_t)&made_stack[MADE_WORDS];
    make_stack(&contexts[0], false);
    make_stack(&contexts[1], true);
    uintptr_t stride = 1 + (module->end - module->start) / MAX_BYTES;
    for (uintptr_t pc = module->start; pc < module->end; pc += stride)
        oracle.crashed += !compare_byte(&contexts[0], pc) && !compare_byte(&contexts[1], pc);
}

/* The first step from every byte of the modules whose file's name contains this one, as though it had been interrupted
 * there.
 */
__attribute__((visibility("default"))) void oracle_every_byte(const char *name)
{
    oracle_phase(name, 0, 0);
    oracle_lock_modules();
    pp_modules_each(compare_module, (void *)(uintptr_t)name);
    oracle_unlock_modules();
    if (!oracle.samples)
        fprintf(stderr, "no module %s\n", name);
    how = "byte";
    end_phase();
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
