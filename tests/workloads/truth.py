"""What CPU time a program uses in each of its functions, by the clock of the thread that uses it: for the measured_*.py."""

import json
import os
import sys
import threading
import time
import types

functions = {}
lock = threading.Lock()


def add(name, ns):
    """For what was measured elsewhere, in C say."""
    with lock:
        functions[name] = functions.get(name, 0) + ns


def spin(name, ns):
    """Uses ns of this thread's CPU for the function that calls it."""
    since = now = time.thread_time_ns()
    while now - since < ns:
        for _ in range(100):
            pass
        now = time.thread_time_ns()
    add(name, now - since)


def named(name):
    """A function of this name that uses ns of its thread's CPU."""

    def function(ns):
        spin(name, ns)

    code = function.__code__.replace(co_name=name)
    if sys.version_info >= (3, 11):
        code = code.replace(co_qualname=name)
    return types.FunctionType(code, globals(), name, None, function.__closure__)


def after_fork():
    """The child's truth is its own."""
    global lock
    lock = threading.Lock()
    functions.clear()


def write():
    """Each process leaves its own file in the DIRECTORY that is a workload's first argument."""
    with open(os.path.join(sys.argv[1], f"{os.getpid()}.json"), "w") as out:
        json.dump({"functions": functions, "process_ns": time.process_time_ns()}, out)
