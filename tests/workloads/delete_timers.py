"""Deletes every timer of the process, whoever made it, as code does that loses count of its own; then works on. Prints the
CPU time of what it does from two seconds later on, in ns."""

import ctypes
import time

SYS_TIMER_DELETE = 226  # x86-64
libc = ctypes.CDLL(None)


def spin(seconds):
    end = time.thread_time_ns() + round(seconds * 1e9)
    while time.thread_time_ns() < end:
        sum(range(1000))


def afterwards(seconds):
    start = time.thread_time_ns()
    spin(seconds)
    return time.thread_time_ns() - start


spin(0.2)
for timer in range(100):
    libc.syscall(SYS_TIMER_DELETE, timer)
spin(2.5)
print(afterwards(2))
