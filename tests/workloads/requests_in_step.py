"""Counts requests of two endpoints, each begins a quarter after a tick: /short is over before the next tick, /long is not.
requests_in_step.py SECONDS prints what a request of each has used by its thread's clock on average, in ns."""
import sys
import time

import libpyprof
from ticks import PERIOD, sleep_past_tick

WORK = {"/short": PERIOD / 4, "/long": PERIOD * 3 / 2}
used = dict.fromkeys(WORK, 0)
rounds = 0


def use(seconds):
    begun = time.thread_time_ns()
    while time.thread_time_ns() < begun + seconds * 1e9:
        sum(range(50))
    return time.thread_time_ns() - begun


while sum(used.values()) < float(sys.argv[1]) * 1e9:
    rounds += 1
    for endpoint, seconds in WORK.items():
        sleep_past_tick(1 / 4)
        with libpyprof.labels(endpoint=endpoint):
            ns = use(seconds)
        used[endpoint] += ns
        libpyprof.request(endpoint, ns)
for endpoint, ns in used.items():
    print(endpoint, ns // rounds)
