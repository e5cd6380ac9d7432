"""Uses CPU in spin() for so many seconds of it: spin.py SECONDS. Prints "ready" first, "done" last."""

import sys
import time


def spin(until):
    total = 0
    while time.process_time() < until:
        for i in range(20000):
            total += i * i % 7
    return total


print("ready", flush=True)
spin(time.process_time() + float(sys.argv[1]))
print("done", flush=True)
