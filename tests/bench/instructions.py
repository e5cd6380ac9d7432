#!/usr/bin/env python3
"""instructions.py BUILD PYTHON [--check]: counts instructions under callgrind, beside the values in instructions.tsv.

A count hardly depends on the machine, so it may fail a check: with --check it speaks TAP, and a count that is a tenth
above its value fails. Whoever raises a value says why in the commit."""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD, PYTHON = os.path.realpath(sys.argv[1]), sys.argv[2]
LIBRARY, PYPROF = os.path.join(BUILD, "libpyprof.so"), os.path.join(BUILD, "pyprof")


def count(command, directory, **variables):
    """Instructions of each thread of the first process, the first thread's first."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYPROF_", "LD_PRELOAD"))}
    environment.update(variables, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryDirectory(dir=directory) as place:
        out = os.path.join(place, "out")
        valgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}.%p"]
        process = subprocess.Popen(valgrind + command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, errors = process.communicate()
        if process.returncode:
            sys.exit(f"{command}: {errors.decode()}")
        names = sorted(name for name in os.listdir(place) if re.fullmatch(rf"out\.{process.pid}-\d+", name))
        return [int(re.search(r"^totals: (\d+)", open(os.path.join(place, name)).read(), re.M)[1]) for name in names]


def measure(directory):
    logs = os.path.join(directory, "logs")
    os.mkdir(logs)
    subprocess.run([os.path.join(BUILD, "bench", "make_logs"), logs, "1", "1"], check=True)
    # One sample a second: what is counted is the start and not the samples, of which valgrind makes many.
    profiled = {"LD_PRELOAD": LIBRARY, "PYPROF_OUT": os.path.join(directory, "out"), "PYPROF_HZ": "1"}
    alone = count([PYTHON, "-c", "pass"], directory)
    started = count([PYTHON, "-c", "pass"], directory, **profiled)
    yield "start, main thread", started[0] - alone[0]
    yield "start, flush thread", sum(started[1:])
    yield "report of 1 MB", sum(count([PYPROF, "report", logs], directory))


def main():
    with open(os.path.join(HERE, "instructions.tsv")) as table:
        known = dict(line.rstrip("\n").split("\t") for line in table if not line.startswith("#"))
    worst = 0
    with tempfile.TemporaryDirectory() as directory:
        for name, found in measure(directory):
            value = int(known[name])
            bad = found > value * 1.1
            worst |= bad
            if "--check" in sys.argv:
                print(f"{'not ok' if bad else 'ok'} - instructions: {name}: {found}, at most a tenth above {value}")
            else:
                print(f"{name:24} {found:14,} {value:14,}")
    return worst if "--check" in sys.argv else 0


sys.exit(main())
