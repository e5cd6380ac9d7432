"""Uses CPU in hot() of the libraries that it is given.  native_lines.py SECONDS LIBRARY..."""

import ctypes
import sys
import time


def call_hot(function, until):
    while time.process_time() < until:
        function(20000)


for library in sys.argv[2:]:
    call_hot(ctypes.CDLL(library).hot, time.process_time() + float(sys.argv[1]))
