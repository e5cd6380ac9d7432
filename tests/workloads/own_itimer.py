"""Uses SIGPROF for itself: a handler and ITIMER_PROF. Prints how many of its own signals it got."""

import signal

from cpu import spin

count = 0


def on_signal(number, frame):
    global count
    count += 1


signal.signal(signal.SIGPROF, on_signal)
signal.setitimer(signal.ITIMER_PROF, 0.05, 0.05)
spin(1.0)
signal.setitimer(signal.ITIMER_PROF, 0)
print(count)
