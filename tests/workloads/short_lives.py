"""Threads that wait together, contend for the GIL when they may go on, and work for 3 ms then: short_lives.py COUNT prints
the CPU time of `waits` and of `works` by the threads' clocks, in ns."""
import sys
import threading
import time

go = threading.Event()
waited, worked = [], []


def waits():
    go.wait()


def works():
    begun = time.thread_time_ns()
    while time.thread_time_ns() < begun + 3_000_000:
        sum(range(200))
    worked.append(time.thread_time_ns() - begun)


def live():
    waits()
    waited.append(time.thread_time_ns())
    works()


threading.stack_size(256 * 1024)
threads = [threading.Thread(target=live) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
go.set()
for thread in threads:
    thread.join()
print("waits", sum(waited))
print("works", sum(worked))
