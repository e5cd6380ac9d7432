"""contexts.py with|without SAMPLES: signals as our timer sends them to this thread, which holds the GIL, below the same Python
frames: in an asyncio task that another one awaits, in a span, with labels and an endpoint, or in none of these. The packages are
stand-ins that are laid out as the real ones."""
import collections
import contextvars
import ctypes
import os
import struct
import sys
import time
import types

KIND, SAMPLES = sys.argv[1], int(sys.argv[2])
FRAMES = 12
libc = ctypes.PyDLL(None)  # keeps the GIL


class Span:
    def __init__(self, name):
        self._name, self._kind, self._attributes = name, None, {"http.method": "GET"}
        self._context = collections.namedtuple("SpanContext", "trace_id span_id is_remote trace_flags")(1 << 127 | 5, 1 << 63 | 7, False, 1)


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
    sample(20)
    if KIND == "with":
        import asyncio

        await asyncio.sleep(3)  # what was imported is found once a second
    else:
        time.sleep(3)
    sample(SAMPLES)


def handle():
    async def handle(self):
        await deep(FRAMES)

    names = {"co_filename": "/x/starlette/routing.py"}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = "Route.handle"
    if KIND == "with":
        handle.__code__ = handle.__code__.replace(**names)
    return handle


def run_below(n, function, *arguments):
    return run_below(n - 1, function, *arguments) if n else function(*arguments)


if KIND == "with":
    import asyncio

    async def main():
        enter()
        await asyncio.ensure_future(handle()(Route()))

    asyncio.new_event_loop().run_until_complete(main())
else:

    def main():
        try:
            handle()(Route()).send(None)
        except StopIteration:
            pass

    run_below(4, main)  # for the loop's
