"""What the main thread does while a native pool works: native_pool.py LIBRARY waits | runs | changes."""

import ctypes
import sys
import time

library = ctypes.CDLL(sys.argv[1])
library.pool_work.argtypes = [ctypes.c_uint64]
library.pool_work_along.argtypes = [ctypes.c_uint64]


def wait_in_function(seconds):
    library.pool_work(int(seconds * 1e9))


def wait_in_generator(seconds):
    library.pool_work(int(seconds * 1e9))
    yield


class Query:
    def collect(self):
        return max(range(2), key=lambda _: self.run())

    def run(self):
        wait_in_function(1.2)
        return 0


def deep(depth, seconds):
    if depth:
        deep(depth - 1, seconds)
    else:
        wait_in_deep(seconds)


def wait_in_deep(seconds):
    library.pool_work(int(seconds * 1e9))


def work_along(seconds):
    library.pool_work_along(int(seconds * 1e9))


def waits():
    Query().collect()
    list(wait_in_generator(0.8))
    deep(100, 0.8)
    work_along(1.2)


def runs():
    library.pool_begin()
    end = time.process_time() + 3
    while time.process_time() < end:
        sum(range(1000))
    library.pool_end()


def first():
    time.sleep(0.003)


def second():
    time.sleep(0.003)


def by_first(depth):
    if depth:
        by_first(depth - 1)
    else:
        first()


def by_second(depth):
    if depth:
        by_second(depth - 1)
    else:
        exec("second()")


def changes():
    library.pool_begin()
    end = time.time() + 3
    number = 0
    while time.time() < end:
        number += 1
        by_first(number % 40)
        by_second(number % 30)
    library.pool_end()


# The main thread is observed from its first sample on.
while time.process_time() < 0.1:
    sum(range(1000))
globals()[sys.argv[2]]()
