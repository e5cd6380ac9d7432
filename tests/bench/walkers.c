/*
 * What a walk costs, by ours and by libunwind on the same signal contexts: tests/bench/walkers.py loads this object
 * into an interpreter and asks it for series of measurements, in ticks of the processor's clock.
 */
#define UNW_LOCAL_ONLY
#include "walkers.h"
#include "preload/capture/native_walk.h"
#include "preload/capture/slot.h"
#include "preload/modules/modules.h"
#include "tests/unit/thread_stack.h"
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_MEASURED 20000
#define MAX_FRAMES   512
#define WARM_UP      8
#define WARM_BLOCK   32                /* walks of one kind one after another */
#define EVICT_BYTES  ((size_t)8 << 20) /* more than any L2 */
#define LINE         64

enum walker { SIGNAL_ONLY, OURS, OURS_UNCACHED, STEP, BACKTRACE, WALKERS };
enum mode { WARM, EVICTED, TICKS };

static struct {
    uint64_t ticks[MAX_MEASURED];
    unsigned count;
    uint64_t frames;
} series[WALKERS];
static uintptr_t stack_top;
static enum mode mode;
static unsigned samples, next_walker;
static uint8_t evicting[EVICT_BYTES];
static struct pp_rule_cache cache;
static timer_t timer;

static unsigned walk_ours(const ucontext_t *context, struct pp_rule_cache *with)
{
    static struct pp_native_frame frames[MAX_FRAMES];
    struct pp_native_stack stack = {.frames = frames, .cache = with, .max = MAX_FRAMES};
    pp_native_walk(context, stack_top, &stack);
    return stack.reason == PP_REASON_NONE ? stack.count : 0;
}

static unsigned walk_by_steps(const ucontext_t *context)
{
    static unw_word_t addresses[MAX_FRAMES];
    unw_cursor_t cursor;
    unsigned count = 0;
    if (unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME) != 0)
        return 0;
    do
        unw_get_reg(&cursor, UNW_REG_IP, &addresses[count++]);
    while (count < MAX_FRAMES && unw_step(&cursor) > 0);
    return count;
}

/* From here, through this handler and the kernel's frame: there is no other way to call it. */
static unsigned walk_by_backtrace(void)
{
    static void *addresses[MAX_FRAMES];
    int count = unw_backtrace(addresses, MAX_FRAMES);
    return count > 0 ? (unsigned)count : 0;
}

static unsigned walk_by(enum walker walker, const ucontext_t *context)
{
    switch (walker) {
    case OURS:
        return walk_ours(context, &cache);
    case OURS_UNCACHED:
        return walk_ours(context, NULL);
    case STEP:
        return walk_by_steps(context);
    case BACKTRACE:
        return walk_by_backtrace();
    default:
        syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
        return 0;
    }
}

static void measure(enum walker walker, const ucontext_t *context)
{
    uint64_t start = bench_now();
    unsigned frames = walk_by(walker, context);
    uint64_t end = bench_now();
    unsigned at = series[walker].count;
    if (at == MAX_MEASURED)
        return;
    series[walker].ticks[at] = end - start;
    series[walker].frames += frames;
    series[walker].count = at + 1;
}

static void evict(void)
{
    for (size_t i = 0; i < EVICT_BYTES; i += LINE)
        ((volatile uint8_t *)evicting)[i]++;
}

/* Has rows compiled for functions of this stack that were not met yet. Where this program's code is interrupted no
 * thread is inside the loader. */
static void meet(const ucontext_t *context)
{
    static struct pp_native_frame frames[MAX_FRAMES];
    struct pp_walk_state stopped;
    struct pp_native_stack stack = {.frames = frames, .stopped = &stopped, .max = MAX_FRAMES};
    for (;;) {
        pp_native_walk(context, stack_top, &stack);
        if (!stack.continuable || !pp_module_add_sampled(frames[stack.count - 1].ip))
            return;
        pp_modules_publish();
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (mode == TICKS) {
        measure((enum walker)(next_walker++ % WALKERS), context);
        meet(context); /* not before it: that would warm the caches */
        return;
    }
    meet(context);
    /* which kind comes first changes */
    for (unsigned i = 0; i < WALKERS; i++) {
        enum walker walker = (enum walker)((i + next_walker) % WALKERS);
        for (unsigned k = 0; mode == WARM && k < WARM_UP; k++)
            walk_by(walker, context);
        if (mode == EVICTED)
            evict();
        for (unsigned k = 0; k < (mode == WARM ? WARM_BLOCK : 1); k++)
            measure(walker, context);
    }
    next_walker++;
}

static void on_nothing(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(number, &action, NULL);
}

static void begin(enum mode how)
{
    for (unsigned i = 0; i < WALKERS; i++)
        series[i].count = 0, series[i].frames = 0;
    mode = how;
    next_walker = 0;
    pp_modules_refresh();
    stack_top = thread_stack_top();
    memset(evicting, 1, sizeof evicting);
    memset(&cache, 0, sizeof cache);
    handle(SIGUSR1, on_signal);
    handle(SIGUSR2, on_nothing);
}

void bench_here(int how, unsigned count)
{
    begin((enum mode)how);
    for (unsigned i = 0; i < count; i++)
        syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
}

/* Frames of different functions and sizes: one function alone would need one rule only. */
typedef void descend(unsigned depth);
static descend *const levels[16];

#define LEVEL(n)                                                                                                       \
    __attribute__((noinline)) static void level_##n(unsigned depth)                                                    \
    {                                                                                                                  \
        volatile char local[16 * (n) + 8];                                                                             \
        local[0] = local[sizeof local - 1] = (char)depth;                                                              \
        if (depth)                                                                                                     \
            levels[(depth * 7 + (n)) % 16](depth - 1);                                                                 \
        else                                                                                                           \
            for (unsigned i = 0; i < samples; i++)                                                                     \
                syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);                                                      \
        local[1] = local[0];                                                                                           \
    }
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)
LEVEL(4)
LEVEL(5)
LEVEL(6)
LEVEL(7)
LEVEL(8)
LEVEL(9)
LEVEL(10)
LEVEL(11)
LEVEL(12)
LEVEL(13)
LEVEL(14)
LEVEL(15)
static descend *const levels[16] = {level_0, level_1, level_2,  level_3,  level_4,  level_5,  level_6,  level_7,
                                    level_8, level_9, level_10, level_11, level_12, level_13, level_14, level_15};

#define FRAMES_AROUND 5 /* syscall, the last level, in_thread, start_thread, clone */

static void *in_thread(void *depth)
{
    begin(mode);
    level_0(*(const unsigned *)depth - FRAMES_AROUND);
    return NULL;
}

void bench_c(int how, unsigned count, unsigned depth)
{
    pthread_t thread;
    mode = (enum mode)how;
    samples = count;
    if (pthread_create(&thread, NULL, in_thread, &depth) == 0)
        pthread_join(thread, NULL);
}

void bench_start(unsigned hz)
{
    begin(TICKS);
    handle(SIGPROF, on_signal);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = gettid();
    struct timespec period = {0, 1000000000 / hz};
    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &(struct itimerspec){period, period}, NULL);
}

void bench_stop(void)
{
    timer_delete(timer);
}

const uint64_t *bench_series(int walker, unsigned *count, uint64_t *frames)
{
    *count = series[walker].count;
    *frames = series[walker].frames;
    return series[walker].ticks;
}

uint64_t bench_clock(void)
{
    return bench_now();
}

void bench_queue(uint32_t slot, unsigned count)
{
    siginfo_t info = {.si_signo = SIGURG, .si_code = SI_TIMER};
    info.si_value.sival_ptr = (void *)pp_slot_sigval(slot);
    for (unsigned i = 1; i <= count; i++) {
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGURG, &info);
        if (i % 200 == 0)
            usleep(5000);
    }
}
