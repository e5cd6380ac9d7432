"""odd_wrappers.py named|plain|small: a task awaits another one, which runs, by an object of which the first field is no
coroutine, or which has no field at all. named, small: its type is called as one that CPython has for what wraps a coroutine;
Cython's are, too."""

import asyncio
import ctypes
import mmap
import os
import struct
import sys
import time

MINOR = sys.version_info[1]
NOWHERE = 0x6FFF00000000
PAGE = mmap.PAGESIZE


def harmful():
    """An object that shows what is not mapped, and all that a suspended generator would have besides."""
    if MINOR < 11:
        return struct.unpack("d", struct.pack("Q", NOWHERE))[0]
    frame, bytes_header = 80 if MINOR == 11 else 72, 32
    data = bytearray(struct.pack("Q", NOWHERE) * 64)
    data[frame - 5 - bytes_header] = 2 if MINOR >= 15 else 255  # its state
    if MINOR < 14:
        data[frame + 64 - bytes_header : frame + 68 - bytes_header] = struct.pack("I", 1)  # of values on its stack
    return bytes(data)


class coroutine_wrapper:
    __slots__ = "first", "task"

    def __init__(self, task):
        self.first, self.task = harmful(), task

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return awaited(self.task)


def awaited(task):
    task._asyncio_future_blocking = True
    return task


class Slot(ctypes.Structure):
    _fields_ = ("number", ctypes.c_int), ("function", ctypes.c_void_p)


class Spec(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item_size", ctypes.c_int), ("flags", ctypes.c_uint),
                ("slots", ctypes.POINTER(Slot)))


kept = []


def without_fields(name, task):
    """An object of 16 bytes at the very end of what is mapped."""
    one = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
    functions = one(lambda self: self), one(lambda self: awaited(task))
    slots = (Slot * 4)(*(Slot(number, ctypes.cast(function, ctypes.c_void_p)) for number, function in
                         ((77, functions[0]), (62, functions[0]), (63, functions[1]))))  # am_await, tp_iter, tp_iternext
    spec = Spec(name, 16, 0, 1 << 18, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(Spec)]
    kind = make(ctypes.byref(spec))
    pages = mmap.mmap(-1, 2 * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if libc.mprotect(start + PAGE, PAGE, 0):
        sys.exit("mprotect failed")
    ctypes.memmove(start + PAGE - 16, struct.pack("QQ", 1000000, id(kind)), 16)
    kept.append((functions, slots, spec, kind, pages))
    return ctypes.cast(start + PAGE - 16, ctypes.py_object).value


async def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(1000):
            pass
        await asyncio.sleep(0)


async def run():
    await compute(0.3)
    print("done", flush=True)
    os._exit(0)  # the objects have no way to end


async def main():
    await compute(0.1)
    time.sleep(1.4)  # what was imported is found within a second
    task = asyncio.ensure_future(run())
    names = {"plain": b"odd.plain", "small": b"anext_awaitable"}
    await (without_fields(names[sys.argv[1]], task) if sys.argv[1] in names else coroutine_wrapper(task))


asyncio.run(main())
