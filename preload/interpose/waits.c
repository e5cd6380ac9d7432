/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the functions by which a thread waits, so that its fine timer is disarmed while it does (capture/fine_timer.h):
 * all that a signal would end with EINTR or with less than was asked for, and those by which most threads wait. Where
 * no thread has a fine timer they call libc's at once. Callers inside libc itself do not come by: getaddrinfo, system
 * and the rest begin their waits again after a signal. */
#include "waits.h"
#include "../base/libc.h"
#include "../capture/capture.h"
#include "../capture/fine_timer.h"
#include "../threads/thread_slot.h"
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* what callers call that are compiled with _FORTIFY_SOURCE */
int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                size_t size);
ssize_t __recv_chk(int socket, void *data, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int socket, void *restrict data, size_t size, size_t room, int flags,
                       struct sockaddr *restrict from, socklen_t *restrict from_size);
ssize_t __read_chk(int descriptor, void *data, size_t size, size_t room);

struct pp_slot *pp_wait_begins(void)
{
    if (!pp_is_enabled() || !atomic_load_explicit(&pp_capture.fine_wanted, memory_order_relaxed))
        return NULL;
    struct pp_slot *slot = pp_slot_here();
    /* in our handler libunwind calls write: the timer is disarmed there */
    if (!slot || !pp_fine_has_begun(slot) || atomic_load_explicit(&slot->in_handler, memory_order_relaxed))
        return NULL;
    pp_fine_wait_begins(slot);
    return slot;
}

void pp_wait_ends(struct pp_slot *slot)
{
    if (slot)
        pp_fine_wait_ends(slot);
}

/* missing: what is returned where libc has no such function. A thread that is cancelled or jumps out of its wait leaves
 * the timer disarmed, and has its samples at ticks from then on. */
#define WAIT(missing, type, name, parameters, ...)                                                                     \
    PP_EXPORT type name parameters                                                                                     \
    {                                                                                                                  \
        static void *_Atomic found;                                                                                    \
        type(*libc) parameters = (type(*) parameters)pp_real_next(&found, #name);                                       \
        if (!libc) {                                                                                                   \
            errno = ENOSYS;                                                                                            \
            return missing;                                                                                            \
        }                                                                                                              \
        struct pp_slot *slot = pp_wait_begins();                                                                       \
        if (!slot)                                                                                                     \
            return libc(__VA_ARGS__);                                                                                  \
        type result = libc(__VA_ARGS__);                                                                               \
        pp_wait_ends(slot);                                                                                            \
        return result;                                                                                                 \
    }

/* clang-format off */

/* for descriptors */
WAIT(-1, int, poll, (struct pollfd *descriptors, nfds_t count, int timeout), descriptors, count, timeout)
WAIT(-1, int, ppoll, (struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
     descriptors, count, timeout, mask)
WAIT(-1, int, __poll_chk, (struct pollfd *descriptors, nfds_t count, int timeout, size_t size),
     descriptors, count, timeout, size)
WAIT(-1, int, __ppoll_chk, (struct pollfd *descriptors, nfds_t count, const struct timespec *timeout,
     const sigset_t *mask, size_t size), descriptors, count, timeout, mask, size)
WAIT(-1, int, select, (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
     struct timeval *restrict timeout), count, in, out, other, timeout)
WAIT(-1, int, pselect, (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
     const struct timespec *restrict timeout, const sigset_t *restrict mask), count, in, out, other, timeout, mask)
WAIT(-1, int, epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout), epoll, events, most, timeout)
WAIT(-1, int, epoll_pwait, (int epoll, struct epoll_event *events, int most, int timeout, const sigset_t *mask),
     epoll, events, most, timeout, mask)
WAIT(-1, int, epoll_pwait2, (int epoll, struct epoll_event *events, int most, const struct timespec *timeout,
     const sigset_t *mask), epoll, events, most, timeout, mask)

/* for time */
WAIT(-1, int, nanosleep, (const struct timespec *time, struct timespec *left), time, left)
WAIT(ENOSYS, int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
     clock, flags, time, left)
WAIT(-1, int, usleep, (useconds_t time), time)
WAIT(seconds, unsigned, sleep, (unsigned seconds), seconds)

/* for other threads */
WAIT(-1, int, sem_wait, (sem_t *semaphore), semaphore)
WAIT(-1, int, sem_timedwait, (sem_t *restrict semaphore, const struct timespec *restrict end), semaphore, end)
WAIT(-1, int, sem_clockwait, (sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict end),
     semaphore, clock, end)
WAIT(ENOSYS, int, pthread_cond_wait, (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex),
     condition, mutex)
WAIT(ENOSYS, int, pthread_cond_timedwait, (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
     const struct timespec *restrict end), condition, mutex, end)
WAIT(ENOSYS, int, pthread_cond_clockwait, (pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
     clockid_t clock, const struct timespec *restrict end), condition, mutex, clock, end)

/* for signals, messages and other processes */
WAIT(-1, int, pause, (void))
WAIT(-1, int, sigsuspend, (const sigset_t *mask), mask)
WAIT(-1, ssize_t, msgrcv, (int queue, void *message, size_t size, long type, int flags),
     queue, message, size, type, flags)
WAIT(-1, int, msgsnd, (int queue, const void *message, size_t size, int flags), queue, message, size, flags)
WAIT(-1, int, semop, (int set, struct sembuf *operations, size_t count), set, operations, count)
WAIT(-1, int, semtimedop, (int set, struct sembuf *operations, size_t count, const struct timespec *timeout),
     set, operations, count, timeout)
WAIT(-1, pid_t, wait, (int *status), status)
WAIT(-1, pid_t, waitpid, (pid_t pid, int *status, int options), pid, status, options)
WAIT(-1, pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), pid, status, options, usage)
WAIT(-1, int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options), type, id, info, options)

/* for input and output, of which a signal may leave a part */
WAIT(-1, int, accept, (int socket, struct sockaddr *restrict from, socklen_t *restrict size), socket, from, size)
WAIT(-1, int, accept4, (int socket, struct sockaddr *restrict from, socklen_t *restrict size, int flags),
     socket, from, size, flags)
WAIT(-1, int, connect, (int socket, const struct sockaddr *to, socklen_t size), socket, to, size)
WAIT(-1, ssize_t, recv, (int socket, void *data, size_t size, int flags), socket, data, size, flags)
WAIT(-1, ssize_t, __recv_chk, (int socket, void *data, size_t size, size_t room, int flags),
     socket, data, size, room, flags)
WAIT(-1, ssize_t, recvfrom, (int socket, void *restrict data, size_t size, int flags,
     struct sockaddr *restrict from, socklen_t *restrict from_size), socket, data, size, flags, from, from_size)
WAIT(-1, ssize_t, __recvfrom_chk, (int socket, void *restrict data, size_t size, size_t room, int flags,
     struct sockaddr *restrict from, socklen_t *restrict from_size), socket, data, size, room, flags, from, from_size)
WAIT(-1, ssize_t, recvmsg, (int socket, struct msghdr *message, int flags), socket, message, flags)
WAIT(-1, ssize_t, send, (int socket, const void *data, size_t size, int flags), socket, data, size, flags)
WAIT(-1, ssize_t, sendto, (int socket, const void *data, size_t size, int flags, const struct sockaddr *to,
     socklen_t to_size), socket, data, size, flags, to, to_size)
WAIT(-1, ssize_t, sendmsg, (int socket, const struct msghdr *message, int flags), socket, message, flags)
WAIT(-1, ssize_t, sendfile, (int out, int in, off_t *offset, size_t count), out, in, offset, count)
WAIT(-1, ssize_t, sendfile64, (int out, int in, off64_t *offset, size_t count), out, in, offset, count)
WAIT(-1, ssize_t, read, (int descriptor, void *data, size_t size), descriptor, data, size)
WAIT(-1, ssize_t, __read_chk, (int descriptor, void *data, size_t size, size_t room), descriptor, data, size, room)
WAIT(-1, ssize_t, readv, (int descriptor, const struct iovec *parts, int count), descriptor, parts, count)
WAIT(-1, ssize_t, write, (int descriptor, const void *data, size_t size), descriptor, data, size)
WAIT(-1, ssize_t, writev, (int descriptor, const struct iovec *parts, int count), descriptor, parts, count)
