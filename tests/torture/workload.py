# What torture.py steps through. Its macros (ENTER, LEAVE, AT, ANYWHERE) and the meaning of the comments are explained
# there; d is theirs. It runs on every version from 3.8 on. Statements after LEAVE are on its line: what a function does
# before ENTER and after LEAVE is where a frame more than the truth says may be seen.
#
# ruff: noqa
import asyncio
import contextlib
import functools
import gc
import json
import re
import signal
import sys
import threading
import time
import types
import weakref

# --- calls ---


def leaf(x):
    ENTER
    LEAVE; return x


def tip(x):  # leaf
    return x


def defaults(x, y=2, *rest, z=3, **others):
    ENTER
    AT; r = tip(x)
    LEAVE; return r


def cells(x):
    ENTER
    def inner(y):
        ENTER
        r = x + y
        AT; tip(r)
        LEAVE; return r
    AT; r = inner(1)
    LEAVE; return r


def many_locals(a):
    ENTER
    b = c = e = f = g = h = i = j = k = l = m = n = o = p = q = r = s = t = u = v = w = x = y = z = a
    AT; tip(z)
    LEAVE


def part_calls():
    ENTER
    for i in range(2):
        AT; leaf(i)
        AT; tip(x=i)
        AT; defaults(i)
        AT; defaults(i, 1, 2, 3, z=4, a=5)
        AT; defaults(*(i, 1, 2), **{"z": 4, "b": 5})
        AT; cells(i)
        AT; many_locals(i)
        AT; (lambda v: leaf(v))(i)  # via
        AT; functools.partial(leaf, i)()
        AT; functools.partial(defaults, z=1)(i)
    LEAVE


# --- recursion: through the chunks of the data stack, and back ---


def down(n):
    ENTER
    if n:
        AT; down(n - 1)
    LEAVE


def down_c(n):
    ENTER
    if n:
        AT; list(map(down_c, (n - 1,)))
    LEAVE


def fibonacci(n):
    ENTER
    r = n
    if n > 1:
        AT; r = fibonacci(n - 1)
        AT; r += fibonacci(n - 2)
    LEAVE; return r


def wide(n):
    ENTER
    if n < 0: HUNGRY  # makes its frame some KiB large
    if n:
        AT; wide(n - 1)
    LEAVE


def part_recursion():
    ENTER
    AT; down(8)
    AT; down_c(4)
    AT; fibonacci(3)
    AT; wide(12)
    LEAVE


part_recursion.warm = 3

# --- generators ---


def counter(n):
    ENTER
    for i in range(n):
        AT; tip(i)
        LEAVE; yield i; ENTER
    LEAVE


def returning(n):
    ENTER
    LEAVE; x = yield n; ENTER
    AT; tip(x)
    LEAVE; return 7


def thrown_into():
    ENTER
    try:
        LEAVE; yield 1; ENTER
    except KeyError:  # entry
        ENTER
        AT; tip(1)
    LEAVE; yield 2; ENTER
    LEAVE


def closed():
    ENTER
    try:
        LEAVE; yield 1; ENTER
    finally:  # entry
        ENTER
        AT; tip(1)
        LEAVE


# The innermost of a chain of generators takes all of them off and puts them on again: `reach` tells how far they go.
def inner_yields(n, base):
    ENTER
    for i in range(n):
        AT; tip(i)
        D[1] = d + 1; D[0] = base; yield i; D[0] = d + 1; D[1] = 0
    LEAVE; return n


def delegates(n, base):
    ENTER
    AT; r = yield from inner_yields(n, base)
    AT; tip(r)
    D[1] = d + 1; D[0] = base; yield r; D[0] = d + 1; D[1] = 0
    LEAVE


# Up to 3.10 the generators that throw() passes through are no frames, or no eval call's.
def inner_catches(base):
    ENTER
    try:
        D[1] = d + 1; D[0] = base; yield 1
    except KeyError:
        D[0] = d + 1; D[1] = 0
        AT; tip(1)
        AT; r = sorted([2, 1], key=by_key)
    D[1] = d + 1; D[0] = base; yield 2; D[0] = d + 1; D[1] = 0
    LEAVE


def delegates_throw(base):
    ENTER
    AT; yield from inner_catches(base)
    LEAVE


def part_throws():
    ENTER
    AT; g = delegates_throw(d + 1)
    AT; next(g)
    AT; D[1] = d + 3; g.throw(KeyError()); D[1] = 0
    AT; D[1] = d + 3; next(g, None); D[1] = 0
    LEAVE


def part_generators():
    ENTER
    for i in range(2):
        ANYWHERE
        for x in counter(2):
            pass
    LEAVE


def part_generators_2():
    ENTER
    AT; list(counter(2))
    AT; sum(counter(2))
    AT; r = sum(tip(v) for v in (1, 2))  # via
    AT; g = counter(2)
    AT; r = max(x for x in g)  # via
    AT; a, b = counter(2)
    AT; g = returning(1)
    AT; next(g)
    try:
        AT; g.send(2)
    except StopIteration:
        pass
    AT; g = thrown_into()
    AT; next(g)
    AT; g.throw(KeyError())
    AT; g.close()
    AT; g = closed()
    AT; next(g)
    AT; g.close()
    AT; g = closed()
    AT; next(g)
    AT; g = None
    AT; g = delegates(2, d + 1)
    for i in range(4):
        AT; D[1] = d + 3 if i else 0; next(g, None); D[1] = 0
    LEAVE


# --- exceptions ---


def raises(n):
    ENTER
    try:
        if n == 0:
            raise ValueError(n)
        AT; raises(n - 1)
    finally:
        LEAVE


def raises_through(n, base):
    ENTER
    if n == 0:
        D[1] = d + 1; D[0] = base; raise KeyError(n)
    AT; raises_through(n - 1, base)


def raises_through_c(n, base):
    ENTER
    if n == 0:
        D[1] = d + 1; D[0] = base; raise KeyError(n)
    AT; list(map(raises_through_c, (n - 1,), (base,)))


def catches(n):
    ENTER
    try:
        AT; raises(n)
    except ValueError as error:
        AT; tip(error)
    try:
        AT; raises_through(n, d + 1)
    except KeyError as error:
        D[1] = 0
        kept = error.__traceback__
        AT; tip(error)
    try:
        AT; raises_through_c(n, d + 1)
    except KeyError:
        D[1] = 0
        AT; tip(sys.exc_info())
    kept = None
    LEAVE


class Manager:
    def __enter__(self):
        ENTER
        AT; tip(1)
        LEAVE; return self

    def __exit__(self, kind, value, trace):
        ENTER
        AT; tip(2)
        LEAVE; return True


@contextlib.contextmanager
def manager():
    ENTER
    LEAVE; yield 1; ENTER
    AT; tip(1)
    LEAVE


def manages():
    ENTER
    ANYWHERE
    with Manager():
        pass
    with Manager():
        raise ValueError
    LEAVE


def manages_lib():
    ENTER
    ANYWHERE  # lib
    with manager():
        pass
    LEAVE


def part_exceptions():
    ENTER
    AT; catches(0)
    AT; catches(3)
    AT; manages()
    AT; manages_lib()
    LEAVE


# --- classes ---


class Point:
    def __init__(self, x, y=0):
        ENTER
        AT; self.x = tip(x)
        self.y = y
        LEAVE

    def method(self, n):
        ENTER
        AT; r = tip(n)
        LEAVE; return r

    @property
    def prop(self):
        ENTER
        LEAVE; return self.x

    @classmethod
    def made(cls, x):
        ENTER
        AT; r = cls(x)
        LEAVE; return r

    @staticmethod
    def static(x):
        ENTER
        LEAVE; return x


class Derived(Point):
    def __new__(cls, *args):
        ENTER
        AT; r = super().__new__(cls)
        LEAVE; return r

    def __init__(self, x):
        ENTER
        AT; super().__init__(x)
        LEAVE


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        ENTER
        self.x = x
        LEAVE


class Operators:
    def __init__(self, n):
        ENTER
        self.n = n
        LEAVE

    def __eq__(self, other):
        ENTER
        r = self is other
        LEAVE; return r

    def __hash__(self):
        ENTER
        LEAVE; return 5

    def __lt__(self, other):
        ENTER
        AT; r = tip(self.n) < other.n
        LEAVE; return r

    def __add__(self, other):
        ENTER
        LEAVE; return self

    def __getitem__(self, key):
        ENTER
        AT; r = tip(key)
        LEAVE; return r

    def __setitem__(self, key, value):
        ENTER
        LEAVE

    def __getattr__(self, name):
        ENTER
        LEAVE; return 1

    def __contains__(self, x):
        ENTER
        LEAVE; return True

    def __call__(self, x):
        ENTER
        AT; r = tip(x)
        LEAVE; return r

    def __len__(self):
        ENTER
        LEAVE; return 3

    def __iter__(self):
        ENTER
        AT; r = iter((tip(1), 2))
        LEAVE; return r

    def __repr__(self):
        ENTER
        LEAVE; return "o"

    def __format__(self, spec):
        ENTER
        LEAVE; return "f"


class Iterated:
    def __init__(self, n):
        ENTER
        self.n = n
        LEAVE

    def __iter__(self):
        ENTER
        LEAVE; return self

    def __next__(self):
        ENTER
        self.n -= 1
        if self.n < 0:
            LEAVE; raise StopIteration
        LEAVE; return self.n


class Dying:
    def __del__(self):
        ENTER
        AT; tip(1)
        LEAVE


def gone(reference):
    ENTER
    AT; tip(1)
    LEAVE


def makes_class(base):
    ENTER
    ANYWHERE
    class Made(base):
        ENTER
        def method(self):
            ENTER
            LEAVE
        AT; x = tip(1)
        LEAVE
    AT; Made().method()
    LEAVE


class Meta(type):
    def __new__(meta, name, bases, space):
        ENTER
        AT; r = super().__new__(meta, name, bases, space)
        LEAVE; return r

    def __call__(cls, *args):
        ENTER
        AT; r = super().__call__(*args)
        LEAVE; return r


class WithMeta(metaclass=Meta):
    def __init__(self):
        ENTER
        LEAVE


def part_classes():
    ENTER
    for i in range(1):
        AT; p = Point(i)
        AT; p.method(i)
        AT; x = p.prop
        AT; Point.made(i)
        AT; Point.static(i)
        AT; Derived(i)
        AT; Slotted(i)
        AT; WithMeta()
    AT; makes_class(object)
    LEAVE


def part_operators():
    ENTER
    AT; o = Operators(1); p = Operators(2)
    AT; o == p
    AT; {o: 1}[o]
    AT; {o: 1}.get(p)
    AT; o < p
    AT; o + p
    for i in range(3):
        AT; o[i]
    AT; o[1] = 2
    AT; o.missing
    AT; 1 in o
    AT; o(1)
    AT; len(o)
    AT; list(o)
    AT; "%r" % o
    AT; "{}".format(o)
    AT; f"{o}"
    AT; sorted([p, o, p])
    AT; [o].index(p) if o == 1 else 0
    AT; r = Iterated(2)
    AT; list(r)
    LEAVE


def part_finalizers():
    ENTER
    x = Dying()
    AT; x = None
    x = Slotless()
    r = weakref.ref(x, gone)
    AT; x = None
    x = Dying(); x.self = x
    x = None
    AT; gc.collect(0)  # gc
    LEAVE


class Slotless:
    pass


# --- Python called by C, and by libraries ---


def by_key(x):
    ENTER
    AT; r = -tip(x)
    LEAVE; return r


def replaced(match):
    ENTER
    AT; tip(match)
    LEAVE; return "x"


def to_json(o):
    ENTER
    AT; tip(o)
    LEAVE; return 1


def folded(a, b):
    ENTER
    LEAVE; return a


def nested_sort(n):
    ENTER
    if n:
        AT; sorted((1, 2), key=lambda v: nested_sort(n - 1))  # via
    LEAVE; return n


pattern = re.compile("[ab]")
cached = functools.lru_cache(1)(tip)


@functools.singledispatch
def dispatched(x):
    ENTER
    LEAVE; return x


def part_callbacks():
    ENTER
    AT; sorted((1, 2, 3), key=by_key)
    AT; sorted((1, 2), key=lambda v: tip(v))  # via
    AT; min((1, 2), key=by_key)
    AT; list(map(by_key, (1, 2)))
    AT; list(filter(by_key, (1, 2)))
    AT; functools.reduce(folded, (1, 2, 3))
    AT; pattern.sub(replaced, "ab")
    AT; nested_sort(2)
    AT; cached(1)
    AT; cached(2)
    AT; time.sleep(0)  # waits
    AT; sys._getframe().f_back.f_back; sys._current_frames()
    LEAVE


def part_libraries():
    ENTER
    AT; re.sub("[ab]", replaced, "ab")  # lib
    AT; json.dumps([Slotless()], default=to_json)  # lib
    AT; json.dumps([Slotless()], default=to_json, indent=1)  # lib
    AT; dispatched(1)  # lib
    AT; contextlib.ExitStack().callback(tip)  # lib
    LEAVE


part_libraries.before = 1
part_libraries.long = True

# --- comprehensions ---


def part_comprehensions():
    ENTER
    for i in range(1):
        AT; x = [tip(v) for v in (1, 2)]  # via <3.12
        AT; x = {tip(v) for v in (1, 2)}  # via <3.12
        AT; x = {v: tip(v) for v in (1, 2)}  # via <3.12
        AT; x = [tip(v) + w for v in (1, 2) for w in (3, i) if v]  # via <3.12
        AT; x = any(tip(v) for v in (0, 0))  # via
        AT; x = list(tip(v) for v in (0, 0))  # via
    LEAVE


# --- executed code: the source is in executed.py ---


def part_executed():
    ENTER
    for code in COMPILED:
        AT; exec(code, {"D": D, "S": S, "L": L, "tip": tip})
    LEAVE


# Functions that come and go, at addresses used before, with the same lines: only the name tells one from the other.
def copied(x):
    d = D[0]; S[d] = IDENTITY; D[0] = d + 1  # entry
    L[d] = 1; tip(x)
    LEAVE


COPIES = 4


def copy_of(number):
    name = "copied_%d" % number
    more = {"co_qualname": name} if sys.version_info >= (3, 11) else {}
    code = copied.__code__.replace(co_name=name, **more)
    return types.FunctionType(code, {"D": D, "S": S, "L": L, "tip": tip, "IDENTITY": 200 + number})


def part_copies():
    ENTER
    for i in range(COPIES):
        AT; function = copy_of(i)  # lib
        AT; function(i)
        function = None
    LEAVE


# --- coroutines ---


class Waiting:
    def __init__(self, base):
        ENTER
        self.base = base
        LEAVE

    def __await__(self):
        ENTER
        AT; tip(1)
        D[1] = d + 1; D[0] = self.base; yield 1; D[0] = d + 1; D[1] = 0
        LEAVE; return 5


@types.coroutine
def paused(base):
    ENTER
    D[1] = d + 1; D[0] = base; yield 1; D[0] = d + 1; D[1] = 0
    LEAVE


async def inner(base):
    ENTER
    AT; w = Waiting(base)
    AT; r = await w
    AT; tip(r)
    AT; await paused(base)
    LEAVE; return r


async def outer(base):
    ENTER
    AT; r = await inner(base)
    AT; tip(r)
    LEAVE; return r


async def plain_coroutine(x):
    ENTER
    AT; r = tip(x)
    LEAVE; return r


async def awaits(n):
    ENTER
    for i in range(n):
        AT; await plain_coroutine(i)
    LEAVE


async def agen(n):
    ENTER
    for i in range(n):
        AT; tip(i)
        LEAVE; yield i; ENTER
    LEAVE


async def iterates():
    ENTER
    ANYWHERE
    async for x in agen(2): pass  # entry
    x = [v async for v in agen(2)]  # entry
    LEAVE


class AsyncManager:
    async def __aenter__(self):
        ENTER
        AT; tip(1)
        LEAVE

    async def __aexit__(self, *args):
        ENTER
        LEAVE


async def async_with():
    ENTER
    ANYWHERE
    async with AsyncManager():
        pass
    LEAVE


def finish(coroutine):
    ENTER
    try:
        AT; coroutine.send(None)
    except StopIteration:
        pass
    LEAVE


def part_coroutines():
    ENTER
    AT; finish(plain_coroutine(1))
    AT; finish(awaits(2))
    AT; finish(async_with())
    AT; c = outer(d + 1)
    for i in range(3):
        try:
            AT; D[1] = reaches[i] and d + reaches[i]; c.send(None); D[1] = 0
        except StopIteration:
            D[1] = 0
    LEAVE


reaches = (0, 4, 4)


def part_async_generators():
    ENTER
    AT; g = agen(2)
    for i in range(3):
        try:
            AT; g.__anext__().send(None)
        except (StopIteration, StopAsyncIteration):
            pass
    LEAVE


async def task(n):
    ENTER
    for i in range(n):
        AT; tip(i)
        LEAVE; await asyncio.sleep(0); ENTER  # lib
    LEAVE


async def main_task():
    ENTER
    AT; both = asyncio.gather(task(1), task(1))  # lib
    LEAVE; await both; ENTER  # lib
    LEAVE


def part_asyncio():
    ENTER
    AT; loop.run_until_complete(main_task())  # lib waits
    LEAVE


part_asyncio.before = 1
part_asyncio.long = True
loop = asyncio.new_event_loop()

# --- another thread that wants the GIL ---

busy = []


def spin():
    while busy:
        tip(1)


def start_thread():
    busy.append(threading.Thread(target=spin))
    busy[0].start()


def stop_thread():
    busy.pop().join()


def part_threads():
    ENTER
    for i in range(8):
        AT; tip(i)
        AT; time.sleep(0)
    AT; sorted((1, 2), key=by_key)
    LEAVE


part_threads.setup = start_thread
part_threads.teardown = stop_thread

# --- loops that a JIT has compiled, where there is one ---


class Hot:
    def __init__(self, x):
        self.x = x

    def method(self):  # leaf
        return self.x


def hot_calls(n):
    ENTER
    r = 0
    ANYWHERE
    for i in range(n):
        r += tip(i)
    LEAVE; return r


def hot_loop(n):
    ENTER
    r = 0
    ANYWHERE
    for i in range(n):
        r += len(reaches) + tip(i) * 3 % 7
    LEAVE; return r


def hot_methods(n):
    ENTER
    k = hot_object
    ANYWHERE
    for i in range(n):
        k.method()
    LEAVE


hot_object = Hot(1)


def part_hot():
    ENTER
    AT; hot_calls(30)
    AT; hot_loop(30)
    AT; hot_methods(30)
    LEAVE


def heat():
    for i in range(3):
        hot_calls(9000)
        hot_loop(9000)
        hot_methods(9000)


part_hot.heat = heat

# --- a signal's Python handler ---


def on_signal(number, frame):
    ENTER
    AT; tip(number)
    LEAVE


def part_signals():
    ENTER
    AT; signal.raise_signal(signal.SIGUSR1); tip(1)  # waits
    LEAVE


signal.signal(signal.SIGUSR1, on_signal)

# --- greenlets, where they are installed: each has a shadow stack of its own, 0 is the main one's. W: the one that runs,
# and 1 + the one that is being switched to. ---

try:
    import greenlet

    main_greenlet = greenlet.getcurrent()
except ImportError:
    greenlet = None


def green_key(D, S, L, me, x):
    ENTER
    AT; W[1] = 1; main_greenlet.switch(x); W[0] = me; W[1] = 0
    AT; tip(x)
    LEAVE; return x


def green_deep(D, S, L, me, n):
    ENTER
    if n:
        AT; green_deep(D, S, L, me, n - 1)
    else:
        AT; W[1] = 1; main_greenlet.switch(n); W[0] = me; W[1] = 0
    LEAVE


def green_main(D, S, L, me):
    ENTER; W[0] = me; W[1] = 0
    AT; tip(me)
    AT; W[1] = 1; main_greenlet.switch(1); W[0] = me; W[1] = 0
    if me == 2:
        AT; sorted((1,), key=functools.partial(green_key, D, S, L, me))
    else:
        AT; green_deep(D, S, L, me, 2)
    LEAVE; W[1] = 1; return me


def switches_to(other, number):
    ENTER
    AT; W[1] = 1 + number; other.switch(); W[0] = 0; W[1] = 0
    LEAVE


def part_greenlets():
    ENTER
    a = greenlet.greenlet(green_main); b = greenlet.greenlet(green_main)
    AT; W[1] = 2; a.switch(*SHADOWS[1], 1); W[0] = 0; W[1] = 0
    AT; list(map(functools.partial(switches_first, b), (2,)))
    AT; switches_to(a, 1)
    AT; list(map(functools.partial(switches_to, b), (2,)))
    AT; switches_to(b, 2)
    # a is thrown out of what it does
    SHADOWS[1][0][1] = SHADOWS[1][0][0]; SHADOWS[1][0][0] = 0
    AT; W[1] = 2; a.throw(); W[0] = 0; W[1] = 0
    SHADOWS[1][0][1] = 0
    AT; a = b = None
    LEAVE


def switches_first(other, number):
    ENTER
    AT; W[1] = 1 + number; other.switch(*SHADOWS[number], number); W[0] = 0; W[1] = 0
    LEAVE


def core_generator():
    ENTER
    AT; tip(1)
    LEAVE; yield 1; ENTER
    LEAVE


def part_core():
    """A little of everything: what the shortest run has, too."""
    ENTER
    for i in range(2):
        AT; leaf(i)
        AT; tip(i)
        AT; Slotted(i)
        AT; sorted((1,), key=by_key)
        AT; sum(tip(v) for v in (1, 2))  # via
        AT; list(core_generator())
    AT; x = [tip(v) for v in (1, 2)]  # via <3.12
    try:
        AT; raises(1)
    except ValueError:
        pass
    AT; finish(plain_coroutine(1))
    LEAVE


PARTS = [
    part_core,
    part_calls,
    part_recursion,
    part_generators,
    part_generators_2,
    part_exceptions,
    part_classes,
    part_operators,
    part_finalizers,
    part_callbacks,
    part_libraries,
    part_comprehensions,
    part_executed,
    part_copies,
    part_coroutines,
    part_async_generators,
    part_asyncio,
    part_signals,
    part_threads,
    part_hot,
]
if greenlet:
    PARTS.insert(3, part_greenlets)
if sys.version_info >= (3, 11):
    PARTS.insert(5, part_throws)
