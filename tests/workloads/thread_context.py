"""thread_context.py LIBRARY: threads with and without Python, tasks and greenlets that have a native library
(tests/workloads/lib/thread_context.c) publish what they work for. Prints as JSON {"traces": {TRACE: ns}, "unknown": ns, "none": ns}: what
was used for each trace, in tasks, and with a record that is not valid, by the threads' clocks."""
import asyncio
import ctypes
import json
import sys
import threading
import time

library = ctypes.PyDLL(sys.argv[1])
library.use.restype = ctypes.c_uint64
U64 = ctypes.c_uint64
used = {}
lock = threading.Lock()


def add(key, ns):
    with lock:
        used[key] = used.get(key, 0) + ns


def publish(number, valid=1):
    library.publish(U64(0xABCD << 48), U64(number), U64(number + 7), valid)


def trace(number):
    return f"{0xABCD << 48:016x}{number:016x}"


def serve(first):
    for n in range(6):
        number = first + n % 3
        publish(number)
        add(trace(number), library.use(40))
        publish(number, 0)
        add("none", library.use(10))
        library.publish_at(None)
        add("none", library.use(10))
        library.publish_at(ctypes.c_void_p(0x700000001000))  # what is not mapped
        add("none", library.use(10))


async def task(number):
    for _ in range(6):
        publish(number)
        add("unknown", library.use(20))
        await asyncio.sleep(0)


async def tasks():
    await asyncio.gather(*(task(900 + n) for n in range(3)))


def native(first):
    jobs = (U64 * 5 * 3)(*((0xABCD << 48, first + n, n + 1, 200, 0) for n in range(3)))
    unlocked = ctypes.CDLL(sys.argv[1])
    unlocked.run(jobs, 3)
    for job in jobs:
        add(trace(job[1]), job[4])


publish(1)
library.publish_at(None)
time.sleep(0.1)
sum(range(3 * 10**6))  # a first sample
time.sleep(1.5)  # what is loaded is found once a second
threads = [threading.Thread(target=serve, args=(100 * n,)) for n in range(1, 3)]
threads.append(threading.Thread(target=native, args=(500,)))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
asyncio.new_event_loop().run_until_complete(tasks())
library.publish_at(None)
unknown, none = used.pop("unknown"), used.pop("none")
print(json.dumps({"traces": used, "unknown": unknown, "none": none}))
