"""Greenlets of every kind, which know how they are to be called: greenlet_names.py TRUTH.json KIND...

KINDs: plain, eventlet, gevent. All run at once, each in a thread of its own, gevent in the main thread. Each greenlet
uses CPU in a function that no other runs. Writes {"values": {label: ns}, "marks": {function: label}}."""

import functools
import hashlib
import json
import random
import sys
import threading
import time

import greenlet
import truth

TURN = 3_000_000  # ns on average: ticks do not keep step with turns
TURNS = 40
BLOCK = bytes(1 << 19)
values, marks, ended = {}, {}, []
lock = threading.Lock()
qualified = sys.version_info >= (3, 11)


def here():
    return sys._getframe(1).f_lineno


def turn(mark, ns=TURN):
    since = time.thread_time_ns()
    truth.spin(mark, random.randrange(2 * ns))
    used = time.thread_time_ns() - since
    with lock:
        values[marks[mark]] = values.get(marks[mark], 0) + used


def turns(mark, give_way, count=TURNS):
    for _ in range(count):
        turn(mark)
        give_way()
    ended.append(mark)


def hash_turn():
    """Without the GIL. Who waits for it again and again runs between ticks: the time is not compared."""
    end = time.thread_time_ns() + random.randrange(2 * TURN)
    while time.thread_time_ns() < end:
        hashlib.sha256(BLOCK)


def nothing():
    pass


def warm_up(seconds):
    """Until it is known where greenlets are."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


# --- greenlet ---


def to_parent():
    greenlet.getcurrent().parent.switch()


def plain_first():
    turns("plain_first", to_parent)


def plain_second():
    turns("plain_second", to_parent)


def plain_nested():
    inner = greenlet.greenlet(plain_inner)
    for _ in range(TURNS):
        turn("plain_nested")
        inner.switch()
        to_parent()


def plain_inner():
    turns("plain_inner", to_parent)


def plain_hashes():
    for _ in range(TURNS):
        hash_turn()
        to_parent()


class Callable:
    def __call__(self):
        turns("__call__", to_parent)


def plain_short():
    turn("plain_short", TURN // 10)


def plain():
    functions = [plain_first, plain_second, plain_nested, plain_hashes, Callable()]
    for function in functions[:4] + [plain_inner, plain_short]:
        marks[function.__name__] = function.__name__
    marks["__call__"] = "Callable.__call__" if qualified else "__call__"
    marks["plain"] = "(none)"
    greenlets = [greenlet.greenlet(function) for function in functions]
    for _ in range(TURNS):
        for one in greenlets:
            one.switch()
        for _ in range(10):
            greenlet.greenlet(plain_short).switch()
        turn("plain")


# --- eventlet ---


def eventlet_function(argument):
    turns("eventlet_function", eventlet_sleep)


def eventlet_partial(argument):
    turns("eventlet_partial", eventlet_sleep)


def eventlet_n():
    turns("eventlet_n", eventlet_sleep)


def eventlet_pool(argument):
    turns("eventlet_pool", eventlet_sleep)


def eventlet_pool_n(argument):
    turns("eventlet_pool_n", eventlet_sleep)


def eventlet_hub():
    turns("eventlet_hub", nothing)


class Served:
    def eventlet_method(self):
        turns("eventlet_method", eventlet_sleep)


def eventlet_sleep():
    import eventlet

    eventlet.sleep(0)


def run_eventlet():
    import eventlet

    for function in eventlet_function, eventlet_partial, eventlet_n, eventlet_pool, eventlet_pool_n:
        marks[function.__name__] = function.__name__
    marks["eventlet_method"] = "Served.eventlet_method"
    marks["eventlet_hub"] = "[hub]"
    pool = eventlet.GreenPool(3)
    eventlet.spawn(eventlet_function, 1)
    eventlet.spawn(functools.partial(eventlet_partial, 1))
    eventlet.spawn(Served().eventlet_method)
    eventlet.spawn_n(eventlet_n)
    pool.spawn(eventlet_pool, 1)
    pool.spawn_n(eventlet_pool_n, 1)
    eventlet.hubs.get_hub().schedule_call_global(0, eventlet_hub)
    pool.waitall()
    while sum(mark.startswith("eventlet") for mark in ended) < 7:
        eventlet.sleep(0.01)


# --- gevent ---


def gevent_sleep():
    import gevent

    gevent.sleep(0)


def gevent_function():
    turns("gevent_function", gevent_sleep)


def gevent_partial(argument):
    turns("gevent_partial", gevent_sleep)


def gevent_named():
    turns("gevent_named", gevent_sleep)


def gevent_pool(argument):
    turns("gevent_pool", gevent_sleep)


def gevent_raw():
    turns("gevent_raw", gevent_sleep)


def gevent_hashes():
    for _ in range(TURNS):
        hash_turn()
        gevent_sleep()


def gevent_hub():
    turns("gevent_hub", nothing)


class Handler:
    def gevent_method(self):
        turns("gevent_method", gevent_sleep)

    def __call__(self):
        gevent_callable()


def gevent_callable():
    turns("gevent_callable", gevent_sleep)


def short_lived(name):
    """A function that is made again for each call."""

    def gevent_short_first():
        turn("gevent_short_first", TURN // 10)

    def gevent_short_second():
        turn("gevent_short_second", TURN // 10)

    return locals()[name]


def run_gevent():
    import gevent
    import gevent.pool

    class Overrides(gevent.Greenlet):
        def __init__(self):
            super().__init__()
            self.attribute = 1

        def _run(self):
            gevent_overrides()

    def gevent_overrides():
        turns("gevent_overrides", gevent_sleep)

    def known(mark, line, name=None):
        marks[mark] = f"{name or mark} (spawned at greenlet_names.py:{line})"

    pool = gevent.pool.Pool(3)
    known("gevent_function", here() + 1)
    greenlets = [gevent.spawn(gevent_function)]
    known("gevent_partial", here() + 1)
    greenlets.append(gevent.spawn(functools.partial(gevent_partial, 1)))
    known("gevent_method", here() + 1, "Handler.gevent_method")
    greenlets.append(gevent.spawn(Handler().gevent_method))
    known("gevent_callable", here() + 1, "Handler")
    greenlets.append(gevent.spawn(Handler()))
    known("gevent_hashes", here() + 1)
    greenlets.append(gevent.spawn_later(0.001, gevent_hashes))
    known("gevent_pool", here() + 1)
    greenlets.append(pool.spawn(gevent_pool, 1))
    known("gevent_overrides", Overrides.__init__.__code__.co_firstlineno + 1, "run_gevent.<locals>.Overrides._run")
    greenlets.append(Overrides())
    greenlets[-1].start()
    marks["gevent_named"] = "näme of its own"
    greenlets.append(gevent.spawn(gevent_named))
    greenlets[-1].name = "näme of its own"
    marks["gevent_raw"] = "gevent_raw"
    gevent.spawn_raw(gevent_raw)
    marks["gevent_hub"] = "[hub]"
    gevent.get_hub().loop.run_callback(gevent_hub)
    for name in "gevent_short_first", "gevent_short_second":
        known(name, here() + (2 if name.endswith("first") else 3), "short_lived.<locals>." + name)
    for _ in range(5 * TURNS):
        first = gevent.spawn(short_lived("gevent_short_first"))
        second = gevent.spawn(short_lived("gevent_short_second"))
        gevent.joinall([first, second])
        del first, second
    gevent.joinall(greenlets)
    while "gevent_raw" not in ended:
        gevent.sleep(0.01)


kinds = {"plain": plain, "eventlet": run_eventlet, "gevent": run_gevent}
threads = [threading.Thread(target=kinds[kind]) for kind in sys.argv[2:] if kind != "gevent"]
warm = greenlet.greenlet(warm_up)
for kind in set(sys.argv[2:]) - {"plain"}:
    __import__(kind)
warm.switch(1.2)
for thread in threads:
    thread.start()
if "gevent" in sys.argv[2:]:
    run_gevent()
for thread in threads:
    thread.join()
with open(sys.argv[1], "w") as out:
    json.dump({"values": values, "marks": marks}, out)
