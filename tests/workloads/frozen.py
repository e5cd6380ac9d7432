"""Threads that stand still, each below Python that C called in another way, and what faulthandler says of them:
frozen.py FAULTHANDLER_FILE COMMAND COMMAND_FILE

Every thread gets signals as if from its profiling timer while it stands. Then COMMAND is run with this process' id and the
threads' ids; what it prints goes to COMMAND_FILE.
"""

import asyncio
import ctypes
import faulthandler
import functools
import glob
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time

MAGIC = 0x70797072  # preload/capture/slot.h
SYS_RT_TGSIGQUEUEINFO = 297
SI_TIMER = -2
SIGNAL = 34  # PYPROF_SIGNAL: a real-time signal, since the others are not queued

gate = threading.Lock()
arrived = []


def hold(*_):
    arrived.append(threading.get_ident())
    with gate:
        return 0


def recursion(depth):
    return recursion(depth - 1) if depth else sorted([1], key=hold)


class Slots:
    def __init__(self, then):
        then()

    def __lt__(self, other):
        return hold()

    def __getattr__(self, name):
        return hold()

    @property
    def prop(self):
        return hold()

    def __del__(self):
        hold()


def generator(depth):
    if depth:
        yield from generator(depth - 1)
    else:
        yield hold()


async def coroutine(depth):
    if depth:
        return await coroutine(depth - 1)
    async for value in agenerator():
        return value


async def agenerator():
    yield hold()


KINDS = {
    "plain": hold,
    "sorted": lambda: sorted([1, 2], key=hold),
    "deep": lambda: recursion(30),
    "re.sub": lambda: re.sub("a", lambda match: str(hold()), "ba"),
    "json": lambda: json.dumps([object()], default=hold),
    "reduce": lambda: functools.reduce(lambda a, b: hold(), [1, 2]),
    "init": lambda: Slots(lambda: [hold() for _ in range(1)]),
    "slot": lambda: Slots(int) < Slots(int),
    "getattr": lambda: Slots(int).missing,
    "property": lambda: Slots(int).prop,
    "finalizer": lambda: Slots(int) and None,
    "generator": lambda: list(generator(5)),
    "coroutine": lambda: asyncio.run(coroutine(5)),
    "ctypes": lambda: ctypes.CFUNCTYPE(ctypes.c_int)(hold)(),
    "exec": lambda: exec("class Body:\n    value = hold()", {"hold": hold}),
    "import": lambda: __import__("frozen_module"),
    "partial": lambda: list(map(functools.partial(hold, 1), [1])),
}


def quiet(kind):
    try:
        KINDS[kind]()
    except (ValueError, TypeError):
        pass


def send(tid, slot):
    """A signal as the timer of that slot; the handler ignores those of other threads' slots."""
    info = struct.pack("<iii4xiiQ", SIGNAL, 0, SI_TIMER, 0, 0, MAGIC << 32 | slot).ljust(128, b"\0")
    ctypes.CDLL(None).syscall(SYS_RT_TGSIGQUEUEINFO, os.getpid(), tid, SIGNAL, info)


def written():
    return sum(map(os.path.getsize, glob.glob("pyprof.out/*.pyprof")))


def blocked(tid):
    with open(f"/proc/self/task/{tid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def main():
    with open("frozen_module.py", "w") as file:
        file.write("import __main__\n\n__main__.hold()\n")
    sys.path.insert(0, ".")
    gate.acquire()
    threads = [threading.Thread(target=quiet, args=(kind,), name=kind) for kind in KINDS]
    for thread in threads:
        thread.start()
    while len(set(arrived)) < len(threads) or not all(blocked(thread.native_id) for thread in threads):
        time.sleep(0.01)
    for _ in range(4):  # by the last one, rows of all modules are compiled
        before, until = written(), time.monotonic() + 30
        for thread in threads:
            for slot in range(64):
                send(thread.native_id, slot)
        while written() == before and time.monotonic() < until:
            time.sleep(0.05)
    with open(sys.argv[1], "w") as file:
        print("threads", json.dumps({hex(t.ident): [t.native_id, t.name] for t in threads}), file=file, flush=True)
        faulthandler.dump_traceback(file, all_threads=True)
    ids = [str(thread.native_id) for thread in threads]
    with open(sys.argv[3], "w") as file:
        result = subprocess.run([sys.argv[2], str(os.getpid()), *ids], env={}, stdout=file)
    os._exit(result.returncode)  # a thread of some ms that ends has its last CPU time spread over stacks of its like


main()
