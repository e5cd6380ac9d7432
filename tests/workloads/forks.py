"""CPU before, in and after forks: forks.py TRUTH_DIRECTORY. The child leaves by os._exit, its truth is its own clock.

A sample in what comes after a function takes a period or two of the function along: 20 ms, beside which these are long."""

import json
import os
import sys

from cpu import spin


def before_fork():
    return spin(0.6)


def in_child():
    return spin(0.6)


def after_fork():
    return spin(0.6)


def write(name, truth):
    truth["pid"] = os.getpid()
    with open(os.path.join(sys.argv[1], name), "w") as out:
        json.dump(truth, out)


before = before_fork()
pid = os.fork()
if pid == 0:
    write("child.json", {"in_child": in_child()})
    os._exit(0)
after = after_fork()
_, status = os.waitpid(pid, 0)
write("parent.json", {"before_fork": before, "after_fork": after})
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)
