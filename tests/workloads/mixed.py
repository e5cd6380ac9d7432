"""CPU of every kind, each piece measured by the thread's own clock: mixed.py TRUTH.json"""

import hashlib
import json
import sys
import threading
import time
import zlib

SCALE = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
SHORT_THREADS = 400
BLOCK = bytes(range(256)) * 4096

truth = {}
lock = threading.Lock()


def account(name, since):
    spent = time.thread_time() - since
    with lock:
        truth[name] = truth.get(name, 0.0) + spent


def pure_python():
    since = time.thread_time()
    total = 0
    while time.thread_time() - since < 2.0 * SCALE:
        for i in range(20000):
            total += i * i % 7
    account("pure_python", since)
    return total


def c_hash():
    since = time.thread_time()
    while time.thread_time() - since < 1.5 * SCALE:
        hashlib.sha256(BLOCK).digest()
    account("c_hash", since)


def compress():
    since = time.thread_time()
    while time.thread_time() - since < 1.0 * SCALE:
        zlib.compress(BLOCK, 6)
    account("compress", since)


def short_job():
    since = time.thread_time()
    total = 0
    while time.thread_time() - since < 0.0025:
        for i in range(500):
            total += i * i % 7
    account("short_job", since)


def sleeper(stop):
    since = time.thread_time()
    stop.wait()
    account("sleeper", since)


def main():
    stop = threading.Event()
    asleep = threading.Thread(target=sleeper, args=(stop,))
    asleep.start()
    workers = [threading.Thread(target=f) for f in (pure_python, c_hash, compress)]
    for worker in workers:
        worker.start()
    for _ in range(SHORT_THREADS):
        short = threading.Thread(target=short_job)
        short.start()
        short.join()
    for worker in workers:
        worker.join()
    stop.set()
    asleep.join()


main()
truth["total"] = time.process_time()
with open(sys.argv[1], "w") as out:
    json.dump(truth, out)
