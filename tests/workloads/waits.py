"""Threads that wait by every function that a signal would end. waits.py LIBRARY SECONDS WHAT...

Prints, for each, the waits that were interrupted, or the pieces that were cut, and how many there were."""
import ctypes
import sys
import threading

library, seconds, kinds = ctypes.CDLL(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
for function in library.wait_for, library.send_large, library.wait_in_handlers, library.wait_in_vforks:
    function.restype = ctypes.c_long


def run(kind, seed):
    count, time = ctypes.c_long(), ctypes.c_double(seconds)
    if kind in ("send", "write"):
        met = library.send_large(time, seed, kind == "write", ctypes.byref(count))
    elif kind in ("nested", "jumps"):
        met = library.wait_in_handlers(time, seed, kind == "jumps", ctypes.byref(count))
    elif kind == "vfork":
        met = library.wait_in_vforks(time, seed, ctypes.byref(count))
    else:
        met = library.wait_for(kind.encode(), time, seed, ctypes.byref(count))
    sys.stdout.write(f"{kind} {met} {count.value}\n")
    sys.stdout.flush()


if len(kinds) == 1:
    run(kinds[0], 1)  # in the main thread, which has the program's signals
else:
    threads = [threading.Thread(target=run, args=(kind, number)) for number, kind in enumerate(kinds, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
