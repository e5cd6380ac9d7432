"""thread_names.py KIND SECONDS: threads with names, which use CPU in functions that have the same names where they may.

KIND is `kinds` (each way to get a name; prints the names as JSON), `short` (threads of 12 ms), `renamed` (threads that
take another name for each job) or `green` (gevent's green threads, which take turns)."""
import sys

if sys.argv[1] == "green":
    from gevent import monkey

    monkey.patch_all()

import ctypes
import hashlib
import itertools
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

SECONDS = float(sys.argv[2])
END = time.monotonic() + SECONDS
made = 0
numbers = itertools.count(1)


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(50))


def function():
    """A function that no other thread runs, with a name of its own."""
    global made
    number = made = next(numbers)  # of one step: threads of `renamed` call this at the same time
    names = {"spin": spin}
    exec(f"def only_{number}(seconds):\n    spin(seconds)\n", names)
    return names[f"only_{number}"]


class Worker(threading.Thread):
    def __init__(self, name):
        self.before = [1, 2, 3]
        super().__init__(name=name)

    def run(self):
        for i in range(40):  # more attributes than instances can share
            setattr(self, f"attribute_{i}", i)
        vars(self)
        spin(SECONDS)


def target():
    spin(SECONDS)


def without_gil():
    data = b"x" * (8 << 20)
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        hashlib.sha256(data)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def made_by_c(_):
    if not foreign:
        threading.current_thread().name = "named foreign"
    foreign.append(threading.current_thread().name)
    spin(2 * SECONDS)


foreign = []


def start_c_thread():
    libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, made_by_c, None) == 0
    return lambda: libc.pthread_join(thread, None)


def kinds():
    first = start_c_thread()
    while not foreign:
        time.sleep(0.001)
    second = start_c_thread()
    threads = [threading.Thread(target=target), threading.Thread(target=without_gil, name="without GIL")]
    threads += [Worker(name) for name in ("ascii", "latin \u00e9", "euro \u20ac", "smile \U0001f600", "", "x" * 300, "y" * 100)]
    for thread in threads:
        thread.start()
    with ThreadPoolExecutor(2, thread_name_prefix="worker") as pool:
        names = set(pool.map(lambda _: (spin(SECONDS), threading.current_thread().name)[1], range(2)))
    for thread in threads:
        thread.join()
    first()
    second()
    spin(SECONDS)
    print(json.dumps(sorted({thread.name for thread in threads} | names | set(foreign) | {threading.current_thread().name})))


def short():
    while time.monotonic() < END:
        functions = [function() for _ in range(4)]
        threads = [threading.Thread(target=f, args=(0.012,), name=f.__name__) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def renamed():
    def jobs():
        while time.monotonic() < END and made < 900:
            job = function()
            threading.current_thread().name = job.__name__
            job(0.02)

    threads = [threading.Thread(target=jobs) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def green():
    def turns(job):
        for _ in range(5):
            job(0.008)
            time.sleep(0)

    while time.monotonic() < END:
        functions = [function() for _ in range(10)]
        threads = [threading.Thread(target=turns, args=(f,), name=f.__name__) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


globals()[sys.argv[1]]()
