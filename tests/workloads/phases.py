"""Does what it is told: each line of stdin names a function, which uses SECONDS of CPU and then prints what it used, in ns.
"fork NAME" has a child do it, "exec NAME" another image of this program, "thread NAME" another thread."""
import os
import sys
import threading
import time

SECONDS = float(sys.argv[1])


def use():
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < SECONDS * 1e9:
        sum(range(1000))
    print(time.thread_time_ns() - begin, flush=True)


def first():
    use()


def second():
    use()


def third():
    use()


def do(name):
    globals()[name]()


def in_child(name):
    child = os.fork()
    if not child:
        do(name)
        os._exit(0)
    os.waitpid(child, 0)


def in_image(name):
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, __file__, str(SECONDS), name])


def in_thread(name):
    before = len(os.listdir("/proc/self/task"))
    thread = threading.Thread(target=do, args=(name,))
    thread.start()
    thread.join()
    for _ in range(1000):  # the kernel has it a little longer, and os.fork() counts
        if len(os.listdir("/proc/self/task")) > before:
            time.sleep(0.001)


if len(sys.argv) > 2:
    do(sys.argv[2])
    sys.exit()
print("ready", flush=True)
for line in sys.stdin:
    *where, name = line.split()
    {"fork": in_child, "exec": in_image, "thread": in_thread}[where[0]](name) if where else do(name)
