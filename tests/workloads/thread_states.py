"""thread_states.py LIBRARY: asks tests/unit/python_words_preload.c in several threads, with and without the GIL."""

import ctypes
import sys
import threading

held, released = ctypes.PyDLL(sys.argv[1]), ctypes.CDLL(sys.argv[1])
bad = held.words_find()


def look():
    global bad
    bad += held.words_with_gil() + released.words_without_gil()


look()
threads = [threading.Thread(target=look) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(bad)
