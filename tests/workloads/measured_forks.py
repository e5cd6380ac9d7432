"""A tree of processes: measured_forks.py TRUTH_DIRECTORY LEVELS SECONDS

Each process forks two more, LEVELS deep, and uses SECONDS of CPU before and as much after that, in a function of its level.
They end in turn by os._exit, sys.exit and at the end of the program."""

import os
import sys

import truth

levels = int(sys.argv[2])
ns = int(float(sys.argv[3]) * 1e9)


LEVEL = [truth.named(f"level_{level}") for level in range(levels + 1)]


def grow(level, number):
    """Returns in each of the processes that end at the end of the program."""
    LEVEL[level](ns)
    children = []
    if level < levels:
        for child in range(2):
            pid = os.fork()
            if pid == 0:
                truth.after_fork()
                return grow(level + 1, 2 * number + child)
            children.append(pid)
    LEVEL[level](ns)
    for pid in children:
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit(3)
    truth.write()
    if number % 3 == 1:
        os._exit(0)
    if number % 3 == 2:
        sys.exit(0)


grow(0, 3)
