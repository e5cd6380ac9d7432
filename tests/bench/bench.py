"""bench.py BUILD PYTHON ROUNDS: the cost of libpyprof on this machine, as tables.

What is compared runs alternately, so that a change of the machine's speed meets both; medians, and the middle half.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

build, python, rounds = os.path.realpath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
library = os.path.join(build, "libpyprof.so")
pyprof = os.path.join(build, "pyprof")
here = os.path.dirname(os.path.realpath(__file__))
depth_program = os.path.join(os.path.dirname(here), "workloads", "depth.py")


def run(command, preload, directory, **settings):
    """(wall s, CPU s) of a process and its children."""
    environment = dict(os.environ, PYPROF_OUT=directory, **settings)
    if preload:
        environment["LD_PRELOAD"] = library
    since = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - since
    if status != 0:
        sys.exit(f"{command} ended with status {status}")
    return wall, usage.ru_utime + usage.ru_stime


def size_of(directory):
    return sum(os.path.getsize(os.path.join(root, f)) for root, _, files in os.walk(directory) for f in files)


def spread(values):
    quarters = statistics.quantiles(values, n=4)
    return f"{statistics.median(values):8.3f} ({quarters[0]:.3f}-{quarters[2]:.3f})"


def handler_by_depth():
    print("handler, ns per sample             mean     p50     p99     max   samples  log bytes/sample")
    for kind, depth in [("python", 5), ("python", 50), ("python", 200), ("c", 5), ("c", 50), ("c", 200)]:
        with tempfile.TemporaryDirectory() as directory:
            run([python, depth_program, kind, str(depth), "60"], True, directory, PYPROF_HZ="1000")
            info = json.loads(subprocess.check_output([pyprof, "info", "--json", directory]))
            process = info["processes"][0]
            ns, samples = process["handler_ns"], process["samples"]
            what = f"{depth} Python frames" + (", each through C" if kind == "c" else "")
            print(
                f"  {what:29} {ns['mean']:8.0f}{ns['p50']:8.0f}{ns['p99']:8.0f}{ns['max']:8.0f}{samples:10}"
                f"{size_of(directory) / max(samples, 1):18.1f}"
            )


def start_up():
    print(f"start-up, ms, median (middle half) of {rounds}")
    programs = [("true", [shutil.which("true")]), ("python -c pass", [python, "-c", "pass"])]
    for name, command in programs:
        walls, cpus = {False: [], True: []}, {False: [], True: []}
        with tempfile.TemporaryDirectory() as directory:
            for _ in range(rounds):
                for preload in (False, True):
                    wall, cpu = run(command, preload, directory)
                    walls[preload].append(wall * 1e3)
                    cpus[preload].append(cpu * 1e3)
        for what, values in (("wall", walls), ("CPU", cpus)):
            more = statistics.median(values[True]) - statistics.median(values[False])
            print(f"  {name:15} {what:5} without {spread(values[False])}   with {spread(values[True])}   {more:+.3f}")


def overhead():
    pairs = max(5, rounds // 6)
    print(f"overhead on a CPU-bound program, ratio of CPU with / without, median (middle half) of {pairs} pairs")
    for kind, depth, rates in [("python", 5, ("100", "1000")), ("c", 50, ("100",))]:
        for hz in rates:
            ratios = []
            with tempfile.TemporaryDirectory() as directory:
                for _ in range(pairs):
                    command = [python, depth_program, kind, str(depth), "40"]
                    without = run(command, False, directory)[1]
                    ratios.append(run(command, True, directory, PYPROF_HZ=hz)[1] / without)
            what = f"{depth} Python frames" + (", each through C" if kind == "c" else "") + f", {hz} Hz"
            print(f"  {what:40} {spread(ratios)}")


def own_cost():
    seconds = 20
    print(f"own CPU time beside busy Python threads, {seconds} s at 100 Hz, % of one core    handlers  flush thread  samples")
    busy = "import sys, threading, time\nend = time.monotonic() + float(sys.argv[2])\ndef work():\n    while time.monotonic() < end:\n"
    busy += "        sum(range(1000))\nfor _ in range(int(sys.argv[1])):\n    threading.Thread(target=work).start()\n"
    for threads in 1, 10, 64:
        with tempfile.TemporaryDirectory() as directory:
            run([python, "-c", busy, str(threads), str(seconds)], True, directory)
            total = json.loads(subprocess.check_output([pyprof, "info", "--json", directory]))["total"]
            handlers, wall = total["handler_ns"]["mean"] * total["samples"], total["wall_ns"]
            rest = total["own_ns"] - handlers
            print(f"  {threads:2} threads {100 * handlers / wall:58.3f}{100 * rest / wall:14.3f}{total['samples']:9}")


def handler_in_contexts():
    print("a task, its awaiter, a span, labels and an endpoint add to a sample, ns, median (middle half) of pairs in one process")
    for what, kind in [("those of the last sample", "pairs")] * 3 + [("each sample meets others", "fresh-pairs")] * 3:
        with tempfile.TemporaryDirectory() as directory:
            command = [python, os.path.join(here, "contexts.py"), kind, "2400"]
            environment = {**os.environ, "LD_PRELOAD": library, "PYPROF_OUT": directory, "PYPROF_HZ": "1", "PYPROF_MAX_OVERHEAD": "100"}
            low, median, high = subprocess.check_output(command, env=environment, text=True).split()
            print(f"  {what:24} {median:>6} ({low}..{high})")


start_up()
handler_by_depth()
handler_in_contexts()
own_cost()
overhead()
