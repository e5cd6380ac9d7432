/* A filter for all threads, which kills for timers, while threads that have hardly any CPU make others. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAKERS 6
#define BUSY   4 /* threads, on two CPUs */

static volatile int over;

static void *nothing(void *argument)
{
    return argument;
}

static void *make(void *argument)
{
    static const struct sched_param none;
    sched_setscheduler(0, SCHED_IDLE, &none);
    while (!over) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return argument;
}

static void *spin(void *argument)
{
    while (!over)
        ;
    return argument;
}

int filter_while_threads_begin(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_settime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    pthread_t threads[MAKERS + BUSY];
    for (int i = 0; i < MAKERS + BUSY; i++)
        pthread_create(&threads[i], NULL, i < MAKERS ? make : spin, NULL);
    usleep(50000);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    usleep(100000);
    over = 1;
    for (int i = 0; i < MAKERS + BUSY; i++)
        pthread_join(threads[i], NULL);
    return (int)failed;
}
