"""Deletes every timer of the process, whoever made it, as code does that loses count of its own; then works on. Prints the
CPU time of what it does from two seconds later on, in ns."""

import ctypes

from cpu import spin

SYS_TIMER_DELETE = 226  # x86-64
libc = ctypes.CDLL(None)


def afterwards(seconds):
    return round(1e9 * spin(seconds))


spin(0.2)
for timer in range(100):
    libc.syscall(SYS_TIMER_DELETE, timer)
spin(2.5)
print(afterwards(2))
