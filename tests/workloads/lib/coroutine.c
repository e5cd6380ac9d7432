/* Uses CPU time on other stacks than the thread's own: a coroutine's, between pages that must not be touched, and the
 * alternate one of a signal handler; below many calls there and on the thread's own. */
#include "cpu.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SIZE ((size_t)256 << 10)

int on_coroutine(int ms, int (*call)(void));
int on_signal_stack(int ms);
int dig(int ms, int depth);
int dig_on_coroutine(int ms, int depth);
void burn_elsewhere(int ms, int (*call)(void));

static __thread ucontext_t back, there;
static __thread int burn_ms;
static __thread int (*call_back)(void);
static __thread int call_depth;

__attribute__((noinline)) void burn_elsewhere(int ms, int (*call)(void))
{
    uint64_t end = thread_ns() + 1000000u * (uint64_t)ms;
    while (thread_ns() < end) {
        for (volatile int i = 0; i < 100000; i++)
            ;
        if (call)
            call();
    }
}

static char *fenced(void)
{
    char *fence = mmap(NULL, 3 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fence == MAP_FAILED || mprotect(fence + SIZE, SIZE, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    return fence + SIZE;
}

__attribute__((noinline)) int dig(int ms, int depth)
{
    if (depth == 0)
        burn_elsewhere(ms, NULL);
    else
        dig(ms, depth - 1);
    __asm__ volatile(""); /* no tail call */
    return 0;
}

static void entry(void)
{
    if (call_depth)
        dig(burn_ms, call_depth);
    else
        burn_elsewhere(burn_ms, call_back);
}

int on_coroutine(int ms, int (*call)(void))
{
    burn_ms = ms;
    call_back = call;
    if (getcontext(&there) != 0 || !(there.uc_stack.ss_sp = fenced()))
        return -1;
    there.uc_stack.ss_size = SIZE;
    there.uc_link = &back;
    makecontext(&there, entry, 0);
    return swapcontext(&back, &there);
}

int dig_on_coroutine(int ms, int depth)
{
    call_depth = depth;
    int status = on_coroutine(ms, NULL);
    call_depth = 0;
    return status;
}

static void handler(int number)
{
    (void)number;
    burn_elsewhere(burn_ms, NULL);
}

int on_signal_stack(int ms)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, before;
    stack_t stack = {.ss_sp = fenced(), .ss_size = SIZE}, other;
    burn_ms = ms;
    if (!stack.ss_sp || sigaltstack(&stack, &other) != 0 || sigaction(SIGUSR1, &action, &before) != 0)
        return -1;
    raise(SIGUSR1);
    sigaltstack(&other, NULL);
    return sigaction(SIGUSR1, &before, NULL);
}
