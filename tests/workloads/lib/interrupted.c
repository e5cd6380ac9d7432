/* Calls that wait and end with EINTR whenever a signal is handled meanwhile, with work between them: how many did? */
#include "cpu.h"
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define WAIT_US 300
#define BURN_US 700

static int calls;
static int listener; /* accepts no connection, or the next one */
static struct sockaddr_in address;
static int queue;

int interrupted(int count, int own_timer);

static const struct timespec moment = {0, WAIT_US * 1000L};

static void deadline(struct timespec *at)
{
    clock_gettime(CLOCK_REALTIME, at);
    at->tv_nsec += moment.tv_nsec;
    if (at->tv_nsec >= 1000000000) {
        at->tv_sec++;
        at->tv_nsec -= 1000000000;
    }
}

static void times_out(int socket)
{
    struct timeval most = {0, WAIT_US};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

static long by_poll(void)
{
    struct pollfd look = {listener, POLLPRI, 0};
    return poll(&look, 1, 1);
}

static long by_select(void)
{
    struct timeval most = {0, WAIT_US};
    return select(0, NULL, NULL, NULL, &most);
}

static long by_epoll_wait(void)
{
    static _Atomic int fd;
    struct epoll_event event;
    if (!fd)
        fd = epoll_create1(EPOLL_CLOEXEC);
    return epoll_wait(fd, &event, 1, 1);
}

static long by_recv(void)
{
    static int pair[2];
    char byte;
    if (!pair[1]) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        times_out(pair[0]);
    }
    return recv(pair[0], &byte, 1, 0);
}

static long by_accept(void)
{
    static int own;
    if (!own) {
        own = socket(AF_INET, SOCK_STREAM, 0);
        listen(own, 1);
        times_out(own);
    }
    return accept(own, NULL, NULL);
}

/* Waits for the other end, which is a full queue. */
static long by_connect(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    times_out(fd);
    long result = connect(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

static long by_nanosleep(void)
{
    return nanosleep(&moment, NULL);
}

static long by_clock_nanosleep(void)
{
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    return errno ? -1 : 0;
}

static long by_sem_timedwait(void)
{
    static sem_t empty;
    struct timespec at;
    deadline(&at);
    return sem_timedwait(&empty, &at);
}

static long by_futex(void)
{
    static int word;
    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &moment);
}

static long by_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &moment);
}

static _Atomic int receiving;

static void *sends(void *argument)
{
    struct {
        long type;
        char text[1];
    } message = {1, ""};
    while (receiving) {
        usleep(WAIT_US);
        msgsnd(queue, &message, 1, IPC_NOWAIT);
    }
    return argument;
}

static long by_msgrcv(void)
{
    struct {
        long type;
        char text[1];
    } message;
    return msgrcv(queue, &message, 1, 0, 0);
}

static const struct way {
    const char *name;
    long (*call)(void);
} ways[] = {
    {"poll", by_poll},
    {"select", by_select},
    {"epoll_wait", by_epoll_wait},
    {"recv", by_recv},
    {"accept", by_accept},
    {"connect", by_connect},
    {"nanosleep", by_nanosleep},
    {"clock_nanosleep", by_clock_nanosleep},
    {"sem_timedwait", by_sem_timedwait},
    {"futex", by_futex},
    {"sigtimedwait", by_sigtimedwait},
    {"msgrcv", by_msgrcv},
};
#define WAYS (sizeof ways / sizeof *ways)
static int ended_early[WAYS];

static void *makes_calls(void *argument)
{
    const struct way *way = argument;
    for (int i = 0; i < calls; i++) {
        use_us(BURN_US);
        if (way->call() < 0 && errno == EINTR)
            ended_early[way - ways]++;
    }
    return NULL;
}

static void on_signal(int signal)
{
    (void)signal;
}

/* Each kind so many times, each in a thread of its own. own_timer: with an ITIMER_PROF of the program's, which does
 * interrupt them. Returns how many ended with EINTR. */
int interrupted(int count, int own_timer)
{
    pthread_t threads[WAYS], sender;
    socklen_t size = sizeof address;
    int sum = 0, full[4];
    calls = count;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 0) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        return -1;
    for (int i = 0; i < 4; i++) {
        full[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(full[i], (struct sockaddr *)&address, sizeof address);
    }
    queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    receiving = 1;
    pthread_create(&sender, NULL, sends, NULL);
    if (own_timer) {
        struct itimerval every = {{0, 1000}, {0, 1000}};
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(SIGPROF, &action, NULL);
        setitimer(ITIMER_PROF, &every, NULL);
    }
    for (size_t i = 0; i < WAYS; i++)
        pthread_create(&threads[i], NULL, makes_calls, (void *)(uintptr_t)&ways[i]);
    for (size_t i = 0; i < WAYS; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    receiving = 0;
    pthread_join(sender, NULL);
    msgctl(queue, IPC_RMID, NULL);
    for (int i = 0; i < 4; i++)
        close(full[i]);
    close(listener);
    for (size_t i = 0; i < WAYS; i++) {
        sum += ended_early[i];
        if (ended_early[i])
            printf("%s: %d of %d\n", ways[i].name, ended_early[i], calls);
    }
    fflush(stdout);
    return sum;
}
