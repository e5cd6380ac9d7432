"""A loop that a JIT compiles, with calls from Python and from C, for SECONDS of CPU time: hot_loop.py SECONDS"""

import sys
import time


class Point:
    def __init__(self, x):
        self.x = x


def hot(n):
    total = 0
    points = {}
    for i in range(n):
        total += i * i % 7
        points[i & 63] = Point(i)
        total += points[i & 63].x
    return total


def by_key(n):
    return hot(50) + n


def main(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hot(20000)
        sorted(range(20), key=by_key)


main(float(sys.argv[1]))
