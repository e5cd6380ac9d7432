"""A thread has its system calls sent to itself, another one has not: dispatched.py LIBRARY"""

import ctypes
import sys
import threading
import time

from cpu import spin


def other():
    spin(0.3)


begin = time.thread_time()
if ctypes.CDLL(sys.argv[1]).compute_dispatched(ctypes.c_long(1_000_000_000)) != 0:
    print("no dispatch")
    sys.exit()
thread = threading.Thread(target=other)
thread.start()
thread.join()
print(time.thread_time() - begin > 0.1)
