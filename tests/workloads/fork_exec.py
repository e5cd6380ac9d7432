"""Starts `true` so many times, by every way there is, while threads use CPU: fork_exec.py COUNT"""

import os
import shutil
import subprocess
import sys
import threading

TRUE = shutil.which("true")
stop = False


def load():
    total = 0
    while not stop:
        for i in range(5000):
            total += i * i % 7
    return total


def by_fork():
    pid = os.fork()
    if pid == 0:
        os.execv(TRUE, [TRUE])
    return os.waitpid(pid, 0)[1]


def by_spawn():
    return os.waitpid(os.posix_spawn(TRUE, [TRUE], os.environ), 0)[1]


def by_subprocess():
    return subprocess.call([TRUE])


def by_system():
    return os.system(TRUE)


WAYS = [by_fork, by_spawn, by_subprocess, by_system]


def main():
    global stop
    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    bad = {}
    for i in range(int(sys.argv[1])):
        way = WAYS[i % len(WAYS)]
        status = way()
        if status != 0:
            bad[(way.__name__, status)] = bad.get((way.__name__, status), 0) + 1
    stop = True
    for thread in threads:
        thread.join()
    for (way, status), count in bad.items():
        print(f"{count} children of {way} ended with status {status}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    import warnings

    # From 3.12 on os.fork() warns of threads; they are wanted here.
    warnings.simplefilter("ignore")
    main()
