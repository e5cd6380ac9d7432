"""Uses CPU in first_image(), then execs itself, same pid, and uses it in second_image(): exec_self.py"""

import os
import sys

from cpu import spin


def first_image():
    spin(2.5)


def second_image():
    spin(0.3)


if len(sys.argv) > 1:
    second_image()
    print(os.getpid() == int(sys.argv[1]))
else:
    first_image()
    os.execv(sys.executable, [sys.executable, __file__, str(os.getpid())])
