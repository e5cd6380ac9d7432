"""Uses CPU for SECONDS, then prints the intervals of the process's POSIX timers in µs: timers.py SECONDS"""

import ctypes
import sys

from cpu import spin

SYS_TIMER_GETTIME = 224  # x86-64

spin(float(sys.argv[1]))
libc = ctypes.CDLL(None)
times = (ctypes.c_long * 4)()
for number in range(1000):
    if libc.syscall(SYS_TIMER_GETTIME, number, times) == 0:
        print((times[0] * 1_000_000_000 + times[1]) // 1000)
