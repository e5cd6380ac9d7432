"""Work in step with the kernel's ticks: three functions, always in this order, from each tick on, over before the next.
in_step.py SECONDS [THREADS] prints what each has used by its thread's clock, in ns."""
import sys
import threading
import time

TICK = 6  # CLOCK_MONOTONIC_COARSE: it advances at ticks
PERIOD = time.clock_getres(TICK)
PART = PERIOD / 16
totals = {"parse": 0, "work": 0, "render": 0}
lock = threading.Lock()


def use(seconds):
    begun = time.thread_time_ns()
    end = begun + int(seconds * 1e9)
    while time.thread_time_ns() < end:
        sum(range(50))
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
        time.sleep(max(0, time.clock_gettime(TICK) + PERIOD - time.monotonic()))
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
