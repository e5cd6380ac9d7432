"""What a program could notice of perf events for its threads. perf_events.py WHAT"""
import ctypes
import errno
import os
import resource
import signal
import sys
import threading
import time


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))


def events():
    """The perf events in the descriptor table of each of this process's threads, by the thread's name."""
    found = {}
    for tid in os.listdir("/proc/self/task"):
        task = f"/proc/self/task/{tid}"
        try:
            names = [os.readlink(f"{task}/fd/{fd}") for fd in os.listdir(f"{task}/fd")]
        except OSError:
            continue
        count = sum("perf_event" in name for name in names)
        if count:
            found[open(f"{task}/comm").read().strip()] = count
    return found


def threads(count):
    """So many at a time."""
    many = [threading.Thread(target=work, args=(0.15,)) for _ in range(count)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()


def descriptors():
    work(0.5)
    print(*events().items())


def ended():
    for _ in range(2):
        threads(10)
    time.sleep(1.5)
    work(0.5)
    print(max(events().values()))


def no_room():
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    threads(20)
    opened = []
    try:
        while True:
            opened.append(os.dup(1))
    except OSError:
        print(len(opened))


def taken():
    """The program takes SIGURG over: it gets its own signals, and no other."""
    seen = []
    workers = [threading.Thread(target=work, args=(1,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    work(0.7)
    before = sum(events().values())
    signal.signal(signal.SIGURG, lambda *_: seen.append(1))
    for _ in range(5):
        os.kill(os.getpid(), signal.SIGURG)
        work(0.1)
    for worker in workers:
        worker.join()
    work(0.5)
    print(before > 0, len(seen), events())


def waits():
    """poll returns EINTR for a signal that comes while it is in the kernel; Python itself would hide that."""
    poll = ctypes.CDLL(None, use_errno=True).poll
    end = time.monotonic() + 3
    interrupted = 0
    while time.monotonic() < end:
        sum(range(1000))
        interrupted += poll(None, 0, 1) < 0 and ctypes.get_errno() == errno.EINTR
    print(interrupted)


def images():
    """exec, time after time, of an image in which SIGURG has its default action; some at least where that takes long."""
    count = int(os.environ.get("IMAGES", "0"))
    end = float(os.environ.setdefault("IMAGES_END", str(time.monotonic() + 60)))
    if count == 40 or (count >= 5 and time.monotonic() > end):
        print("alive")
        return
    work(0.06)
    os.environ["IMAGES"] = str(count + 1)
    os.execv(sys.executable, [sys.executable, *sys.argv])


def forks():
    work(0.5)
    for _ in range(3):
        pid = os.fork()
        if not pid:
            work(0.5)
            os._exit(len(events()) != 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


globals()[sys.argv[1]]()
