"""Two greenlets that switch to each other all the time for SECONDS of CPU time: greenlets.py SECONDS

Every function's name begins with the name of the greenlet that it runs in, and how deep each one is varies, so that
frames of the one in a stack of the other show."""

import sys
import time

import greenlet

greenlets = {}


def one_work(n):
    total = 0
    for i in range(n):
        total += i
    return total


def two_work(n):
    total = 0
    for i in range(n):
        total += i
    return total


def one_deep(depth):
    if depth:
        return one_deep(depth - 1)
    one_work(200)
    greenlets["two"].switch()
    return one_work(200)


def two_deep(depth):
    if depth:
        return two_deep(depth - 1)
    two_work(200)
    greenlets["one"].switch()
    # through C, so that there is more than one native eval frame
    return sorted([3, 2, 1], key=two_key)


def two_key(number):
    two_work(70)
    return number


def one_main():
    turn = 0
    while True:
        turn += 1
        one_deep(turn % 7)


def two_main():
    turn = 0
    while time.thread_time() < end:
        turn += 1
        two_deep(turn % 5)
    main.switch()


end = time.thread_time() + float(sys.argv[1])
main = greenlet.getcurrent()
greenlets["one"] = greenlet.greenlet(one_main)
greenlets["two"] = greenlet.greenlet(two_main)
greenlets["one"].switch()
