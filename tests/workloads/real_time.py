"""A program that uses signal 63, or SIGURG beside threads that block everything, and whose SIGURG we have to give away:
real_time.py pending|descriptor|waits|masks. Prints how many of its own signals it got, 20 at best."""

import ctypes
import os
import select
import signal
import sys
import threading
import time

from cpu import spin

NUMBER = 63
libc = ctypes.CDLL(None)


def give_away():
    signal.signal(signal.SIGURG, lambda *_: None)
    spin(0.05)


def descriptor_of(number):
    return libc.signalfd(-1, (ctypes.c_ulong * 16)(1 << (number - 1)), os.O_NONBLOCK)


def read_from(descriptor, number):
    got = 0
    for _ in range(20):
        os.kill(os.getpid(), number)
        if select.select([descriptor], [], [], 0.2)[0]:
            os.read(descriptor, 128)
            got += 1
        spin(0.002)
    return got


def pending():
    """It waits in the thread already when our timers change to another signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {NUMBER})
    os.kill(os.getpid(), NUMBER)
    give_away()
    return 20 if signal.sigtimedwait({NUMBER}, 1) else 0


def descriptor():
    signal.pthread_sigmask(signal.SIG_BLOCK, {NUMBER})
    descriptor = descriptor_of(NUMBER)
    give_away()
    return read_from(descriptor, NUMBER)


def waits():
    got = []

    def wait():
        while not got or got[-1] != signal.SIGUSR1:
            got.append(signal.sigwait({NUMBER, signal.SIGUSR1}))

    signal.pthread_sigmask(signal.SIG_BLOCK, {NUMBER, signal.SIGUSR1})
    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    give_away()
    for i in range(20):
        os.kill(os.getpid(), NUMBER)
        while len(got) <= i:
            time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGUSR1)
    thread.join()
    return got.count(NUMBER)


def masks():
    """Threads that block every signal read in their masks that they block this one too, now."""
    stop = threading.Event()

    def work():
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        ready.release()
        while not stop.is_set():
            libc.usleep(2000)

    ready = threading.Semaphore(0)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
        ready.acquire()
    spin(0.05)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
    got = read_from(descriptor_of(signal.SIGURG), signal.SIGURG)
    stop.set()
    for thread in threads:
        thread.join()
    return got


print({"pending": pending, "descriptor": descriptor, "waits": waits, "masks": masks}[sys.argv[1]]())
