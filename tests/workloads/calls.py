"""Two functions take turns: `calls`, whose time the kernel has, in system calls, and `calculates`. calls.py SECONDS prints
what each has used by the thread's clock. calls.py SECONDS step: `calculates` alone, from each of the kernel's ticks on,
for a part of a tick."""
import os
import sys
import time

TICK = 6  # CLOCK_MONOTONIC_COARSE: it advances at ticks
TURN = time.clock_getres(TICK) * 0.4
ZERO = os.open("/dev/zero", os.O_RDONLY)


def calls(until):
    while time.monotonic() < until:
        os.read(ZERO, 65536)


def calculates(until):
    while time.monotonic() < until:
        sum(range(200))


def wait_for_tick():
    before = time.clock_gettime(TICK)
    while time.clock_gettime(TICK) == before:
        time.sleep(TURN / 20)


used = {calls: 0, calculates: 0}
step = len(sys.argv) > 2
start = time.thread_time()
while time.thread_time() - start < float(sys.argv[1]):
    if step:
        wait_for_tick()
    for function in [calculates] if step else [calls, calculates]:
        before = time.thread_time_ns()
        function(time.monotonic() + TURN)
        used[function] += time.thread_time_ns() - before
print(used[calls], used[calculates])
