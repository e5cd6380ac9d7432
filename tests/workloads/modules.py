"""modules.py DIRECTORY: loads and unloads its libraries and works in each of them, in a child of fork as well. Keeps copies of
/proc/self/maps in maps.txt; prints "PID ADDRESS PATH" for each library in which it worked, ADDRESS being that of a function."""

import _ctypes
import ctypes
import os
import sys
import time

WORK = 0.4


def load(name):
    path = os.path.join(sys.argv[1], name + ".so")
    library = ctypes.CDLL(path)
    work = library[name + "_work"]
    work.argtypes = (ctypes.c_long,)
    return path, library, work


def work_in(*libraries):
    with open("/proc/self/maps", encoding="utf-8") as now, open("maps.txt", "a", encoding="utf-8") as maps:
        maps.write(now.read())
    for path, _, work in libraries:
        end = time.thread_time() + WORK
        while time.thread_time() < end:
            work(20000)
        print(os.getpid(), hex(ctypes.cast(work, ctypes.c_void_p).value), path, flush=True)


def unload(*libraries):
    # an exec that fails has written all samples: the library is gone afterwards
    try:
        os.execv("/", ["/"])
    except OSError:
        pass
    for _, library, _ in libraries:
        _ctypes.dlclose(library._handle)


def come_and_go():
    one, two = load("plug1"), load("plug2")
    work_in(one, two)
    import decimal, lzma, sqlite3  # so that others come in between, which stay

    three = load("plug3")
    work_in(three)
    unload(one)
    four = load("plug4")  # where the first one was, perhaps
    work_in(two, four)
    one = load("plug1")
    work_in(one, three)
    unload(two, three)
    return one, four


stay = come_and_go()
child = os.fork()
if child == 0:
    two = load("plug2")
    work_in(two, *stay)
    unload(*stay)
    work_in(load("plug3"), two)
    sys.exit()
_, status = os.waitpid(child, 0)
work_in(load("plug3"), *stay)
sys.exit(status)
