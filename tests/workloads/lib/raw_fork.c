/* fork() by a thread that was made by a bare clone: it has its creator's TLS, and is not registered. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE (256 << 10)

int fork_in_raw_thread(void);
void burn_in_raw_child(void);

static _Atomic int result;

__attribute__((noinline)) void burn_in_raw_child(void)
{
    struct timespec t;
    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 500000000);
}

static int raw_thread(void *argument)
{
    (void)argument;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        burn_in_raw_child();
        _exit(7);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    atomic_store(&result, pid > 0 ? status : -2);
    syscall(SYS_exit, 0);
    return 0;
}

/* The child's status as waitpid gives it. */
int fork_in_raw_thread(void)
{
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    atomic_store(&result, -1);
    if (stack == MAP_FAILED ||
        clone(raw_thread, stack + STACK_SIZE,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL) < 0)
        return -3;
    /* no call that both would make at once: they share errno, and the lock words of libc */
    while (atomic_load(&result) == -1)
        syscall(SYS_sched_yield);
    return atomic_load(&result);
}
