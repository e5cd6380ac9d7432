"""Threads that C makes (lib/measured_native.c), who block signals or that libc knows nothing of:
measured_native.py TRUTH_DIRECTORY LIBRARY KIND COUNT MILLISECONDS

COUNT threads at a time use MILLISECONDS of CPU each, in a function named after KIND: plain, masked, raw_masked, raw_clone,
exits, cancelled; short: COUNT of them, 20 at a time."""

import ctypes
import sys

import truth

library = ctypes.CDLL(sys.argv[2])
library.run_threads.restype = ctypes.c_uint64
library.run_threads.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
kind, count, ns = sys.argv[3], int(sys.argv[4]), int(float(sys.argv[5]) * 1e6)


def wait_for_threads():
    at_once = 20 if kind == "short" else count
    return sum(library.run_threads(kind.encode(), at_once, ns) for _ in range(0, count, at_once))


truth.add(f"burn_{kind}", wait_for_threads())
truth.write()
