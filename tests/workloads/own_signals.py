"""What a program sees that uses SIGURG itself (lib/own_signals.c), each use in a process of its own: own_signals.py LIBRARY"""

import ctypes
import faulthandler
import os
import select
import signal
import sys
import time
import warnings

from cpu import spin

library = ctypes.CDLL(sys.argv[1])
warnings.simplefilter("ignore")


def python_waits():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    spin(0.05)
    os.kill(os.getpid(), signal.SIGURG)
    spin(0.05)
    print("sigpending", signal.sigpending(), "sigwait", signal.sigwait([signal.SIGURG]))
    print("sigtimedwait", signal.sigtimedwait([signal.SIGURG], 0.1))


def python_interrupted():
    """PEP 475: a handler that raises ends a system call that waits."""

    def on_signal(number, frame):
        raise KeyError("the handler's")

    signal.signal(signal.SIGURG, on_signal)
    read, _ = os.pipe()
    for wait in (lambda: os.read(read, 1), lambda: time.sleep(20), lambda: select.select([read], [], [], 20)):
        spin(0.02)
        parent = os.getpid()
        try:
            if os.fork() == 0:
                time.sleep(0.1)
                os.kill(parent, signal.SIGURG)
                os._exit(0)
            wait()
        except KeyError as error:
            print("interrupted", error)
        os.wait()


def python_faulthandler():
    """Chained: the traceback, then what was there before."""
    got = []
    signal.signal(signal.SIGURG, lambda *_: got.append(1))
    with open(os.devnull, "w") as out:
        faulthandler.register(signal.SIGURG, file=out, all_threads=True, chain=True)
        for _ in range(20):
            os.kill(os.getpid(), signal.SIGURG)
            spin(0.005)
    print("handled", len(got), "unregistered", faulthandler.unregister(signal.SIGURG))
    os.kill(os.getpid(), signal.SIGURG)
    spin(0.01)
    print("handled", len(got))


C = ["waits", "descriptor", "pending", "masks_of_calls", "flags", "jumps"]
for use in [*C, python_waits, python_interrupted, python_faulthandler]:
    name = use if isinstance(use, str) else use.__name__
    if len(sys.argv) > 2 and name not in sys.argv[2:]:
        continue
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        library.own_signals(use.encode()) if isinstance(use, str) else use()
        sys.stdout.flush()
        os._exit(0)
    print(name, "ended with status", os.waitpid(pid, 0)[1])
