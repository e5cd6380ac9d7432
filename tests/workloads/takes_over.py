"""A program takes SIGURG over while a thread of it, or the profiler's, is kept from running: takes_over.py THREAD HOW
THREAD: profiler|worker, which blocks every signal. HOW: handler|descriptor. Prints how many signals it got of the 40 it sent."""

import ctypes
import os
import select
import signal
import sys
import threading
import time

from cpu import spin
from traced import find_profiler, hold

SENT = 40
HELD = 0.6
libc = ctypes.CDLL(None)


def read_all(descriptor):
    try:
        return os.read(descriptor, 128 * 1000)
    except BlockingIOError:
        return b""


def work(stop, tids):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    tids.append(threading.get_native_id())
    while not stop.is_set():
        spin(0.005)
        libc.usleep(1000)


def handler():
    """CPython's own handler writes a byte each time that it runs."""
    read, write = os.pipe()
    for end in read, write:
        os.set_blocking(end, False)
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGURG, lambda *_: None)
    yield
    for _ in range(SENT):
        os.kill(os.getpid(), signal.SIGURG)
        spin(0.02)
    yield len(read_all(read))


def descriptor():
    got = 0
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    taken = libc.signalfd(-1, (ctypes.c_ulong * 16)(1 << (signal.SIGURG - 1)), os.O_NONBLOCK)
    yield
    for _ in range(SENT):
        spin(0.01)
        os.kill(os.getpid(), signal.SIGURG)
        select.select([taken], [], [], 0.2)
        got += len(read_all(taken)) // 128
    yield got


stop, tids = threading.Event(), []
thread = threading.Thread(target=work, args=(stop, tids))
if sys.argv[1] == "worker":
    thread.start()
spin(0.5)
child = hold(tids[0] if sys.argv[1] == "worker" else find_profiler(), HELD)
taking = {"handler": handler, "descriptor": descriptor}[sys.argv[2]]()
next(taking)
if thread.ident:  # the profiler's may still not run while the signals come
    os.waitpid(child, 0)
print(next(taking))
stop.set()
