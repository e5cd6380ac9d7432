/* Threads and children that do what few programs do: begin by a system call of their own and end without a word, linger
 * after their end, live on a page of stack, start programs from two threads at once. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK      (256u << 10)
#define SMALL      (8u << 10)
#define MAX        16
#define LAST_ROUND 4 /* of glibc's over the destructors of keys */
#define BARE       (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID)

extern char **environ;
long begin_thread(long flags, void *stack, volatile int *alive, void (*start)(void));
void burn_odd(void);
int generations(int count, int first, int second, int ms);
int lingering(int ms);
int long_ends(int count, int ms);
int leave_beside(int count, int ms);
int crowd(int count, int ms);
int on_small_stacks(int count, int ms, int blocked);
int vfork_resets(int ignored);
int start_programs(int count);
int ignores_kernel_side(void);

/* clone without libc: a thread that shares its creator's TLS and ends by its own system call. */
__asm__(".globl begin_thread\n"
        "begin_thread:\n"
        "  mov %rcx, %r9\n"
        "  mov %rdx, %r10\n"
        "  xor %edx, %edx\n"
        "  xor %r8d, %r8d\n"
        "  mov $56, %eax\n"
        "  syscall\n"
        "  test %eax, %eax\n"
        "  jnz 1f\n"
        "  xor %ebp, %ebp\n"
        "  call *%r9\n"
        "  mov $60, %eax\n"
        "  xor %edi, %edi\n"
        "  syscall\n"
        "1: ret\n");

static int burn_ms;
static clockid_t burn_clock = CLOCK_MONOTONIC;

/* No TLS, no errno. */
__attribute__((noinline)) void burn_odd(void)
{
    struct timespec begin, now;
    clock_gettime(burn_clock, &begin);
    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        clock_gettime(burn_clock, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < burn_ms);
}

static char *map_stack(size_t size)
{
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return stack == MAP_FAILED ? NULL : stack + size - 64;
}

static void wait_for(volatile int *alive)
{
    int seen;
    while ((seen = *alive) != 0)
        syscall(SYS_futex, alive, 0 /* FUTEX_WAIT */, seen, NULL);
}

/* count times so many threads as `first` and `second` say by turns; they end when the next begin. */
int generations(int count, int first, int second, int ms)
{
    static volatile int alive[MAX];
    burn_ms = ms;
    for (int i = 0; i < count; i++) {
        int width = i % 2 ? second : first;
        for (int k = 0; k < width; k++) {
            char *stack = map_stack(STACK);
            alive[k] = 1;
            if (!stack || begin_thread(BARE, stack, &alive[k], burn_odd) < 0)
                return -1;
        }
        for (int k = 0; k < width; k++)
            wait_for(&alive[k]);
    }
    return 0;
}

static pthread_key_t key;
static useconds_t pause_us;

/* In the last round, when everybody else's destructors have run. */
static void at_end(void *round)
{
    if ((uintptr_t)round < LAST_ROUND) {
        pthread_setspecific(key, (void *)((uintptr_t)round + 1));
        return;
    }
    usleep(pause_us);
    burn_odd();
}

static void *ends_slowly(void *argument)
{
    burn_odd();
    pthread_setspecific(key, (void *)1);
    return argument;
}

static void *sleeps(void *argument)
{
    usleep(2500000);
    return argument;
}

/* One thread that computes before its end and in it, and meanwhile others that could have taken its place. */
int lingering(int ms)
{
    pthread_t slow, others[3];
    burn_ms = ms;
    pause_us = 1500000;
    if (pthread_key_create(&key, at_end) || pthread_create(&slow, NULL, ends_slowly, NULL))
        return -1;
    usleep((useconds_t)ms * 1000 + 200000);
    for (int i = 0; i < 3; i++, usleep(400000))
        if (pthread_create(&others[i], NULL, sleeps, NULL))
            return -1;
    pthread_join(slow, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(others[i], NULL);
    return 0;
}

/* Threads one after the other that use as much in their ends as before: as those do that give back large heaps. */
int long_ends(int count, int ms)
{
    pthread_t thread;
    burn_ms = ms;
    burn_clock = CLOCK_THREAD_CPUTIME_ID;
    if (pthread_key_create(&key, at_end))
        return -1;
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread, NULL, ends_slowly, NULL) || pthread_join(thread, NULL))
            return -1;
    return 0;
}

static void *leaves_past_libc(void *argument)
{
    usleep(*(const useconds_t *)argument);
    for (;;)
        syscall(SYS_exit, 0);
}

/* A thread past libc that computes for so long, and meanwhile threads of libc that end past it, one each tenth. */
int leave_beside(int count, int ms)
{
    static volatile int alive = 1;
    static useconds_t until_us[MAX];
    char *stack = map_stack(STACK);
    pthread_t thread;
    burn_ms = ms;
    for (int i = 0; i < count && i < MAX; i++) {
        until_us[i] = (useconds_t)(ms * 100 * (i + 1));
        if (pthread_create(&thread, NULL, leaves_past_libc, &until_us[i]) || pthread_detach(thread))
            return -1;
    }
    usleep(50000);
    if (!stack || begin_thread(BARE, stack, &alive, burn_odd) < 0)
        return -1;
    wait_for(&alive);
    return 0;
}

static void *burns_too(void *argument)
{
    burn_odd();
    return argument;
}

static int burn_at_once(int count, size_t stack, void *(*routine)(void *))
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t attributes;
    if (!threads || pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, stack))
        return -1;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &attributes, routine, NULL))
            return -1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}

/* More threads at once than get a turn soon. */
int crowd(int count, int ms)
{
    burn_ms = ms;
    return burn_at_once(count, STACK, burns_too);
}

static int burns(void *argument)
{
    (void)argument;
    burn_odd();
    return 0;
}

/* Through libc's clone, one after the other; a guard page is below. */
int on_small_stacks(int count, int ms, int blocked)
{
    static volatile int alive;
    uint64_t all = ~(uint64_t)0, before = 0;
    burn_ms = ms;
    burn_clock = CLOCK_THREAD_CPUTIME_ID; /* one that the machine gives no time is not missed */
    for (int i = 0; i < count; i++) {
        char *stack = map_stack(SMALL);
        if (!stack || mprotect(stack + 64 - SMALL, SMALL / 2, PROT_NONE) != 0)
            return -1;
        alive = 1;
        if (blocked)
            syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
        int tid = clone(burns, stack, BARE, NULL, NULL, NULL, &alive);
        if (blocked)
            syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
        if (tid < 0)
            return -1;
        wait_for(&alive);
    }
    return 0;
}

/* As those do that start programs without posix_spawn. Returns the child's status. */
int vfork_resets(int ignored)
{
    char *arguments[] = {"true", NULL};
    int status = -1;
    pid_t pid = vfork();
    if (pid == 0) {
        struct sigaction action = {.sa_handler = ignored ? SIG_IGN : SIG_DFL};
        for (int signal = 1; signal < SIGRTMIN; signal++)
            sigaction(signal, &action, NULL);
        execve("/bin/true", arguments, environ);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void *starts(void *count)
{
    char *arguments[] = {"true", NULL};
    for (uintptr_t i = 0; i < (uintptr_t)count; i++) {
        pid_t pid;
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) == 0)
            waitpid(pid, NULL, 0);
        execve("/nowhere", arguments, environ);
    }
    return NULL;
}

int start_programs(int count)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, starts, (void *)(uintptr_t)count))
            return -1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* Whether SIGURG is ignored, whatever the program believes. */
int ignores_kernel_side(void)
{
    uint64_t action[4] = {0};
    syscall(SYS_rt_sigaction, SIGURG, NULL, action, 8);
    return action[0] == (uintptr_t)SIG_IGN;
}
