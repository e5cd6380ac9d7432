"""Stacks with C between Python: stacks.py hash|sort"""

import hashlib
import sys
import time

BLOCK = bytes(1 << 20)


def c_hash(until):
    while time.process_time() < until:
        hashlib.sha256(BLOCK).digest()


def by_key(item):
    total = 0
    for i in range(200):
        total += i * item % 7
    return total


def sort_them(until):
    while time.process_time() < until:
        sorted(range(500), key=by_key)


def main():
    work = {"hash": c_hash, "sort": sort_them}[sys.argv[1]]
    work(time.process_time() + 0.8)


main()
