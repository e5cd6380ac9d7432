"""Single-steps programs whose code belongs to tasks and the like: contexts.py OBJECT [--steps N] [--source NAME].

A byte for each kind of context says, while a function that only computes runs, what its instructions belong to
(contexts.h). Around these functions, in the libraries' own code, any context that the program has is right."""
import argparse
import asyncio
import contextvars
import ctypes
import functools
import os
import sys

VERSION = sys.version_info[:2]
TASK, GREENLET, SPAWN, ENDPOINT, SPAN, LABELS, AWAITER = 1, 2, 3, 4, 5, 8, 9  # enum pp_context_kind
KINDS, NONE = 32, 255
MARKS = bytearray(KINDS)
pinned = (ctypes.c_char * KINDS).from_buffer(MARKS)
library = None
begin = end = int  # from where to where each round is stepped


@functools.lru_cache(None)
def number(kind, text):
    return library.contexts_text(kind, text.encode())


def compute(n):
    total = 0
    for i in range(n):
        total += i
    return total


# --- asyncio ---


async def step(task, awaiters):
    """Computes as the task with this number, which those with these numbers await."""
    MARKS[TASK] = task
    for i, awaiter in enumerate(awaiters):
        MARKS[AWAITER + i] = awaiter
    MARKS[AWAITER + len(awaiters)] = NONE
    compute(3)
    for i in range(len(awaiters) + 1):
        MARKS[AWAITER + i] = 0
    MARKS[TASK] = 0


async def worker(task, awaiters):
    owners = [library.contexts_frame_owner(ctypes.py_object(coroutine), SHIM) for coroutine in shims]
    begin()
    await step(task, awaiters)
    await asyncio.sleep(0)
    await step(task, awaiters)
    while owners:
        library.contexts_frame_owner(ctypes.py_object(shims.pop()), owners.pop())


async def default_name(awaiters):
    await worker(number(TASK, "default_name"), awaiters)


async def renamed(awaiters):
    for name in "first", "second":
        text = number(TASK, name)
        asyncio.current_task().set_name("".join(list(name)))  # which nothing else keeps alive
        await step(text, awaiters)
        await asyncio.sleep(0)


variables = [contextvars.ContextVar(str(i)) for i in range(8)]
callbacks = [lambda _, i=i: i for i in range(6)]  # for more than four a list takes other memory


async def changing():
    """Changes all that tells to what it belongs, so that what told it before is freed."""
    me = asyncio.current_task()
    for name in "first", "second":
        me.set_name("".join(list(name)))
        for callback in callbacks:
            me.add_done_callback(callback)
        for variable in variables:
            variable.set([])
        await asyncio.sleep(0)
        for callback in callbacks:
            me.remove_done_callback(callback)


async def waiting(way, above):
    """Awaits a task in one way or another."""
    awaiters = (number(AWAITER, way + WAITING + BELOW.get(way, "")),
                *(number(AWAITER + 1 + i, "main > main") for i in range(above)))
    task = asyncio.ensure_future(worker(number(TASK, "awaited"), awaiters))
    task.set_name("awaited")
    await WAYS[way](task)


async def await_plainly(task):
    await task


def await_shim(task):
    """What has been freed while it is read may be anything: here a frame without a function."""
    coroutine = await_plainly(task)
    if VERSION >= (3, 11):
        shims.append(coroutine)
    return coroutine


async def await_completed(task):
    for first in asyncio.as_completed([task, asyncio.sleep(0)]):
        await first


async def generate(task):
    await task
    yield


async def await_generator(task):
    async for _ in generate(task):
        pass


SHIM, shims = 3, []
WAITING = " > waiting"
BELOW = {"await": " > await_plainly", "shim": "" if VERSION >= (3, 11) else " > await_plainly",
         "as_completed": " > await_completed", "generator": " > await_generator > generate"}
WAYS = {
    "await": await_plainly,
    "gather": lambda task: asyncio.gather(task, asyncio.sleep(0)),
    "wait": lambda task: asyncio.wait({task}),
    "wait_for": lambda task: asyncio.wait_for(task, 60),
    "shield": asyncio.shield,
    "shim": await_shim,
    "as_completed": await_completed,
    "generator": await_generator,
}


def callback(ready):
    MARKS[TASK] = NONE
    compute(3)
    MARKS[TASK] = 0
    ready.set_result(None)


async def main(way):
    me = asyncio.current_task()
    me.set_name("main")
    if way not in WAYS:
        begin()
    here = number(TASK, "main")
    await step(here, ())
    if way in WAYS:
        task = asyncio.ensure_future(waiting(way, 1))
        task.set_name(way)
        await task
    elif way == "names":
        mine = (number(AWAITER, "main > main"),)
        await asyncio.gather(default_name(mine), renamed(mine))
    elif way == "changing":
        task = asyncio.ensure_future(changing())
        task.add_done_callback(repr)  # what awaits it is in the list that changes
        await asyncio.gather(task, asyncio.sleep(0))
    elif way == "callback":
        ready = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(callback, ready)
        await ready
    elif VERSION >= (3, 12):
        await eager(here)
    await step(here, ())
    end()


async def started_eagerly(task):
    await step(task, ())


async def eager(here):
    loop = asyncio.get_running_loop()
    for name in "eager 1", "eager 2":
        task = asyncio.Task(started_eagerly(number(TASK, name)), loop=loop, name=name, eager_start=True)
        await step(here, ())
        await task


ROUNDS = [*WAYS, "names", "callback", "changing", "eager"]


def prepare_asyncio():
    """The tasks that run now and then, while nothing says that they compute."""
    for name in ("main", "waiting", "renamed", "default_name", "worker", "sleep", "started_eagerly", "changing", "first", "second", *WAYS):
        number(TASK, name)
    for kind in (AWAITER, AWAITER + 1, AWAITER + 2):
        number(kind, "main > main")
        for way in WAYS:
            number(kind, way + WAITING + BELOW.get(way, ""))
        number(kind, "shim" + WAITING + BELOW["await"])


def run_asyncio(count, loops=[]):
    if not loops:
        loops.append(asyncio.new_event_loop())
        asyncio.set_event_loop(loops[0])
    loops[0].run_until_complete(main(ROUNDS[count % len(ROUNDS)]))


SOURCES = {
    "asyncio": (prepare_asyncio, run_asyncio),
    "eager": (prepare_asyncio, lambda count: run_asyncio(ROUNDS.index("eager"))),
}


def main_program():
    global library, begin, end
    from contexts_endpoints import SOURCES as endpoints
    from contexts_requests import SOURCES as requests
    from contexts_tasks import SOURCES as tasks
    from greenlets import SOURCES as greenlets

    SOURCES.update(greenlets, **endpoints, **requests, **tasks)
    parser = argparse.ArgumentParser()
    parser.add_argument("object")
    parser.add_argument("--steps", type=int, default=100000, help="how many instructions are stepped")
    parser.add_argument("--each", type=int, default=1, help="instructions from one sample to the next")
    parser.add_argument("--first", type=int, default=0, help="number of the round to begin with")
    parser.add_argument("--source", choices=SOURCES, default="asyncio")
    options = parser.parse_args()
    library = ctypes.PyDLL(os.path.abspath(options.object))
    library.torture_start.restype = ctypes.c_char_p
    library.torture_steps.restype = ctypes.c_uint64
    why = library.torture_start(VERSION[1])
    if why:
        print("skip: %s" % why.decode())
        return
    library.contexts_marks(ctypes.c_void_p(ctypes.addressof(pinned)))
    prepare, run = SOURCES[options.source]
    prepare()
    for i in range(32):
        run(i)
    stepping = []

    def begin():
        """Stepping is not begun within what is stepped: what prepares it is not to be interrupted."""
        if not stepping:
            stepping.append(True)
            library.torture_begin(0)

    def end():
        library.torture_end()
        stepping.clear()

    end()  # which is looked up now, not while it is stepped
    begin()
    compute(3)  # a sample tells which interpreter is to be searched
    end()
    library.contexts_refresh()
    if "UNMAPPING_LATE" in os.environ:
        ctypes.CDLL(None).pages_from(ctypes.c_size_t(1))
    count = options.first
    library.torture_sample_each(ctypes.c_uint64(options.each))
    library.torture_limit(ctypes.c_uint64(options.steps))
    while library.torture_steps() < options.steps:
        run(count)  # stepped from begin to end
        count += 1
    sys.stdout.flush()
    library.contexts_report()
    print("steps=%d" % library.torture_steps())


main_program()
