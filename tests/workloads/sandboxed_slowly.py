"""A seccomp filter for all threads, on a machine where the profiler's thread needs seconds for what it does last:
sandboxed_slowly.py LIBRARY NUMBERS. Of a program with one thread, that thread would be stopped before and made again."""

import ctypes
import sys
import threading

from cpu import spin
from traced import find_profiler, slow_down

go_on = threading.Event()
other = threading.Thread(target=go_on.wait)
other.start()
spin(0.3)
slow_down(find_profiler(), 4)
assert ctypes.CDLL(sys.argv[1]).sandbox_here(sys.argv[2].encode(), 2) == 0
spin(3)
go_on.set()
other.join()
