"""Burns CPU for SECONDS, then prints the intervals of the process's POSIX timers in µs: timers.py SECONDS"""

import ctypes
import sys
import time

SYS_TIMER_GETTIME = 224  # x86-64


def spin(until):
    total = 0
    while time.process_time() < until:
        for i in range(20000):
            total += i * i % 7
    return total


spin(time.process_time() + float(sys.argv[1]))
libc = ctypes.CDLL(None)
times = (ctypes.c_long * 4)()
for number in range(1000):
    if libc.syscall(SYS_TIMER_GETTIME, number, times) == 0:
        print((times[0] * 1_000_000_000 + times[1]) // 1000)
