"""Days of a program that never comes to rest, in a minute: soak.py LIBRARY STEPS. Each step makes and drops functions with
names and files that never come again, runs short threads, and loads and unloads the library under a new name."""

import _ctypes
import ctypes
import os
import shutil
import sys
import threading
import time

library, steps = sys.argv[1], int(sys.argv[2])
SOURCE = "def {name}(go_on):\n    total = 0\n    for i in range(600):\n        total += i\n    return total + go_on()\n"
FUNCTIONS = 40


def make_functions(step):
    call = int
    for i in range(FUNCTIONS):
        name = f"function_{step}_{i}_" + "x" * 40
        names = {}
        exec(compile(SOURCE.format(name=name), f"/srv/made/{name}.py", "exec"), names)
        call = (lambda f, g: lambda: f(g))(names[name], call)
    call()


def short():
    until = time.thread_time() + 0.001
    while time.thread_time() < until:
        sum(range(100))


def run_threads(step):
    threads = [threading.Thread(target=short, name=f"t{step}-{i}") for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def load_library(step):
    path = f"{os.getcwd()}/loaded_{step}.so"
    shutil.copy(library, path)
    handle = ctypes.CDLL(path)
    handle.plug_work(300000)
    _ctypes.dlclose(handle._handle)
    os.unlink(path)


for step in range(steps):
    make_functions(step)
    run_threads(step)
    load_library(step)
