/* Waits by every function that a signal would end, after work of up to 2 ms each, and counts what ended with EINTR or
 * with less than it was to move: calls from waits.py, in a thread each. */
#define _GNU_SOURCE
#include "cpu.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (1 << 20)

static long now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work(unsigned *seed)
{
    uint64_t end = thread_ns() + (uint64_t)rand_r(seed) % 2000000;
    while (thread_ns() < end)
        ;
}

static struct timespec in(clockid_t clock, long ns)
{
    long at = (clock < 0 ? 0 : now_ns(clock)) + ns;
    return (struct timespec){at / 1000000000, at % 1000000000};
}

/* Returns -1 with EINTR if the wait was interrupted. ns: how long it may last. */
static long once(const char *how, long ns, int pipe_out, int sockets[2], int epoll, int semaphores, int queue)
{
    struct timespec time = in(-1, ns), realtime = in(CLOCK_REALTIME, ns);
    struct pollfd one = {.fd = pipe_out, .events = POLLIN};
    struct epoll_event event;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_out, &set);
    struct timeval micro = {0, ns / 1000 + 1}; /* 0 would be for ever */
#define IS(name) (strcmp(how, name) == 0)
    if (IS("poll"))
        return poll(&one, 1, (int)(ns / 1000000) + 1);
    if (IS("ppoll"))
        return ppoll(&one, 1, &time, NULL);
    if (IS("select"))
        return select(pipe_out + 1, &set, NULL, NULL, &micro);
    if (IS("pselect"))
        return pselect(pipe_out + 1, &set, NULL, NULL, &time, NULL);
    if (IS("epoll_wait"))
        return epoll_wait(epoll, &event, 1, (int)(ns / 1000000) + 1);
    if (IS("epoll_pwait"))
        return epoll_pwait(epoll, &event, 1, (int)(ns / 1000000) + 1, NULL);
    if (IS("nanosleep"))
        return nanosleep(&time, NULL);
    if (IS("clock_nanosleep")) {
        errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
        return errno ? -1 : 0;
    }
    if (IS("usleep"))
        return usleep((useconds_t)(ns / 1000));
    if (IS("sigtimedwait")) {
        sigset_t wanted;
        sigemptyset(&wanted);
        sigaddset(&wanted, SIGWINCH);
        return sigtimedwait(&wanted, NULL, &time);
    }
    if (IS("semtimedop"))
        return semtimedop(semaphores, &(struct sembuf){0, -1, 0}, 1, &time);
    if (IS("sem_timedwait")) {
        sem_t semaphore;
        sem_init(&semaphore, 0, 0);
        return sem_timedwait(&semaphore, &realtime);
    }
    if (IS("cond_timedwait")) {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
        pthread_mutex_lock(&mutex);
        errno = pthread_cond_timedwait(&condition, &mutex, &realtime);
        pthread_mutex_unlock(&mutex);
        return errno ? -1 : 0;
    }
    if (IS("recv") || IS("accept")) { /* only with a time-out do these end by a signal */
        char byte;
        setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &micro, sizeof micro);
        return IS("recv") ? recv(sockets[0], &byte, 1, 0) : recvfrom(sockets[0], &byte, 1, 0, NULL, NULL);
    }
    if (IS("msgrcv")) { /* without a time-out: waits.py sends each 3 ms */
        struct {
            long type;
            char text[8];
        } message;
        return msgrcv(queue, &message, sizeof message.text, 0, 0);
    }
    if (IS("syscall"))
        return syscall(SYS_poll, &one, 1, (int)(ns / 1000000) + 1);
    if (IS("raw")) { /* past libc */
        register long timeout __asm__("r10") = 0;
        long result;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"((long)SYS_poll), "D"(&one), "S"(1L), "d"(ns / 1000000 + 1), "r"(timeout)
                         : "rcx", "r11", "memory");
        errno = result < 0 ? (int)-result : 0;
        return result < 0 ? -1 : result;
    }
    abort();
}

/* Returns how many of the waits were interrupted. */
long wait_for(const char *how, double seconds, unsigned seed, long *waits)
{
    int ends[2], sockets[2], epoll = epoll_create1(EPOLL_CLOEXEC);
    int semaphores = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600);
    long interrupted = 0, end = now_ns(CLOCK_MONOTONIC) + (long)(seconds * 1e9);
    if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        abort();
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &(struct epoll_event){.events = EPOLLIN});
    pid_t sender = -1;
    if (IS("msgrcv") && (sender = fork()) == 0) {
        struct {
            long type;
            char text[8];
        } message = {1, ""};
        while (msgsnd(queue, &message, sizeof message.text, 0) == 0)
            usleep(3000);
        _exit(0);
    }
    while (now_ns(CLOCK_MONOTONIC) < end) {
        work(&seed);
        ++*waits;
        if (once(how, rand_r(&seed) % 5000000, ends[0], sockets, epoll, semaphores, queue) < 0 && errno == EINTR)
            interrupted++;
    }
    semctl(semaphores, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    if (sender > 0)
        waitpid(sender, NULL, 0);
    close(ends[0]), close(ends[1]), close(sockets[0]), close(sockets[1]), close(epoll);
    return interrupted;
}

/* Has children of vfork wait, which share the thread's memory. Returns how many waits of its own were interrupted. */
long wait_in_vforks(double seconds, unsigned seed, long *waits)
{
    long interrupted = 0, end = now_ns(CLOCK_MONOTONIC) + (long)(seconds * 1e9);
    while (now_ns(CLOCK_MONOTONIC) < end) {
        work(&seed);
        pid_t child = vfork();
        if (child == 0) {
            poll(NULL, 0, 1);
            _exit(0);
        }
        ++*waits;
        if (poll(NULL, 0, (int)(rand_r(&seed) % 4)) < 0 && errno == EINTR)
            interrupted++;
        waitpid(child, NULL, 0);
    }
    return interrupted;
}

struct reader {
    int from;
    unsigned seed;
};

static void *read_slowly(void *argument)
{
    struct reader *reader = argument;
    char data[8192];
    while (read(reader->from, data, sizeof data) > 0)
        usleep(rand_r(&reader->seed) % 200);
    return NULL;
}

/* Sends large pieces to a slow reader. Returns how many were cut short. */
long send_large(double seconds, unsigned seed, int by_write, long *pieces)
{
    int sockets[2];
    static char data[LARGE];
    long cut = 0, end = now_ns(CLOCK_MONOTONIC) + (long)(seconds * 1e9);
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        abort();
    struct reader reader = {sockets[1], seed};
    pthread_create(&thread, NULL, read_slowly, &reader);
    while (now_ns(CLOCK_MONOTONIC) < end) {
        work(&seed);
        ++*pieces;
        cut +=
            (by_write ? write(sockets[0], data, sizeof data) : send(sockets[0], data, sizeof data, 0)) != sizeof data;
    }
    shutdown(sockets[0], SHUT_WR);
    pthread_join(thread, NULL);
    close(sockets[0]), close(sockets[1]);
    return cut;
}

static volatile sig_atomic_t alarms;
static sigjmp_buf out;
static int jumps;

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
    poll(NULL, 0, 1);
    if (jumps)
        siglongjmp(out, 1);
}

/* Waits while a handler of the program's own waits in the wait, or jumps out of it. Returns the waits that ended with
 * EINTR and no alarm. */
long wait_in_handlers(double seconds, unsigned seed, int jumping, long *waits)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval each = {{0, 7000}, {0, 7000}}, none = {{0, 0}, {0, 0}};
    long end = now_ns(CLOCK_MONOTONIC) + (long)(seconds * 1e9);
    volatile long interrupted = 0;
    jumps = jumping;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    sigsetjmp(out, 1);
    while (now_ns(CLOCK_MONOTONIC) < end) {
        work(&seed);
        ++*waits;
        int before = alarms;
        if (poll(NULL, 0, (int)(rand_r(&seed) % 5)) < 0 && errno == EINTR && alarms == before)
            interrupted++;
    }
    setitimer(ITIMER_REAL, &none, NULL);
    return interrupted;
}
