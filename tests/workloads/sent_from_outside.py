"""A program that leaves SIGURG alone and is sent it by another, which need not be in its pid namespace: prints whether the
signal is caught later on, and how many calls end early then. sent_from_outside.py READY [none]: the file is made when the
signals may come; none: from then on RLIMIT_SIGPENDING lets no signal be queued."""
import ctypes
import re
import resource
import signal
import sys
import time

from cpu import spin

libc = ctypes.CDLL(None)


def is_caught():
    with open("/proc/self/status") as status:
        return int(re.search(r"SigCgt:\s*(\w+)", status.read())[1], 16) >> signal.SIGURG - 1 & 1


def afterwards():
    spin(0.5)


spin(0.3)
assert is_caught()
queues_none = "none" in sys.argv
if queues_none:
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
with open(sys.argv[1], "w"):
    pass
end = time.monotonic() + (0.5 if queues_none else 20)
while is_caught() and time.monotonic() < end:
    time.sleep(0.01)
print(is_caught(), sum(libc.poll(None, 0, 50) != 0 for _ in range(5)))
afterwards()
