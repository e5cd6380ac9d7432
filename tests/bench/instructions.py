#!/usr/bin/env python3
"""instructions.py BUILD PYTHON [--check]: counts instructions under callgrind, beside the values in instructions.tsv.

A count hardly depends on the machine, so it may fail a check: with --check it speaks TAP, and a count that is a tenth
above its value, or below a quarter of it, fails. Whoever raises a value says why in the commit."""

import functools
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD, PYTHON = os.path.realpath(sys.argv[1]), sys.argv[2]
LIBRARY, PYPROF = os.path.join(BUILD, "libpyprof.so"), os.path.join(BUILD, "pyprof")


class Run:
    """What a command and the children that it forks execute: files of callgrind, one for each thread."""

    def __init__(self, command, directory, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYPROF_", "LD_PRELOAD"))}
        environment.update(variables, PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")
        self.place = tempfile.mkdtemp(dir=directory)
        # without fair scheduling a thread that is busy keeps the flush thread from all CPUs of an idle machine
        valgrind = ["valgrind", "--fair-sched=yes", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={self.place}/out.%p"]
        process = subprocess.Popen(valgrind + command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, errors = process.communicate()
        if process.returncode:
            sys.exit(f"{command}: {errors.decode()}")
        self.own = f"out.{process.pid}-"

    def threads(self):
        """Instructions of each thread of the first process, the first thread's first."""
        names = [name for name in sorted(os.listdir(self.place)) if name.startswith(self.own)]
        texts = [open(os.path.join(self.place, name)).read() for name in names]
        return [int(re.search(r"^totals: (\d+)", text, re.M)[1]) for text in texts]

    def outside(self, program):
        """Instructions of the first thread but those of the program itself."""
        name = min(name for name in os.listdir(self.place) if name.startswith(self.own))
        annotate = ["callgrind_annotate", "--threshold=100", os.path.join(self.place, name)]
        text = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
        inside = sum(int(n.replace(",", "")) for n in re.findall(rf"^ *([\d,]+) .*\[{re.escape(program)}\]$", text, re.M))
        return self.threads()[0] - inside

    @functools.lru_cache(None)
    def inclusive(self, name):
        """What callgrind_annotate says of a file; it takes as long as some of the programs."""
        annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", os.path.join(self.place, name)]
        return subprocess.run(annotate, check=True, capture_output=True, text=True).stdout

    def within(self, function, own=True, called=True):
        """Instructions of the function and of all that it calls, in all threads of the first process or of its children.
        called: it must be."""
        found = 0
        for name in os.listdir(self.place):
            if name.startswith(self.own) != own or not re.fullmatch(r"out\.\d+-\d+", name):
                continue
            text = self.inclusive(name)
            found += sum(int(n.replace(",", "")) for n in re.findall(rf"^ *([\d,]+) .*:{function} \[", text, re.M))
        if called and not found:
            sys.exit(f"{function} was not called, or has another name now")
        return found


class Programs:
    """What is counted, in groups: a group's programs run for all of its counts."""

    def __init__(self, directory):
        self.directory, self.logs = directory, os.path.join(directory, "logs")
        os.mkdir(self.logs)
        subprocess.run([os.path.join(BUILD, "bench", "make_logs"), self.logs, "1", "1"], check=True)
        # One sample a second: what is counted is not the samples, of which valgrind makes many.
        self.profiled = {"LD_PRELOAD": LIBRARY, "PYPROF_OUT": os.path.join(directory, "out"), "PYPROF_HZ": "1"}
        self.profiled["PYPROF_CLOCK"] = "tick"  # the programs send themselves ticks
        self.pause = os.path.join(BUILD, "bench", "paused.so")
        self.paused = dict(self.profiled, LD_PRELOAD=f"{LIBRARY} {self.pause}", PYPROF_MAX_OVERHEAD="100")

    def run(self, *arguments, **variables):
        return Run([PYTHON, *arguments], self.directory, **variables)

    def start(self):
        started = self.run("-c", "pass", **self.paused)
        # What Python itself does depends on where memory lies, by 50,000. A slow machine meets a tick, a fast one does not.
        program, ticks = os.path.realpath(PYTHON), started.within("pp_handle_signal", called=False)
        yield "start, main thread", started.outside(program) - self.run("-c", "pass", LD_PRELOAD=self.pause).outside(program) - ticks
        yield "start, flush thread", sum(started.threads()[1:])

    def samples(self):
        first, some, more = (self.run(os.path.join(HERE, "ticks.py"), rounds, **self.paused) for rounds in "019")
        yield "first sample, in the flush thread", first.within("pp_drain")
        yield "sample, 20 + 30 frames", (more.within("pp_handle_signal") - some.within("pp_handle_signal")) // 800
        yield "flush of 100 samples", (more.within("pp_drain") - some.within("pp_drain")) // 8

    def contexts(self, name, kind, without):
        counted = dict(self.profiled, PYPROF_MAX_OVERHEAD="100")
        contexts = self.run(os.path.join(HERE, "contexts.py"), kind, "400", **counted)
        yield "contexts of a" + name + " sample", sum(contexts.within(f"pp_contexts_read{part}") for part in ("", "_frames")) // 420
        left_out = dict(counted, PYPROF_TRACES="0.01,only")
        handler = self.run(os.path.join(HERE, "contexts.py"), without, "400", **left_out).within("pp_handle_signal")
        yield "sample that is not selected" + (name and "," + name), handler // 420

    def known_contexts(self):
        return self.contexts("", "with", "unselected")

    def fresh_contexts(self):
        return self.contexts(" fresh", "fresh", "fresh-unselected")

    def fork(self):
        forked = self.run("-c", "import os\npid = os.fork()\nos.waitpid(pid, 0) if pid else os._exit(0)", **self.profiled)
        yield "fork, in the child", forked.within("after_fork_in_child", own=False)

    def report(self):
        yield "report of 1 MB", sum(Run([PYPROF, "report", self.logs], self.directory).threads())

    def flame(self):
        yield "flame of 1 MB", sum(Run([PYPROF, "flame", "-o", os.path.join(self.directory, "page.html"), self.logs], self.directory).threads())


def count(known):
    """Beside other work a run lasts longer and has more intervals to flush, or may end before the flush thread had its turn: a
    group of which one count is bad is counted once more."""
    counts = {}
    with tempfile.TemporaryDirectory() as directory:
        all_of = Programs(directory)
        for group in all_of.start, all_of.samples, all_of.known_contexts, all_of.fresh_contexts, all_of.fork, all_of.report, all_of.flame:
            found = dict(group())
            if any(is_bad(number, known[name]) for name, number in found.items()):
                again = dict(group())
                found = {name: min((number, again[name]), key=lambda counted: (is_nothing(counted, known[name]), counted))
                         for name, number in found.items()}
            counts.update(found)
    return counts


def is_above(found, value):
    return found > int(value) * 1.1


def is_nothing(found, value):
    """What was to be counted was not done."""
    return found < int(value) / 4


def is_bad(found, value):
    return is_above(found, value) or is_nothing(found, value)


def main():
    with open(os.path.join(HERE, "instructions.tsv")) as table:
        known = dict(line.rstrip("\n").split("\t") for line in table if not line.startswith("#"))
    counts = count(known)
    for name, found in counts.items():
        if "--check" in sys.argv:
            bad = is_bad(found, known[name])
            print(f"{'not ok' if bad else 'ok'} - instructions: {name}: {found}, at most a tenth above {known[name]}, and not below a quarter")
        else:
            print(f"{name:34} {found:14,} {int(known[name]):14,}")
    return "--check" in sys.argv and any(is_bad(found, known[name]) for name, found in counts.items())


sys.exit(main())
