"""A thread has its system calls sent to itself, another one has not: dispatched.py LIBRARY [starved]
starved: and the flush thread gets little of the CPU."""

import ctypes
import os
import signal
import sys
import threading
import time

from cpu import spin


def other():
    spin(0.3)


def starve():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for tid in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{tid}/comm") as comm:
            if comm.read() == "pyprof\n":
                os.sched_setscheduler(int(tid), os.SCHED_IDLE, os.sched_param(0))
                os.sched_setaffinity(int(tid), os.sched_getaffinity(0))
    return os.posix_spawnp("timeout", ["timeout", "20", "sh", "-c", "while :; do :; done"], os.environ)


begin = time.thread_time()
busy = None
if sys.argv[2:] == ["starved"]:
    busy = starve()
    spin(0.2)
if ctypes.CDLL(sys.argv[1]).compute_dispatched(ctypes.c_long(6_000_000_000)) != 0:
    print("no dispatch")
    sys.exit()
thread = threading.Thread(target=other)
thread.start()
thread.join()
print(time.thread_time() - begin > 0.1)
if busy:
    os.kill(busy, signal.SIGTERM)
