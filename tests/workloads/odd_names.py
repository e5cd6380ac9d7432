"""odd_names.py names|class: something that is called as a known thing is another. names: the first field of an awaitable, or of a
callback, is a number; the list of a future's callbacks is moved while the work that the future is of runs; a package of the
program's own has functions of starlette's, and of trio's, with other variables. class: another class comes to lie where
trio's was."""

import asyncio
import concurrent.futures
import gc
import signal
import struct
import sys
import threading
import time
import types

# as an address: of what is not mapped
NUMBER = struct.unpack("d", struct.pack("Q", 0x7E1234567890))[0]


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def compiled(source, file, **names):
    exec(compile(source, file, "exec"), names)
    return names


async def child():
    for _ in range(120):
        compute(0.001)
        await asyncio.sleep(0)


async def awaitable(name):
    def __next__(self):
        return next(self.awaited)

    names = {"__await__": lambda self: self, "__iter__": lambda self: self, "__next__": __next__}
    odd = type(name, (float,), names)(NUMBER)
    odd.awaited = asyncio.gather(child(), child()).__await__()
    await odd


async def callback():
    class TaskWakeupMethWrapper(float):
        def __call__(self, future):
            pass

    task = asyncio.ensure_future(child())
    task.add_done_callback(TaskWakeupMethWrapper(NUMBER))
    await task


async def callbacks():
    def work():
        given.wait()
        kept = future._done_callbacks[0]
        end = time.monotonic() + 0.7
        while time.monotonic() < end:
            future._done_callbacks.extend([print] * 100000)
            for _ in range(40):
                future._done_callbacks += future._done_callbacks[: len(future._done_callbacks) // 8]
                bytearray(1 << 22)
            future._done_callbacks = [kept]

    given = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        awaited = asyncio.wrap_future(future)
        given.set()
        await awaited


def other_class():
    package = sys.modules["trio._core._run"] = types.ModuleType("trio._core._run")
    package.Task = type("Task", (), {"__slots__": ("coro", "name", "_parent_nursery")})
    place = id(package.Task)
    for _ in range(15):
        compute(0.05)
        time.sleep(0.15)  # it is found
    del sys.modules[package.__name__], package
    gc.collect()
    kept = []
    while not kept or (id(kept[-1]) != place and len(kept) < 3000):
        kept.append(type("Mine", (complex,), {"__slots__": ()}))
    values = [kept[-1](NUMBER, NUMBER) for _ in range(200)]
    run = compiled("def unrolled_run(task): compute(0.4)", "/own/trio/_core/_run.py", compute=compute)["unrolled_run"]
    run(values[100])


def route():
    def stop(*_):
        raise TimeoutError

    source = "class Route:\n  def __init__(self):\n    self.path = '/x'\n  def handle(self):\n    bytes(1 << 24)\n    while True: pass"
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        compiled(source, "/own/starlette/routing.py")["Route"]().handle()
    except TimeoutError:
        pass


def register():
    source = "def to_thread_run_sync():\n  def worker_fn():\n    task_register = NUMBER\n    compute(0.4)\n  return worker_fn"
    names = compiled(source, "/own/trio/_threads.py", compute=compute, NUMBER=NUMBER)
    thread = threading.Thread(target=names["to_thread_run_sync"]())
    thread.start()
    thread.join()


compute(0.1)
time.sleep(1.4)  # what was imported is found within a second
if sys.argv[1] == "class":
    other_class()
else:
    for name in "anext_awaitable", "coroutine_wrapper", "pyprof_steps":
        print(name, flush=True)
        asyncio.run(awaitable(name))
    for kind in callback, callbacks:
        print(kind.__name__, flush=True)
        asyncio.run(kind())
    for kind in route, register:
        print(kind.__name__, flush=True)
        kind()
