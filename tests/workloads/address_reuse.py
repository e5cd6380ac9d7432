"""address_reuse.py DIRECTORY [LIBRARY]: closes that library, if one is named, works in libraries that come to each other's addresses within a second, each called by a function
of its name; then in two by turns, so that the first is there again when its samples are written. Prints the addresses."""

import _ctypes
import ctypes
import os
import sys
import time


def work_in(number, seconds):
    library = ctypes.CDLL(os.path.join(sys.argv[1], f"plug{number}.so"))
    work = library[f"plug{number}_work"]
    work.argtypes = (ctypes.c_long,)
    print(hex(ctypes.cast(work, ctypes.c_void_p).value))
    caller = {}
    exec(
        f"""def caller{number}(work):
    end = time.thread_time() + {seconds}
    while time.thread_time() < end:
        work(20000)""",
        {"time": time},
        caller,
    )
    caller[f"caller{number}"](work)
    _ctypes.dlclose(library._handle)


for path in sys.argv[2:]:
    _ctypes.dlclose(ctypes.CDLL(path)._handle)
for number in range(1, 9):
    work_in(number, 0.15)
for turn in range(20):
    work_in(1 + turn % 2, 0.04)
work_in(1, 1.2)
