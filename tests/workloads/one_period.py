"""THREADS threads, one after the other, whose work repeats after exactly one period of 10 ms: half of it in first_N, half in
second_N, for N of 0 up. one_period.py THREADS SECONDS"""

import sys
import threading
import time

HALF_NS = 5_000_000

SOURCE = """
def first_{0}(until):
    while time.thread_time_ns() < until: pass

def second_{0}(until):
    while time.thread_time_ns() < until: pass
"""


def work(first, second):
    at = time.thread_time_ns()
    end = at + float(sys.argv[2]) * 1e9
    while at < end:
        first(at + HALF_NS)
        second(at + 2 * HALF_NS)
        at += 2 * HALF_NS


for number in range(int(sys.argv[1])):
    exec(compile(SOURCE.format(number), __file__, "exec"))
    thread = threading.Thread(target=work, args=(globals()[f"first_{number}"], globals()[f"second_{number}"]))
    thread.start()
    thread.join()
