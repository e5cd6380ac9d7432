"""Uses SIGPROF for itself: a handler and ITIMER_PROF. Prints how many of its own signals it got."""

import signal
import time

count = 0


def on_signal(number, frame):
    global count
    count += 1


def spin(seconds):
    until = time.process_time() + seconds
    total = 0
    while time.process_time() < until:
        for i in range(5000):
            total += i * i % 7


signal.signal(signal.SIGPROF, on_signal)
signal.setitimer(signal.ITIMER_PROF, 0.05, 0.05)
spin(1.0)
signal.setitimer(signal.ITIMER_PROF, 0)
print(count)
