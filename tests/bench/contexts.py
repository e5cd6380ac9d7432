"""contexts.py KIND SAMPLES: signals as our timer sends them to this thread, which holds the GIL, below the same Python frames.
The packages are stand-ins that are laid out as the real ones. KIND:

    with, without     in an asyncio task that another one awaits, in a span, with labels and an endpoint; in none of these
    unselected        the span's trace is the last to be selected
    fresh             each sample meets another task, context, span and labels, with names of their own
    fresh-unselected  both
    pairs             by turns in all and in none, each timed: prints what the contexts add to a sample, in ns: quartiles of the
                      differences
    fresh-pairs       the same, each sample in what is fresh"""
import collections
import contextvars
import ctypes
import os
import statistics
import struct
import sys
import time
import types

KIND, SAMPLES = sys.argv[1], int(sys.argv[2])
FRESH = KIND.startswith("fresh")
TRACE = 1 << 127 | ((1 << 64) - 1 if KIND.endswith("unselected") else 5)
FRAMES = 12
libc = ctypes.PyDLL(None)  # keeps the GIL


class Span:
    def __init__(self, name, number=7):
        self._name, self._kind, self._attributes = name, None, {"http.method": "GET"}
        self._context = collections.namedtuple("SpanContext", "trace_id span_id is_remote trace_flags")(
            TRACE | number << 64, 1 << 63 | number, False, 1)


class Runtime:
    def __init__(self):
        self._current_context = contextvars.ContextVar("current_context")


class Values(dict):
    pass


class Route:
    def __init__(self):
        self.path = "/items/{item}"


def package(name, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


def enter():
    runtime, key, labels = Runtime(), "current-span-5ab1", contextvars.ContextVar("labels")
    package("opentelemetry.context", _RUNTIME_CONTEXT=runtime)
    package("opentelemetry.trace.propagation", _SPAN_KEY=key)
    package("libpyprof", pyprof_labels=labels)
    runtime._current_context.set(Values({"baggage": {}, key: Span("GET /items")}))
    labels.set(b"customer=acme;method=GET;")
    for n in range(12):
        contextvars.ContextVar(f"other {n}").set(n)

    def renew(number):
        runtime._current_context.set(Values({"baggage": {}, key: Span(f"GET /items/{number}", number)}))
        labels.set(b"customer=%d;method=GET;" % number)

    return renew


def own_tick():
    """See ticks.py."""
    lines = open("/proc/self/timers", encoding="ascii").read().splitlines()
    signal, value = next(line.split()[1].split("/") for line in lines if line.startswith("signal:"))
    return int(signal), struct.pack("3i4x2iQ88x", int(signal), 0, -2, 0, 0, int(value, 16))


tick = own_tick()


def sample(count):
    for _ in range(count):
        libc.syscall(297, os.getpid(), os.getpid(), *tick)
        libc.poll(None, 0, 0)


async def deep(n):
    if n:
        return await deep(n - 1)
    if FRESH:
        return sample(1)
    sample(20)
    if KIND != "without":
        import asyncio

        await asyncio.sleep(3)  # what was imported is found once a second
    else:
        time.sleep(3)
    sample(SAMPLES)


async def deep_timed(n, into, samples):
    if n:
        return await deep_timed(n - 1, into, samples)
    now = time.perf_counter_ns
    for _ in range(samples):
        start = now()
        libc.syscall(297, os.getpid(), os.getpid(), *tick)
        into.append(now() - start)


def handle():
    async def handle(self, scope=None):
        await deep(FRAMES)

    names = {"co_filename": "/x/starlette/routing.py"}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = "Route.handle"
    if KIND != "without":
        handle.__code__ = handle.__code__.replace(**names)
    return handle


def run_below(n, function, *arguments):
    return run_below(n - 1, function, *arguments) if n else function(*arguments)


def pairs():
    """Both in one process: where memory lies differs more between two of them."""
    import asyncio

    samples = 1 if FRESH else 60  # in a task

    async def serve(self, scope):
        await deep_timed(FRAMES, scope, samples)

    async def main(into, number):
        if FRESH:
            renew(number)
        task = asyncio.ensure_future(route(Route(), into))
        if FRESH:
            task.set_name(f"request {number}")
        await task

    def run_bare(into):
        try:
            serve(Route(), into).send(None)
        except StopIteration:
            pass

    code = handle().__code__
    names = {"co_filename": code.co_filename}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = code.co_qualname
    route = types.FunctionType(serve.__code__.replace(**names), globals(), closure=serve.__closure__)
    loop, served, differences, number = asyncio.new_event_loop(), contextvars.copy_context(), [], 0
    renew = served.run(enter)
    for turn in range(SAMPLES // 60 + 3):
        times = [], []
        while len(times[1]) < 60:
            number += 1
            served.run(loop.run_until_complete, main(times[0], number))
            contextvars.Context().run(run_below, 4, run_bare, times[1])
        if turn < 3:
            time.sleep(1.2)  # what was imported is found once a second
        else:
            differences.append(statistics.median(times[0]) - statistics.median(times[1]))
    print(*(round(value) for value in statistics.quantiles(differences, n=4)))


if KIND.endswith("pairs"):
    pairs()
elif KIND != "without":
    import asyncio

    async def main():
        renew, route = enter(), handle()
        for number in range(20 + SAMPLES if FRESH else 1):
            if number == 20:
                await asyncio.sleep(3)  # what was imported is found once a second
            if FRESH:
                renew(number)
            task = asyncio.ensure_future(route(Route()))
            task.set_name(f"request {number}")
            await task

    asyncio.new_event_loop().run_until_complete(main())
else:

    def main():
        try:
            handle()(Route()).send(None)
        except StopIteration:
            pass

    run_below(4, main)  # for the loop's
