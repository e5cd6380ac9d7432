"""A thread that begins while RLIMIT_SIGPENDING allows no signal to be queued, and works on when it does again. Prints the
CPU time of that, from two seconds later on, in ns."""

import resource
import threading

from cpu import spin


def afterwards(seconds):
    print(round(1e9 * spin(seconds)))


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
