/* What few programs do to their memory and registers: thread states that another thread deletes, an FS register and
 * flags of their own, a hole in the stack. For ctypes' CDLL: without the GIL. */
#include "cpu.h"
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

int state_is_deleted(int ms);
int state_is_lent(int ms);
int states_are_nested(void);
int churn(int times);
int other_fs(long loops);
int alignment_checks(long loops);
int hole_in_stack(long loops);
void spin_with_rbp(void *rbp, long loops);

static void *function(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

#define PYTHON(result, name, ...) ((result(*)(__VA_ARGS__))(uintptr_t)function(#name))

static void *state;
static volatile int detached;

/* Uses some CPU in the name of a thread state, then without. */
static void *uses_state(void *argument)
{
    state = PYTHON(void *, PyThreadState_New, void *)(PYTHON(void *, PyInterpreterState_Head, void)());
    PYTHON(void, PyEval_RestoreThread, void *)(state);
    PYTHON(int, PyRun_SimpleString, const char *)
    ("import time\nend = time.thread_time() + 0.1\nwhile time.thread_time() < end: pass\n");
    PYTHON(void *, PyEval_SaveThread, void)();
    detached = 1;
    use_us(1000 * *(unsigned *)argument);
    return NULL;
}

/* An embedding program's thread has left Python for good, and another one cleans up. */
int state_is_deleted(int ms)
{
    pthread_t thread;
    void *own = PYTHON(void *, PyGILState_GetThisThreadState, void)();
    if (pthread_create(&thread, NULL, uses_state, &ms))
        return -1;
    while (!detached)
        usleep(1000);
    /* not PyGILState_Ensure: since 3.12 Delete takes the calling thread's own binding with it */
    PYTHON(void, PyEval_RestoreThread, void *)(own);
    PYTHON(void, PyThreadState_Clear, void *)(state);
    PYTHON(void, PyThreadState_Delete, void *)(state);
    PYTHON(void *, PyEval_SaveThread, void)();
    return pthread_join(thread, NULL);
}

/* The thread computes in C; meanwhile another one runs Python in the name of its thread state, and grows and shrinks
 * the stack of frames that belongs to it. */
int state_is_lent(int ms)
{
    pthread_t thread;
    detached = 0;
    if (pthread_create(&thread, NULL, uses_state, &ms))
        return -1;
    while (!detached)
        usleep(1000);
    PYTHON(void, PyEval_RestoreThread, void *)(state);
    PYTHON(int, PyRun_SimpleString, const char *)
    ("import sys, time\nsys.setrecursionlimit(10000)\ndef lent(n): return n and 1 + lent(n - 1)\n"
     "end = time.thread_time() + 0.5\nwhile time.thread_time() < end: lent(700)\n");
    PYTHON(void *, PyEval_SaveThread, void)();
    return pthread_join(thread, NULL);
}

/* Makes and frees thread states of the calling thread, which has let go of another one. */
int churn(int times)
{
    for (int i = 0; i < times; i++) {
        int held = PYTHON(int, PyGILState_Ensure, void)();
        PYTHON(int, PyRun_SimpleString, const char *)("1\n");
        PYTHON(void, PyGILState_Release, int)(held);
    }
    return 0;
}

static void *runs_in_its_name(void *of_another)
{
    PYTHON(void, PyEval_RestoreThread, void *)(of_another);
    PYTHON(int, PyRun_SimpleString, const char *)
    ("import time\nend = time.thread_time() + 1\nwhile time.thread_time() < end: odd.churn(50)\n");
    PYTHON(void *, PyEval_SaveThread, void)();
    return NULL;
}

/* A thread state that the first thread has made, as uWSGI does, and further ones within its calls. */
int states_are_nested(void)
{
    pthread_t thread;
    void *own = PYTHON(void *, PyGILState_GetThisThreadState, void)();
    PYTHON(void, PyEval_RestoreThread, void *)(own);
    void *another = PYTHON(void *, PyThreadState_New, void *)(PYTHON(void *, PyInterpreterState_Head, void)());
    PYTHON(void *, PyEval_SaveThread, void)();
    return pthread_create(&thread, NULL, runs_in_its_name, another) || pthread_join(thread, NULL);
}

/* Thread-local storage of its own kind. */
__attribute__((noinline, optimize("no-stack-protector"))) int other_fs(long loops)
{
    static void *block[1024];
    unsigned long before, after = (unsigned long)&block[512];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(158 /* arch_prctl */), "D"(0x1003 /* ARCH_GET_FS */), "S"(&before)
                     : "rcx", "r11", "memory");
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(158), "D"(0x1002 /* ARCH_SET_FS */), "S"(after)
                     : "rcx", "r11", "memory");
    for (volatile long i = 0; i < loops; i++)
        ;
    __asm__ volatile("syscall" : "=a"(result) : "a"(158), "D"(0x1002), "S"(before) : "rcx", "r11", "memory");
    return 0;
}

__attribute__((noinline)) int alignment_checks(long loops)
{
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | 0x40000);
    for (volatile long i = 0; i < loops; i++)
        ;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~0x40000ull);
    return 0;
}

/* Uses rbp for something else, though its unwind information says, as of much assembly, that it holds the frame. */
__asm__(".globl spin_with_rbp\n"
        ".type spin_with_rbp, @function\n"
        "spin_with_rbp:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  mov %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  mov %rdi, %rbp\n"
        "1: dec %rsi\n"
        "  jnz 1b\n"
        "  pop %rbp\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size spin_with_rbp, . - spin_with_rbp\n");

__attribute__((noinline)) int hole_in_stack(long loops)
{
    volatile char *room = alloca(65536);
    uintptr_t page = ((uintptr_t)room + 32768) & ~(uintptr_t)4095;
    room[0] = 0;
    if (mprotect((void *)page, 4096, PROT_NONE) != 0)
        return -1;
    spin_with_rbp((void *)(page + 2048), loops);
    return mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) + room[0];
}
