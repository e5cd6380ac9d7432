"""Forks children that import C extensions at once, while the parent makes ever new code: fork_import.py COUNT

A thread of the profiler that was inside the loader or malloc at the fork would leave the child's locks taken for ever.
"""

import os
import signal
import sys
import threading
import time
import warnings

MODULES = ["_sqlite3", "_decimal", "_ctypes", "_ssl", "_lzma", "_bz2", "_curses", "_elementtree", "_hashlib", "_json"]
PATIENCE = 120.0
stop = False


def new_code():
    """New functions, so that the profiler always has names to resolve."""
    n = 0
    while not stop:
        n += 1
        names = {}
        exec(f"def generated_{n}():\n    return sum(i * i for i in range(3000))\n", names)
        names[f"generated_{n}"]()


def child(i):
    for module in MODULES[i % len(MODULES):] + MODULES[:i % len(MODULES)]:
        try:
            __import__(module)
        except ImportError:
            pass
    os._exit(0)


def wait_for(pids):
    """The pids that did not end with status 0, with what became of them."""
    bad = []
    deadline = time.monotonic() + PATIENCE
    for pid in pids:
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                if status != 0:
                    bad.append((pid, f"status {status}"))
                break
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                bad.append((pid, f"hung for {PATIENCE} s"))
                break
            time.sleep(0.001)
    return bad


def main():
    global stop
    threading.Thread(target=new_code).start()
    count = int(sys.argv[1])
    bad = []
    for first in range(0, count, 4):
        pids = []
        for i in range(first, min(first + 4, count)):
            pid = os.fork()
            if pid == 0:
                child(i)
            pids.append(pid)
        bad += wait_for(pids)
    stop = True
    for pid, what in bad:
        print(f"child {pid}: {what}")
    sys.exit(1 if bad else 0)


warnings.simplefilter("ignore")
main()
