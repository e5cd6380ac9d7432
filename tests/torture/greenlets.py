"""Rounds of contexts.py whose code belongs to greenlets: plain ones, gevent's, eventlet's.

The functions that compute say in which greenlet they do; between them run the hub and the switches."""
import functools

import __main__ as stepped

GREENLET = stepped.GREENLET
TURNS = 3


def computes(name):
    text = stepped.number(GREENLET, name) if name else stepped.NONE
    stepped.MARKS[GREENLET] = text
    stepped.compute(3)
    stepped.MARKS[GREENLET] = 0


def first(give_way):
    for _ in range(TURNS):
        computes("first")
        give_way()


def second(give_way, *unused):
    for _ in range(TURNS):
        computes("second")
        give_way()


def named(give_way):
    for _ in range(TURNS):
        computes("a name")
        give_way()


class Method:
    def third(self, give_way):
        for _ in range(TURNS):
            computes("Method.third")
            give_way()


def prepare():
    stepped.library.contexts_by_frames(GREENLET)  # a plain greenlet's name is that of its outermost function
    for name in "first", "second", "a name", "Method.third", "third", "Overrides._run", "[hub]":
        stepped.number(GREENLET, name)


def round_plain(count):
    import greenlet

    main = greenlet.getcurrent()
    greenlets = [greenlet.greenlet(first), greenlet.greenlet(second)]
    stepped.begin()
    for _ in range(TURNS):
        for one in greenlets:
            one.switch(main.switch)
        computes(None)
    # some end, others are dropped
    if count % 2:
        for one in greenlets:
            one.switch()
    del greenlets, one
    stepped.end()


def round_gevent(count):
    import gevent

    class Overrides(gevent.Greenlet):
        __qualname__ = "Overrides"

        def _run(self):
            for _ in range(TURNS):
                computes("Overrides._run")
                gevent.sleep(0)

    Overrides._run.__qualname__ = "Overrides._run"
    give_way = functools.partial(gevent.sleep, 0)
    if count % 2:
        stepped.begin()  # to make them takes 200,000 instructions
    greenlets = [gevent.spawn(first, give_way), gevent.spawn(functools.partial(second, give_way), count)]
    greenlets += [gevent.spawn(Method().third, give_way), gevent.spawn(named, give_way), Overrides()]
    greenlets[3].name = "a name"
    greenlets[4].start()
    stepped.begin()
    computes(None)
    gevent.joinall(greenlets)
    stepped.end()


def round_eventlet(count):
    import eventlet

    give_way = functools.partial(eventlet.sleep, 0)
    pool = eventlet.GreenPool(2)
    stepped.begin()
    greenlets = [eventlet.spawn(first, give_way), eventlet.spawn(functools.partial(second, give_way), count)]
    pool.spawn_n(Method().third, give_way)
    computes(None)
    for one in greenlets:
        one.wait()
    pool.waitall()
    stepped.end()


SOURCES = {"greenlet": (prepare, round_plain), "gevent": (prepare, round_gevent), "eventlet": (prepare, round_eventlet)}
