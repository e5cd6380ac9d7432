#!/usr/bin/env python3
"""instructions.py BUILD PYTHON [--check]: counts instructions under callgrind, beside the values in instructions.tsv.

A count hardly depends on the machine, so it may fail a check: with --check it speaks TAP, and a count that is a tenth
above its value, or below a quarter of it, fails. Whoever raises a value says why in the commit."""

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

    def within(self, function, own=True, called=True):
        """Instructions of the function and of all that it calls, in all threads of the first process or of its children.
        called: it must be."""
        found = 0
        for name in os.listdir(self.place):
            if name.startswith(self.own) != own or not re.fullmatch(r"out\.\d+-\d+", name):
                continue
            annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", os.path.join(self.place, name)]
            text = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
            found += sum(int(n.replace(",", "")) for n in re.findall(rf"^ *([\d,]+) .*:{function} \[", text, re.M))
        if called and not found:
            sys.exit(f"{function} was not called, or has another name now")
        return found


def measure(directory):
    logs = os.path.join(directory, "logs")
    os.mkdir(logs)
    subprocess.run([os.path.join(BUILD, "bench", "make_logs"), logs, "1", "1"], check=True)
    # One sample a second: what is counted is not the samples, of which valgrind makes many.
    profiled = {"LD_PRELOAD": LIBRARY, "PYPROF_OUT": os.path.join(directory, "out"), "PYPROF_HZ": "1"}
    profiled["PYPROF_CLOCK"] = "tick"  # the programs send themselves ticks
    pause = os.path.join(BUILD, "bench", "paused.so")
    paused = dict(profiled, LD_PRELOAD=f"{LIBRARY} {pause}", PYPROF_MAX_OVERHEAD="100")

    def run(*arguments, **variables):
        return Run([PYTHON, *arguments], directory, **variables)

    started = run("-c", "pass", **paused)
    # What Python itself does depends on where memory lies, by 50,000. A slow machine meets a tick, a fast one does not.
    program, ticks = os.path.realpath(PYTHON), started.within("pp_handle_signal", called=False)
    yield "start, main thread", started.outside(program) - run("-c", "pass", LD_PRELOAD=pause).outside(program) - ticks
    yield "start, flush thread", sum(started.threads()[1:])
    first, some, more = (run(os.path.join(HERE, "ticks.py"), rounds, **paused) for rounds in "019")
    yield "first sample, in the flush thread", first.within("pp_drain")
    yield "sample, 20 + 30 frames", (more.within("pp_handle_signal") - some.within("pp_handle_signal")) // 800
    yield "flush of 100 samples", (more.within("pp_drain") - some.within("pp_drain")) // 8
    counted, left_out = dict(profiled, PYPROF_MAX_OVERHEAD="100"), dict(profiled, PYPROF_MAX_OVERHEAD="100", PYPROF_TRACES="0.01,only")
    for name, kind, without in [("contexts of a sample", "with", "unselected"), ("contexts of a fresh sample", "fresh", "fresh-unselected")]:
        contexts = run(os.path.join(HERE, "contexts.py"), kind, "400", **counted)
        yield name, sum(contexts.within(f"pp_contexts_read{part}") for part in ("", "_frames")) // 420
        handler = run(os.path.join(HERE, "contexts.py"), without, "400", **left_out).within("pp_handle_signal")
        yield "sample that is not selected" + kind.replace("with", "").replace("fresh", ", fresh"), handler // 420
    forked = run("-c", "import os\npid = os.fork()\nos.waitpid(pid, 0) if pid else os._exit(0)", **profiled)
    yield "fork, in the child", forked.within("after_fork_in_child", own=False)
    yield "report of 1 MB", sum(Run([PYPROF, "report", logs], directory).threads())
    yield "flame of 1 MB", sum(Run([PYPROF, "flame", "-o", os.path.join(directory, "page.html"), logs], directory).threads())


def count():
    with tempfile.TemporaryDirectory() as directory:
        return dict(measure(directory))


def is_above(found, value):
    return found > int(value) * 1.1


def is_nothing(found, value):
    """What was to be counted was not done."""
    return found < int(value) / 4


def main():
    with open(os.path.join(HERE, "instructions.tsv")) as table:
        known = dict(line.rstrip("\n").split("\t") for line in table if not line.startswith("#"))
    counts = count()
    # Beside other work a run lasts longer and has more intervals to flush: what is above is counted once more.
    if any(is_above(found, known[name]) for name, found in counts.items()):
        again = count()
        counts = {name: min(found, again[name]) for name, found in counts.items()}
    for name, found in counts.items():
        if "--check" in sys.argv:
            bad = is_above(found, known[name]) or is_nothing(found, known[name])
            print(f"{'not ok' if bad else 'ok'} - instructions: {name}: {found}, at most a tenth above {known[name]}, and not below a quarter")
        else:
            print(f"{name:34} {found:14,} {int(known[name]):14,}")
    bad = any(is_above(found, known[name]) or is_nothing(found, known[name]) for name, found in counts.items())
    return "--check" in sys.argv and bad


sys.exit(main())
