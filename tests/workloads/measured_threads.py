"""Threads of Python: measured_threads.py TRUTH_DIRECTORY KIND COUNT [SECONDS]

    busy     COUNT threads use SECONDS together, each in one of four functions
    short    COUNT threads use 1 ms each, 20 at a time, half of them in one function and half in another
    daemons  COUNT daemon threads still work when the process ends; the main thread leaves after SECONDS of CPU
    reused   COUNT threads of 5 ms, one after the other, each with the tid of the one before if we may ask for that
"""

import sys
import threading
import time

import truth

count = int(sys.argv[3])
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0


short_a, short_b = truth.named("short_a"), truth.named("short_b")


def reused_tid():
    tids.append(threading.get_native_id())
    truth.spin("reused_tid", 5_000_000)


def daemon_work():
    while True:
        sum(range(1000))


def run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def busy():
    functions = [truth.named(f"busy_{i}") for i in range(4)]
    ns = int(seconds * 1e9 / count)
    run([threading.Thread(target=functions[i % 4], args=(ns,)) for i in range(count)])


def short():
    for _ in range(0, count, 20):
        run([threading.Thread(target=short_b if i % 2 else short_a, args=(1_000_000,)) for i in range(20)])


def daemons():
    for _ in range(count):
        threading.Thread(target=daemon_work, daemon=True).start()
    while time.process_time() < seconds:
        sum(range(1000))


tids = []


def ask_for(tid):
    try:
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(tid - 1))
    except OSError:
        pass


def reused():
    for _ in range(count):
        if tids:
            ask_for(tids[-1])
        run([threading.Thread(target=reused_tid)])
    print(f"{len(tids) - len(set(tids))} of {count} tids used again")


{"busy": busy, "short": short, "daemons": daemons, "reused": reused}[sys.argv[2]]()
truth.write()
