"""Burns CPU below many calls: deep.py python|c DEPTH

python: functions that call each other; c: through sorted(), so that the C stack grows as well."""

import sys
import threading


def leaf():
    total = 0
    for i in range(400000):
        total += i
    return total


def by_python(depth):
    return leaf() if depth == 0 else by_python(depth - 1)


def by_key(depth):
    return by_c(depth - 1)


def by_c(depth):
    return leaf() if depth == 0 else sorted([depth], key=by_key)


def main():
    for _ in range(20):
        (by_python if sys.argv[1] == "python" else by_c)(int(sys.argv[2]))


sys.setrecursionlimit(20000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=main)
thread.start()
thread.join()
