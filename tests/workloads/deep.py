"""Uses CPU below many calls: deep.py python|c|both|generators DEPTH

python: functions that call each other; c: through sorted(), so that the C stack grows as well; both: python twice, with
one call through sorted() between; generators: each of which runs the next one. Around them are calls that are made only
once at a time, and from different lines."""

import sys
import threading


def leaf():
    total = 0
    for i in range(400000):
        total += i
    return total


def inner():
    return leaf()


def by_python(depth, last=inner):
    return last() if depth == 0 else by_python(depth - 1, last)


def by_key(depth):
    return by_c(depth - 1)


def by_c(depth):
    return inner() if depth == 0 else sorted([depth], key=by_key)


def lower_half(depth):
    return by_python(depth)


def both(depth):
    return by_python(depth, lambda: sorted([depth], key=lower_half))


def generators(depth):
    if depth == 0:
        yield inner()
    else:
        yield from generators(depth - 1)


def outer(call, depth, odd):
    if odd:
        return call(depth)
    return call(depth)


def main(call, depth):
    for i in range(20):
        outer(call, depth, i % 2)


sys.setrecursionlimit(250000)
threading.stack_size(512 << 20)
ways = {"python": by_python, "c": by_c, "both": both, "generators": lambda depth: list(generators(depth))}
thread = threading.Thread(target=main, args=(ways[sys.argv[1]], int(sys.argv[2])))
thread.start()
thread.join()
