"""ddtrace_spans.py [asyncio]: threads and tasks with spans of an unmodified ddtrace 4, which has patched asyncio or not. Prints as JSON
{"traces": {TRACE: ns}, "unknown": ns}: what was used for each trace by the threads' clocks, and in tasks that cannot be known."""
import asyncio
import json
import sys
import threading
import time

import ddtrace
from ddtrace import tracer

follows = len(sys.argv) > 1 or sys.version_info >= (3, 14)
if len(sys.argv) > 1:
    ddtrace.patch(asyncio=True)
used = {}
lock = threading.Lock()


def work(key, ms):
    since = now = time.thread_time_ns()
    while now - since < ms * 1e6:
        sum(range(3000))
        now = time.thread_time_ns()
    with lock:
        used[key] = used.get(key, 0) + now - since


def serve():
    for _ in range(4):
        with tracer.trace("outer") as span:
            trace = f"{span.trace_id:032x}"
            work(trace, 60)
            with tracer.trace("inner"):
                work(trace, 40)
            work(trace, 20)


async def task(n):
    for _ in range(4):
        with tracer.trace(f"task {n}") as span:
            trace = f"{span.trace_id:032x}" if follows else "unknown"
            for _ in range(4):
                work(trace, 15)
                await asyncio.sleep(0)


async def tasks():
    await asyncio.gather(*(task(n) for n in range(3)))


sum(range(3 * 10**6))  # a first sample
time.sleep(1.6)  # what is loaded is found once a second
threads = [threading.Thread(target=serve) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
asyncio.new_event_loop().run_until_complete(tasks())
unknown = used.pop("unknown", 0)
print(json.dumps({"traces": used, "unknown": unknown, "none": 0}))
