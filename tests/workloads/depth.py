"""A fixed piece of work at a fixed depth: depth.py python|c DEPTH MILLIONS. With "c" each call goes through C code."""

import sys


def work(millions):
    total = 0
    for i in range(int(millions * 1e6)):
        total += i & 7
    return total


def by_python(depth, millions):
    if depth == 0:
        return work(millions)
    return by_python(depth - 1, millions)


def by_c(depth, millions):
    if depth == 0:
        return work(millions)
    # sorted() calls its key function from C.
    return sorted([depth], key=lambda d: by_c(d - 1, millions))


sys.setrecursionlimit(10000)
{"python": by_python, "c": by_c}[sys.argv[1]](int(sys.argv[2]), float(sys.argv[3]))
