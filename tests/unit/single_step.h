/* Has a SIGTRAP come after each instruction of a thread: on x86-64 by the flag in the thread's registers, on AArch64,
 * where no program can set it, by a process that traces the thread. */
#ifndef PP_TESTS_SINGLE_STEP_H
#define PP_TESTS_SINGLE_STEP_H

#include "preload/arch/arch.h"
#include <signal.h>
#include <stdlib.h>

#ifdef __x86_64__

#define TRAP_FLAG 0x100

/* In a handler, as the last thing it does: from its return on each instruction traps. */
static inline void step_on(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* In the handler of SIGTRAP instead. */
static inline void step_off(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

#else

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RETURN_STEPS 2 /* in step_on, from where its thread stops to where it was interrupted */

/* What a thread that is to be stepped tells its tracer. */
struct step_request {
    atomic_bool traced, made;
};

/* In the process that traces: has the thread go on to its next instruction after each request, and in the handler of
 * the SIGTRAP freely. */
static inline void step_trace(pid_t thread, struct step_request *request)
{
    int status, unseen = 0;
    bool stepping = false;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
        _exit(1);
    atomic_store(&request->traced, true);
    while (waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status)) {
        long number = status >> 16 ? 0 : WSTOPSIG(status);
        if (number == SIGSTOP && atomic_exchange(&request->made, false)) {
            const uint64_t mask = ~(UINT64_C(1) << (SIGTRAP - 1)); /* a trap that is blocked kills */
            ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask);
            stepping = true;
            unseen = RETURN_STEPS;
            number = 0;
        } else if (number == SIGTRAP && unseen) {
            unseen--;
            number = 0;
        } else if (number == SIGTRAP) {
            stepping = false;
        }
        ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, thread, NULL, number);
    }
    _exit(0);
}

/* Has a process trace the calling thread, which no call that waits for children finds. */
static inline struct step_request *step_tracer(void)
{
    static struct step_request *request;
    static pid_t traced;
    if (traced == gettid())
        return request;
    if (!request) {
        void *page = mmap(NULL, sizeof *request, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            abort();
        request = page;
    }
    traced = gettid();
    atomic_store(&request->traced, false);
    pid_t tracer = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (tracer == 0)
        step_trace(traced, request);
    while (tracer > 0 && !atomic_load(&request->traced) && waitpid(tracer, NULL, WNOHANG | __WALL) == 0)
        sched_yield();
    if (!atomic_load(&request->traced))
        abort();
    return request;
}

/* The kernel itself restores what was interrupted, vectors of any length too. */
static inline void step_on(ucontext_t *context)
{
    atomic_store(&step_tracer()->made, true);
    pid_t process = getpid(), thread = gettid();
    register long x0 __asm__("x0") = process, x1 __asm__("x1") = thread, x2 __asm__("x2") = SIGSTOP;
    __asm__ volatile("mov sp, %0\n"
                     "mov x8, %1\n"
                     "svc #0\n"
                     "mov x8, %2\n"
                     "svc #0"
                     :
                     : "r"((uintptr_t)context - sizeof(siginfo_t)), "i"(SYS_tgkill), "i"(SYS_rt_sigreturn), "r"(x0),
                       "r"(x1), "r"(x2)
                     : "x8", "memory");
    __builtin_unreachable();
}

static inline void step_off(ucontext_t *context)
{
    (void)context;
}

#endif

#endif
