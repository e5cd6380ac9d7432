/* Our walk against libunwind's, in code of all kinds: sampled by a CPU timer, and at every single instruction. */
#include "single_step.h"
#include "thread_stack.h"
#include "unit.h"
#include "unwind_oracle.h"
#include <alloca.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#ifdef __x86_64__
#define STEPS_EACH           ROUNDS(40000, 15000)
#define MIN_COMPLETE_LONGJMP MIN_COMPLETE
#else
/* Each step stops the thread for the process that traces it, in an emulated guest for 10 ms or more. */
#define STEPS_EACH           1000
/* glibc describes the jmp_buf as longjmp's frame there. At the 24 instructions from there on, of about 150 in all, no
 * unwinder finds the caller. */
#define MIN_COMPLETE_LONGJMP 0.8
/* libunwind 1.6 ends at a return address that is signed, so what it is to walk is compiled without. */
#pragma GCC target("branch-protection=none")
#endif
#define MIN_AGREEMENT 0.999
#define MIN_COMPLETE  0.999
#define PERIOD_NS     1000000 /* from the end of one comparison to the next: a slow one must not keep the program back */

static struct oracle oracle;
static volatile long steps_left;
static volatile double sink;

static double (*lib_pow)(double, double);
static double (*lib_sin)(double);
static int (*lib_compress)(unsigned char *, unsigned long *, const unsigned char *, unsigned long);
static unsigned char *(*lib_sha256)(const unsigned char *, size_t, unsigned char *);
static unsigned char *(*lib_sha512)(const unsigned char *, size_t, unsigned char *);
static void (*lib_blocks[3])(void *, const unsigned char *);

static timer_t timer;

static void sample_later(void)
{
    struct itimerspec once = {.it_value = {0, PERIOD_NS}};
    timer_settime(timer, 0, &once, NULL);
}

static void on_tick(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    oracle_compare(&oracle, context);
    sample_later();
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ucontext_t *uc = context;
    oracle_compare(&oracle, uc);
    if (--steps_left <= 0)
        step_off(uc);
    else
        step_on(uc);
}

static void on_start(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    step_on(context);
}

/* From the handler's return on every instruction of the thread traps, until steps_left is used up. The flag is set in
 * the context: to set it by popf would need the stack in a way that no CFI tells. */
static void start_stepping(long steps)
{
    steps_left = steps;
    raise(SIGUSR2);
}

static void stop_stepping(void)
{
    steps_left = 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void work_qsort(void)
{
    double values[300];
    for (unsigned i = 0; i < 300; i++)
        values[i] = (double)(i * 7919 % 1009);
    qsort(values, 300, sizeof *values, compare_doubles);
    sink = values[10];
}

static void work_math(void)
{
    double sum = 0;
    for (int i = 1; i < 200 && lib_pow; i++)
        sum += lib_pow(i, 1.37) + lib_sin(i * 1e6);
    sink = sum;
}

static void work_strings(void)
{
    char text[512];
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "%d %s %.17g %-20p|%5ld", i, "text", i * 1.1, (void *)text, 5L);
        char *copy = strdup(text);
        sink += (double)strlen(copy) + strtod(text, NULL) + (strstr(copy, "ext") != NULL);
        void *p = malloc(1 + (size_t)i * 4000);
        memset(p, i, 1 + (size_t)i * 4000);
        free(p);
        free(copy);
    }
}

static void work_zlib(void)
{
    unsigned char in[3000], out[6000];
    for (unsigned i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * i >> 3);
    unsigned long size = sizeof out;
    if (lib_compress)
        lib_compress(out, &size, in, sizeof in);
}

/* Assembly first, which is not to be stepped to: on AArch64 OpenSSL's has no unwind information, so its instructions
 * tell. */
static void work_crypto(void)
{
    static unsigned char in[4000], out[64];
    static _Alignas(64) unsigned char state[512];
    for (unsigned i = 0; i < sizeof lib_blocks / sizeof *lib_blocks; i++)
        if (lib_blocks[i])
            lib_blocks[i](state, in);
    if (lib_sha256)
        lib_sha256(in, sizeof in, out);
    if (lib_sha512)
        lib_sha512(in, sizeof in, out);
}

static __attribute__((noinline)) unsigned recursion(unsigned n)
{
    volatile unsigned here = n;
    if (n == 0)
        return sink > 0;
    return recursion(n - 1) + here;
}

static void work_recursion(void)
{
    for (unsigned i = 0; i < 30; i++)
        sink = recursion(i * 3);
}

static __attribute__((noinline)) void alloca_frame(size_t n, unsigned depth)
{
    char *p = alloca(n);
    memset(p, 1, n);
    if (depth)
        alloca_frame(n + 13, depth - 1);
    sink += p[n / 2];
}

/* Realigned stack: the CFA is found through the saved argument pointer (r10) by a dereference. */
static __attribute__((noinline)) double aligned_frame(unsigned n, unsigned depth, ...)
{
    _Alignas(64) volatile double lanes[16];
    va_list arguments;
    va_start(arguments, depth);
    char *p = alloca(n + 1);
    memset(p, 0, n + 1);
    for (unsigned i = 0; i < 16; i++)
        lanes[i] = i + va_arg(arguments, int) * p[n / 2];
    va_end(arguments);
    if (depth)
        lanes[0] += aligned_frame(n + 1, depth - 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    qsort((void *)lanes, 16, sizeof lanes[0], compare_doubles);
    return lanes[n % 16];
}

static void work_frames(void)
{
    for (unsigned i = 0; i < 20; i++) {
        alloca_frame(64 + i * 50, 4);
        sink += aligned_frame(i, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    }
}

static jmp_buf target;
static __attribute__((noinline)) void jump(unsigned depth)
{
    if (depth == 0)
        longjmp(target, 1);
    if (sink < 1e300) /* always: without it the compiler sees that nobody returns */
        jump(depth - 1);
}

static void work_longjmp(void)
{
    for (volatile unsigned i = 0; i < 20; i++)
        if (setjmp(target) == 0)
            jump(i % 5);
}

static void in_handler(int signal)
{
    (void)signal;
    work_qsort();
    recursion(10);
}

static void work_signals(void)
{
    signal(SIGUSR1, in_handler);
    for (unsigned i = 0; i < 3; i++)
        raise(SIGUSR1);
}

static void work_system_calls(void)
{
    struct timespec ts;
    struct timeval tv;
    for (unsigned i = 0; i < 50; i++) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        gettimeofday(&tv, NULL);
        sink += (double)(ts.tv_nsec + tv.tv_usec + time(NULL));
    }
}

/* As OpenSSL's assembly does it: the CFA is in a register that a caller would have to save, but which the callee,
 * assembly too, keeps. */
#ifdef __x86_64__
__asm__(".text\n"
        ".type by_register, @function\n"
        "by_register: .cfi_startproc\n"
        "lea 8(%rsp), %r11\n"
        ".cfi_def_cfa %r11, 0\n"
        "push %rbp\n"
        ".cfi_offset %rbp, -16\n"
        "sub $40, %rsp\n"
        "and $-32, %rsp\n"
        "call keeps_it\n"
        "nop\n"
        "mov -16(%r11), %rbp\n"
        "lea -8(%r11), %rsp\n"
        ".cfi_def_cfa %rsp, 8\n"
        ".cfi_restore %rbp\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size by_register, .-by_register\n"
        ".type keeps_it, @function\n"
        "keeps_it: .cfi_startproc\n"
        "mov $20, %eax\n"
        "1: dec %eax\n"
        "jnz 1b\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size keeps_it, .-keeps_it\n");
#else
__asm__(".text\n"
        ".type by_register, @function\n"
        "by_register: .cfi_startproc\n"
        "bti c\n"
        "mov x11, sp\n"
        ".cfi_def_cfa x11, 0\n"
        "stp x29, x30, [sp, #-48]!\n"
        ".cfi_offset x29, -48\n"
        ".cfi_offset x30, -40\n"
        "bl keeps_it\n"
        "nop\n"
        "ldp x29, x30, [sp], #48\n"
        ".cfi_def_cfa sp, 0\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size by_register, .-by_register\n"
        ".type keeps_it, @function\n"
        "keeps_it: .cfi_startproc\n"
        "mov x9, #20\n"
        "1: subs x9, x9, #1\n"
        "b.ne 1b\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size keeps_it, .-keeps_it\n");
#endif
void by_register(void);

static void work_assembly(void)
{
    for (unsigned i = 0; i < 20; i++)
        by_register();
}

static const struct {
    const char *name;
    void (*work)(void);
    double min_complete; /* of the samples */
} works[] = {
    {"qsort", work_qsort, MIN_COMPLETE},       {"math", work_math, MIN_COMPLETE},
    {"strings", work_strings, MIN_COMPLETE},   {"zlib", work_zlib, MIN_COMPLETE},
    {"crypto", work_crypto, MIN_COMPLETE},     {"recursion", work_recursion, MIN_COMPLETE},
    {"frames", work_frames, MIN_COMPLETE},     {"longjmp", work_longjmp, MIN_COMPLETE_LONGJMP},
    {"signals", work_signals, MIN_COMPLETE},   {"system calls", work_system_calls, MIN_COMPLETE},
    {"assembly", work_assembly, MIN_COMPLETE},
};
#define WORKS (sizeof works / sizeof works[0])

static void *library_function(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    return handle ? dlsym(handle, name) : NULL;
}

static void reset_oracle(void)
{
    memset(&oracle, 0, sizeof oracle);
    oracle_guard(); /* cmocka takes SIGSEGV for each test */
    oracle.stack_top = thread_stack_top();
}

void before_all(void)
{
    *(void **)&lib_pow = library_function("libm.so.6", "pow");
    *(void **)&lib_sin = library_function("libm.so.6", "sin");
    *(void **)&lib_compress = library_function("libz.so.1", "compress");
    *(void **)&lib_sha256 = library_function("libcrypto.so.3", "SHA256");
    *(void **)&lib_sha512 = library_function("libcrypto.so.3", "SHA512");
    static const char *const blocks[] = {"SHA1_Transform", "SHA256_Transform", "SHA512_Transform"};
    for (unsigned i = 0; i < sizeof blocks / sizeof *blocks; i++)
        *(void **)&lib_blocks[i] = library_function("libcrypto.so.3", blocks[i]);
    for (unsigned i = 0; i < WORKS; i++)
        works[i].work(); /* once, so that nothing is loaded or bound in the middle of it */
    pp_modules_refresh();
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);
    sigaction(number, &action, NULL);
}

static void assert_agreement(unsigned long min_samples, double min_complete)
{
    assert_true(oracle.samples >= min_samples);
    assert_true((double)oracle.agree >= MIN_AGREEMENT * (double)oracle.frames);
    assert_int_equal(oracle.unnamed_stops, 0);
    assert_int_equal(oracle.finished, oracle.samples);
    assert_int_equal(oracle.finished_wrong, 0);
    assert_int_equal(oracle.finished_cut, 0);
    assert_true((double)oracle.complete >= min_complete * (double)oracle.samples);
}

TEST(test_every_instruction)
{
    handle(SIGTRAP, on_step);
    handle(SIGUSR2, on_start);
    for (unsigned i = 0; i < WORKS; i++) {
        reset_oracle();
        start_stepping(STEPS_EACH);
        works[i].work();
        stop_stepping();
        oracle_print(&oracle, stderr, works[i].name);
        assert_agreement(100, works[i].min_complete);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

TEST(test_sampled)
{
    reset_oracle();
    handle(SIGPROF, on_tick);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    assert_int_equal(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer), 0);
    sample_later();
    /* longer where most of the time is spent in comparisons */
    for (double start = cpu_seconds(), used = 0; used < 1.5 || (oracle.samples < 200 && used < 30);
         used = cpu_seconds() - start)
        for (unsigned i = 0; i < WORKS; i++)
            works[i].work();
    timer_delete(timer);
    oracle_print(&oracle, stderr, "sampled");
    assert_agreement(50, MIN_COMPLETE);
}
