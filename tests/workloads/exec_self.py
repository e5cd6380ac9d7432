"""Uses CPU in first_image(), then execs itself, same pid, and uses it in second_image(): exec_self.py
Prints whether the pid is the same, and what the process had used, by its own clock, before exec and at its end, in ns."""

import os
import sys
import time

from cpu import spin


def first_image():
    spin(2.5)


def second_image():
    spin(0.3)


if len(sys.argv) > 1:
    second_image()
    print(os.getpid() == int(sys.argv[1]), sys.argv[2], time.process_time_ns())
else:
    first_image()
    os.execv(sys.executable, [sys.executable, __file__, str(os.getpid()), str(time.process_time_ns())])
