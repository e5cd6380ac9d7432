"""Uses SIGURG, so that the profiler moves to another signal, and then the signals that it may have moved to.

threads: two threads set and reset the actions of the same signals, another blocks and unblocks all.
vfork: a thread that blocks all signals waits in vfork for a slow exec, while the others' actions are set.
Prints how many signals the handlers have seen that nothing has sent."""
import ctypes
import os
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None)
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)
seen = []
handler = HANDLER(seen.append)
address = ctypes.cast(handler, ctypes.c_void_p)
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
end = time.monotonic() + 1


def compute():
    while time.monotonic() < end:
        sum(range(1000))


def contend():
    while time.monotonic() < end:
        for number in 63, 62, 61:
            libc.signal(number, address)
            libc.signal(number, None)


def block():
    while time.monotonic() < end:
        signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
        signal.pthread_sigmask(signal.SIG_SETMASK, [])


def wait_in_vfork():
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    _, status = os.waitpid(ctypes.CDLL("./vfork_slowly.so").vfork_slowly(), 0)
    seen.extend([-1] * status)


threads = {"threads": [contend, contend, block, compute], "vfork": [wait_in_vfork, compute]}[sys.argv[1]]
threads = [threading.Thread(target=target) for target in threads]
for thread in threads:
    thread.start()
time.sleep(0.2)
libc.signal(signal.SIGURG, address)
if sys.argv[1] == "vfork":
    for number in 63, 62, 61:
        libc.signal(number, address)
        libc.signal(number, None)
for thread in threads:
    thread.join()
print(len(seen))
