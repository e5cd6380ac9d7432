"""Creates and frees code objects as fast as it goes: code_churn.py CPU_SECONDS [THREADS]

Function name, file name and first line of each all encode the same number, and an outer function
calls its own inner one and then the next number's outer one: a sample that pairs a name with another function's file or line, or a caller with another
function's callee, shows. All sources have the same size, so that freed memory is taken by the next one.

Prints, as JSON, how many code objects were made and the resident pages of the process, at LOOKS equal steps of its CPU time.
"""

import json
import sys
import threading
import time

DEPTH = 3
STEPS = 10_000  # then the numbers come again: CPython 3.12 and later never free interned names
LINES = 89  # first lines repeat after so many numbers
SOURCE = """\
def outer_{0:08}(go_on, deeper):
    total = inner_{0:08}(40)
    return total + go_on({0} + 1, deeper - 1)
def inner_{0:08}(count):
    total = 0
    for i in range(count):
        total += i
    return total
"""
CODES = 3  # of each source: a module and two functions

LOOKS = 60

made = 0
pages = []


def run(number, deeper):
    global made
    if not deeper:
        return 0
    source = "\n" * (number % LINES) + SOURCE.format(number)
    names = {}
    exec(compile(source, f"churn_{number:08}.py", "exec"), names)
    made += CODES
    return names[f"outer_{number:08}"](run, deeper)


def churn(first, until):
    step = 0
    while time.process_time() < until:
        for _ in range(50):
            run(first + step * DEPTH, DEPTH)
            step = (step + 1) % STEPS


def resident_pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


def main():
    seconds, threads = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2
    start, began = time.process_time(), time.monotonic()
    until = start + seconds
    workers = [threading.Thread(target=churn, args=(i * 10_000_000, until)) for i in range(threads)]
    for worker in workers:
        worker.start()
    while len(pages) < LOOKS:
        time.sleep(0.02)
        if time.process_time() >= start + seconds * (len(pages) + 1) / LOOKS:
            pages.append(resident_pages())
    for worker in workers:
        worker.join()
    print(json.dumps({"made": made, "seconds": time.monotonic() - began, "pages": pages}))


main()
