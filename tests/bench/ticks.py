"""ticks.py ROUNDS: a signal as our timer sends it to this thread, in a stack of 20 Python and about 30 native frames; then,
in each round, 100 more, each in another such stack. The library is paused but for these (paused.c): what it does does not
depend on when the timer's own ticks fall."""

import ctypes
import os
import struct
import sys
import time

SYS_RT_TGSIGQUEUEINFO, SI_TIMER = 297, -2
ROUNDS = int(sys.argv[1])
libc = ctypes.CDLL(None)


def own_tick():
    """Number and siginfo_t of what the kernel sends for this thread's timer: "signal: 23/7079707200000000"."""
    lines = open("/proc/self/timers", encoding="ascii").read().splitlines()
    signal, value = next(line.split()[1].split("/") for line in lines if line.startswith("signal:"))
    return int(signal), struct.pack("3i4x2iQ88x", int(signal), 0, SI_TIMER, 0, 0, int(value, 16))


def send():
    libc.syscall(SYS_RT_TGSIGQUEUEINFO, os.getpid(), os.getpid(), *tick)


def wait_for_flush():
    """Until it has nothing to do, which takes it seconds under valgrind."""
    used, before = 1.0, time.process_time()
    while used > 0.1:
        time.sleep(1.5)
        used, before = time.process_time() - before, time.process_time()


tick = own_tick()
leaves = {}
for number in range(100):  # valgrind delivers a signal to its own thread in the next call that may block
    exec(f"def leaf_{number}(): libc.pyprof_resume(); send(); libc.poll(None, 0, 0); libc.pyprof_pause()", globals(), leaves)


def work():
    leaves["leaf_0"]()  # its native frames are those of all
    wait_for_flush()
    for _ in range(ROUNDS):
        for leaf in leaves.values():
            leaf()
    wait_for_flush()


def nested(depth):
    if depth in (4, 8):
        list(map(nested, [depth - 1]))
    elif depth:
        nested(depth - 1)
    else:
        work()


nested(16)
