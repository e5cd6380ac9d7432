"""A thread that begins while RLIMIT_SIGPENDING allows no signal to be queued, and works on when it does again. Prints the
CPU time of that, from two seconds later on, in ns."""

import resource
import threading
import time


def spin(seconds):
    end = time.thread_time_ns() + round(seconds * 1e9)
    while time.thread_time_ns() < end:
        sum(range(1000))


def afterwards(seconds):
    start = time.thread_time_ns()
    spin(seconds)
    print(time.thread_time_ns() - start)


def work():
    begun.set()
    allowed.wait()
    spin(2.5)
    afterwards(2)


begun, allowed = threading.Event(), threading.Event()
before = resource.getrlimit(resource.RLIMIT_SIGPENDING)
resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, before[1]))
thread = threading.Thread(target=work)
thread.start()
begun.wait()
resource.setrlimit(resource.RLIMIT_SIGPENDING, before)
allowed.set()
thread.join()
