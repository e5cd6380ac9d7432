"""Functions that take turns of random lengths: system calls, page faults, both at once, calculation. kinds.py SECONDS
prints what each has used by the thread's clock, a line each."""
import mmap
import os
import random
import sys
import time

ZERO = os.open("/dev/zero", os.O_RDONLY)
SIZE = 1 << 20
MEMORY = mmap.mmap(-1, SIZE)


def calls(until):
    while time.monotonic() < until:
        os.read(ZERO, 65536)


def faults(until):
    while time.monotonic() < until:
        MEMORY.madvise(mmap.MADV_DONTNEED)
        for page in range(0, SIZE, mmap.PAGESIZE):
            MEMORY[page] = 1


def maps(until):
    while time.monotonic() < until:
        bytes(4 * SIZE)


def calculates(until):
    while time.monotonic() < until:
        sum(range(200))


functions = [calls, faults, maps, calculates]
used = dict.fromkeys(functions, 0)
start = time.thread_time()
while time.thread_time() - start < float(sys.argv[1]):
    for function in functions:
        before = time.thread_time_ns()
        function(time.monotonic() + random.uniform(0.0005, 0.004))
        used[function] += time.thread_time_ns() - before
for function in functions:
    print(function.__name__, used[function])
