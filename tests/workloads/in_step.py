"""Work in step with the kernel's ticks: three functions, always in this order, from each tick on, over before the next.
in_step.py SECONDS [THREADS [OFFSET]] prints what each has used by its thread's clock, in ns. OFFSET: the work begins that
part of a tick before the tick, which meets it then, and half of it is system calls."""
import sys
import threading
import time

from ticks import PERIOD, sleep_past_tick

OFFSET = float(sys.argv[3]) if len(sys.argv) > 3 else 0
STEPS = range(20 if OFFSET else 2000)  # between two readings of the clock
PART = PERIOD / 16
totals = {"parse": 0, "work": 0, "render": 0}
lock = threading.Lock()


def use(seconds):
    begun = time.thread_time_ns()
    end = begun + int(seconds * 1e9)
    while time.thread_time_ns() < end:
        sum(STEPS)
    return time.thread_time_ns() - begun


def parse():
    return use(PART)


def work():
    return use(2 * PART)


def render():
    return use(5 * PART)


def rounds(seconds):
    used = dict.fromkeys(totals, 0)
    while sum(used.values()) < seconds * 1e9:
        sleep_past_tick(1 - OFFSET if OFFSET else 0)
        for function in (parse, work, render):
            used[function.__name__] += function()
    with lock:
        for name, ns in used.items():
            totals[name] += ns


count = int(sys.argv[2]) if len(sys.argv) > 2 else 1
threads = [threading.Thread(target=rounds, args=(float(sys.argv[1]) / count,)) for _ in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name, ns in totals.items():
    print(name, ns)
