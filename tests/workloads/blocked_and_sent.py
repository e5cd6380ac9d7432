"""Threads that block every signal, one of which waits for them all, and a SIGURG from another process: prints calls that ended
early, and the signals that were taken but for SIGCHLD and SIGURG."""
import ctypes
import os
import signal
import subprocess
import threading
import time

EVERY = set(range(1, 65)) - {32, 33}  # libc's
libc = ctypes.CDLL(None, use_errno=True)
early, taken = [], []


def use(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(300))


def wait(call, *arguments):
    use(0.1)
    if call(*arguments) != 0:
        early.append(ctypes.get_errno())


def dispatch():
    while not taken or taken[-1] != signal.SIGTERM:
        taken.append(signal.sigwaitinfo(EVERY).si_signo)
        use(0.03)


def send(name):
    subprocess.run(["kill", f"-{name}", str(os.getpid())], check=True)


signal.pthread_sigmask(signal.SIG_BLOCK, EVERY)
threads = [threading.Thread(target=dispatch)]
for waits in (libc.poll, None, 0, 2500), (libc.usleep, 2500000):
    threads.append(threading.Thread(target=wait, args=waits))
for thread in threads:
    thread.start()
use(0.3)
for name in "USR1", "URG", "USR2":
    send(name)
    use(0.2)
    time.sleep(0.5)
send("TERM")
for thread in threads:
    thread.join()
print(early, sorted(set(taken) - {signal.SIGCHLD, signal.SIGURG}), len(taken) < 20)
