"""CPU time in one state of the interpreter: states.py hold|release|collect|both [SECONDS]"""

import gc
import hashlib
import sys
import threading
import time

SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
BLOCK = bytes(1 << 24)  # what hashlib does with the GIL, once for each block, is next to nothing


class Node:
    pass


def spin():
    until = time.thread_time() + SECONDS
    total = 0
    while time.thread_time() < until:
        for i in range(2000):
            total += i * i % 7
    return total


def digest():
    until = time.thread_time() + SECONDS
    while time.thread_time() < until:
        hashlib.sha256(BLOCK).digest()


def collect():
    kept = []
    for _ in range(40000):
        node = Node()
        node.itself = node
        kept.append(node)
    until = time.thread_time() + SECONDS
    while time.thread_time() < until:
        gc.collect()
    return kept


def both():
    other = threading.Thread(target=digest)
    other.start()
    spin()
    other.join()


{"hold": spin, "release": digest, "collect": collect, "both": both}[sys.argv[1]]()
