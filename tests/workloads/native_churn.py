"""native_churn.py LIBRARY PLUGS SECONDS: four threads that load and unload, one that throws, one that allocates (see
lib/native_churn.cc), each for so many seconds of CPU. Prints the CPU time of each kind in ns."""

import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
library.churn.argtypes = ctypes.c_char_p, ctypes.c_double
library.churn.restype = ctypes.c_uint64
used = []


def unload():
    run("unload", "unload:" + sys.argv[2])


def throw():
    run("throw", "throw")


def allocate():
    run("allocate", "allocate")


def run(kind, what):
    used.append((kind, library.churn(what.encode(), float(sys.argv[3]))))


threads = [threading.Thread(target=target) for target in [unload] * 4 + [throw, allocate]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for kind in "unload", "throw", "allocate":
    print(kind, sum(ns for of_kind, ns in used if of_kind == kind))
if not all(ns for _, ns in used):
    sys.exit("a thread failed")
