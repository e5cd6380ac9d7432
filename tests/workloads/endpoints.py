"""Serves made-up requests in PROCESSES processes until stdin ends: endpoints.py PROCESSES NAME...: each takes as long as the
next one, and is counted. At the end stdout has the CPU of each endpoint's requests, in ns, and how many there were."""
import os
import sys
import time

import libpyprof

processes, names = int(sys.argv[1]), sys.argv[2:]
STEP_NS = 10_000_000


def serve(name):
    begin = time.thread_time_ns()
    with libpyprof.labels(endpoint=name):
        while time.thread_time_ns() - begin < STEP_NS:
            sum(range(1000))
    used = time.thread_time_ns() - begin
    libpyprof.request(name, used)
    return used


for _ in range(processes - 1):
    if os.fork() == 0:
        break
os.set_blocking(0, False)
used, count = dict.fromkeys(names, 0), 0
while True:
    for name in names:
        used[name] += serve(name)
    count += 1
    try:
        if os.read(0, 1) == b"":
            break
    except BlockingIOError:
        time.sleep(0.01)
for name in names:
    print(name, used[name], count, flush=True)
