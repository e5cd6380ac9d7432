"""A child that traces a thread of its parent keeps the thread from running, or has it run slowly."""

import ctypes
import os
import time

PTRACE_SINGLESTEP, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 9, 17, 0x4206, 0x4207
PR_SET_PTRACER = 0x59616D61
WALL = 0x40000000
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long] * 4


def find_profiler():
    for tid in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{tid}/comm") as comm:
            if comm.read() == "pyprof\n":
                return int(tid)
    raise SystemExit("no thread of the profiler's")


def trace(tid, while_traced):
    """Forks the child, which calls while_traced and then lets the thread go. Returns its pid when the thread is stopped."""
    libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        ok = libc.ptrace(PTRACE_SEIZE, tid, 0, 0) == 0 and libc.ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0
        ok = ok and os.waitpid(tid, WALL)[0] == tid
        os.write(write, b"y" if ok else b"n")
        while_traced(tid)
        libc.ptrace(PTRACE_DETACH, tid, 0, 0)
        os._exit(0)
    if os.read(read, 1) != b"y":
        raise SystemExit("cannot be stopped")
    return child


def hold(tid, seconds):
    return trace(tid, lambda _: time.sleep(seconds))


def slow_down(tid, seconds):
    """From when the thread runs again, each of its instructions takes some 50 us, for so many seconds."""

    def step(tid):
        libc.ptrace(PTRACE_SINGLESTEP, tid, 0, 0)
        status = os.waitpid(tid, WALL)[1]
        end = time.monotonic() + seconds
        while os.WIFSTOPPED(status) and time.monotonic() < end:
            libc.ptrace(PTRACE_SINGLESTEP, tid, 0, 0)
            status = os.waitpid(tid, WALL)[1]

    return trace(tid, step)
