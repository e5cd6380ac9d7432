"""Python that C calls that Python calls, in every way there is at hand: pairing.py CPU_SECONDS

Prints which kinds ran and how often.
"""

import asyncio
import bisect
import ctypes
import functools
import gc
import io
import itertools
import json
import re
import sys
import threading
import time
import weakref

try:
    import numpy
except ImportError:
    numpy = None
try:
    import sqlite3
except ImportError:
    sqlite3 = None
try:
    from xml.parsers import expat
except ImportError:
    expat = None


def leaf(value):
    total = 0
    for i in range(20):
        total += i * value % 7
    return total


class Number:
    """Every operation is a slot: C on the stack between two Python frames."""

    def __init__(self, value):
        self.value = value
        leaf(value)

    def __lt__(self, other):
        return leaf(self.value) * 0 + self.value < other.value

    def __eq__(self, other):
        return leaf(self.value) * 0 + self.value == other.value

    def __hash__(self):
        return leaf(self.value) * 0 + self.value % 5

    def __add__(self, other):
        return Number(leaf(self.value) * 0 + self.value + other.value)

    def __getattr__(self, name):
        leaf(3)
        if name.startswith("__"):  # numpy asks for its protocols
            raise AttributeError(name)
        return len(name)

    def __call__(self, value):
        return leaf(value)

    def __enter__(self):
        return leaf(1)

    def __exit__(self, *error):
        return leaf(2) < 0

    def __iter__(self):
        return (leaf(i) for i in range(5))

    def __del__(self):
        leaf(1)

    @property
    def property(self):
        return leaf(self.value)


def callbacks():
    list(map(leaf, range(50)))
    list(filter(leaf, range(50)))
    functools.reduce(lambda a, b: a + leaf(b), range(50))
    max(range(50), key=lambda n: leaf(n))
    [sum(leaf(i) for i in range(10)) for _ in range(5)]
    list(itertools.takewhile(lambda n: leaf(n) >= 0, range(30)))
    functools.partial(map, leaf)(range(5)).__next__()
    bisect.bisect([Number(i) for i in range(20)], Number(7))


def sorting():
    sorted(range(200), key=lambda n: -leaf(n))
    sorted([Number(-i) for i in range(20)])
    sorted(range(100), key=functools.cmp_to_key(lambda a, b: leaf(a) - leaf(b)))


def slots():
    numbers = {Number(i): i for i in range(20)}
    Number(5) in numbers
    sum((Number(1), Number(2)), Number(3))
    Number(1).missing
    Number(1).property
    with Number(2):
        list(Number(3))
    list(map(Number(4), range(20)))


def regular_expressions():
    re.sub(r"\d", lambda match: str(leaf(int(match.group())) % 10), "0123456789" * 10)


def to_json():
    json.dumps([Number(1), {"a": Number(2)}], default=lambda thing: leaf(thing.value))
    json.dumps({"a": [Number(1)] * 5}, default=lambda thing: leaf(thing.value), indent=1)
    json.loads('{"a": {"b": [1.5, 2]}}' , object_hook=lambda pairs: leaf(len(pairs)), parse_float=lambda text: leaf(1))


async def ticks(count):
    for i in range(count):
        yield leaf(i)
        await asyncio.sleep(0)


async def task(depth):
    if depth:
        return await task(depth - 1)
    async for _ in ticks(5):
        leaf(2)
    return [leaf(i) async for i in ticks(5)]


async def tasks():
    loop = asyncio.get_running_loop()
    loop.call_soon(leaf, 3)
    await asyncio.gather(*(task(i) for i in range(8)))
    future = loop.create_future()
    future.add_done_callback(lambda done: leaf(done.result()))
    future.set_result(4)
    await future


def coroutines():
    loop.run_until_complete(tasks())


def generators():
    def inner(count):
        for i in range(count):
            received = yield leaf(i)
            leaf(received or 1)

    def outer(count):
        yield from inner(count)
        yield from itertools.chain(inner(3), inner(2))

    generator = outer(10)
    next(generator)
    for i in range(5):
        generator.send(i)
    list(generator)


def errors():
    def fail(depth):
        if not depth:
            raise ValueError(leaf(1))
        return list(map(fail, [depth - 1]))

    for _ in range(5):
        try:
            fail(4)
        except ValueError:
            leaf(2)


def finalizers():
    def dropped(reference):
        leaf(5)

    kept = []
    for i in range(20):
        number = Number(i)
        kept.append(weakref.ref(number, dropped))
        number.itself = number
    del number
    gc.collect()


def foreign():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    array = (ctypes.c_int * 50)(*range(50, 0, -1))
    ctypes.CDLL(None).qsort(array, 50, 4, compare(lambda a, b: a[0] - b[0] + leaf(1) * 0))


def code():
    exec(compile("[leaf(i) for i in range(20)]\nclass C:\n    a = leaf(3)\n", "<pairing>", "exec"), {"leaf": leaf})
    eval("leaf(4)")
    type("Made", (), {"__init_subclass__": classmethod(lambda cls: leaf(1)), "f": leaf})
    print(Number(1).value, file=io.StringIO())


def numpy_objects():
    array = numpy.array([Number(i) for i in range(20)], dtype=object)
    array + array
    numpy.sort(array)
    numpy.frompyfunc(leaf, 1, 1)(numpy.arange(50))
    numpy.vectorize(leaf)(numpy.arange(20))
    numpy.add.reduce(array)


def database():
    connection = sqlite3.connect(":memory:")
    connection.create_function("leaf", 1, leaf)
    connection.create_collation("own", lambda a, b: leaf(len(a)) * 0 + (a > b) - (a < b))
    connection.execute("create table t (a)")
    connection.executemany("insert into t values (?)", ((str(leaf(i)),) for i in range(20)))
    connection.execute("select leaf(rowid) from t order by a collate own").fetchall()
    connection.close()


def parsing():
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: leaf(len(attributes))
    parser.CharacterDataHandler = lambda data: leaf(len(data))
    parser.Parse("<a>" + "<b c='d'>text</b>" * 20 + "</a>", True)


def depth():
    def down(n):
        return leaf(n) if not n else list(map(down, [n - 1]))

    down(30)


def threads():
    workers = [threading.Thread(target=lambda: [callbacks(), sorting()]) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


kinds = [callbacks, sorting, slots, regular_expressions, to_json, coroutines, generators, errors, finalizers, foreign, code]
kinds += [depth, threads]
kinds += [numpy_objects] * bool(numpy) + [database] * bool(sqlite3) + [parsing] * bool(expat)
loop = asyncio.new_event_loop()
SLICE = 0.05  # CPU seconds of one kind


def main():
    counts = {kind.__name__: 0 for kind in kinds}
    until = time.process_time() + float(sys.argv[1])
    while time.process_time() < until:
        for kind in kinds:
            end = time.process_time() + SLICE
            while time.process_time() < end:
                kind()
                counts[kind.__name__] += 1
    print(json.dumps(counts))


main()
