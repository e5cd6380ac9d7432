"""Reads what pyprof prints, for the suites. Each command prints what it found wrong and leaves with status 1, or is silent.

    read.py mixed TRUTH.json COLLAPSED INFO.json
    read.py accounting INFO.json
    read.py cpu_used TRUTH_DIRECTORY INFO.json    each process of a measured_*.py is there with all the CPU that it says it used
    read.py split TRUTH_DIRECTORY COLLAPSED INFO.json [PERCENT]     each function within chance, and PERCENT of all
    read.py locked TRUTH_DIRECTORY COLLAPSED INFO.json HIDDEN...    what ticks cannot see is named, and given to nobody
    read.py estimate INFO.json                  of a process of short threads: what was seen stands for the rest
    read.py near VALUE TRUTH PERCENT WHAT [INFO.json [LARGEST]]   with it: more where few ticks were met (see slack)
    read.py inclusive COLLAPSED FUNCTION...     prints the ns below a frame whose name is one of these
    read.py stacks COLLAPSED FRAME...           some stack holds these frames, root first, others may lie between
    read.py share COLLAPSED FRAME...            prints percent of the ns of the stacks that end below FRAME... in that order
    read.py field INFO.json NAME                prints the sum of a field over the processes
    read.py intervals INFO.json SLEEPS          of one process: they add up; it went to sleep that often at least
    read.py truncated INFO.json                 prints what was cut or lost, "REASON: COUNT"

A FRAME is a regular expression for a whole frame.
"""

import glob
import json
import math
import os
import re
import sys
import time

CLOCK_MONOTONIC_COARSE = 6
USUAL_WEIGHT_NS = 13e6  # of a sample at 100 Hz and ticks of 4 ms


def stacks(path):
    """[(frames root first, ns)] of a collapsed file."""
    found = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            frames, _, weight = line.rstrip("\n").rpartition(" ")
            found.append((frames.split(";"), int(weight)))
    return found


def name(frame):
    """The last part of a Python frame's qualified name, None for other frames."""
    match = re.fullmatch(r"(.+) \((?:.*\.py|<[^>]*>):\d+\)", frame)
    return match.group(1).rpartition(".")[2] if match else None


def inclusive(all_stacks, names):
    return sum(ns for frames, ns in all_stacks if any(name(f) in names for f in frames))


def holds(frames, patterns):
    """Whether the patterns match frames in this order."""
    wanted = list(patterns)
    for frame in frames:
        if wanted and re.fullmatch(wanted[0], frame):
            wanted.pop(0)
    return not wanted


def deviation(value, truth):
    return 100.0 * (value - truth) / truth


def slack(info, largest=0.0):
    """ns by which a function's CPU may be wrong, besides its percent, because the machine let the program meet few ticks
    (six busy programs on two CPUs: a sample each 75 ms of CPU instead of 10). A function begins and ends somewhere between
    two samples, and so does each thread: that is in the percents for samples that weigh what they should, and here for
    the rest. What each process says it has not sampled may be the function's: two samples' worth, from before its first
    sample and after its last one, or a tenth of its CPU, where a sample came later than chance explains (the host had
    taken the machine its CPUs): half a period is the function's then. What our handler used is in the clock of the thread,
    and not in the function: much, where everything is translated."""
    # A thread that is taken off its CPU before each tick meets none for a while. The next sample then stands for all that
    # CPU time, and gives it to what runs at its end.
    most = 2 * max(largest - USUAL_WEIGHT_NS, 0.0)
    unsampled = sum(
        min(process["unsampled_ns"], max(2 * USUAL_WEIGHT_NS, 0.1 * process["cpu_ns"])) for process in info["processes"]
    )
    for process in info["processes"]:
        if process["samples"]:
            # The estimates for short threads have no samples of their own.
            used = process["cpu_ns"] - process["own_ns"] - process["estimated_ns"]
            weight = used / process["samples"]
            edges = 3 + (process["exited_threads"] if process["exited_threads"] <= 16 else 0)
            most = max(most, edges * (weight - USUAL_WEIGHT_NS))
    handlers = sum(process["handler_ns"]["mean"] * process["samples"] for process in info["processes"] if process["samples"])
    return most + unsampled + handlers


def check(rows, extra=0.0):
    """rows: (what, value, truth, percent allowed), values in ns. Prints all when one is wrong."""
    rows = [(what, value, truth, round(percent + 100.0 * extra / truth, 1)) for what, value, truth, percent in rows]
    wrong = [row for row in rows if abs(deviation(row[1], row[2])) > row[3]]
    if wrong:
        for what, value, truth, percent in rows:
            off = deviation(value, truth)
            mark = "  <-- wrong" if abs(off) > percent else ""
            print(f"{what:28} {value / 1e6:10.1f} ms, truth {truth / 1e6:10.1f} ms, {off:+7.2f} % (allowed {percent} %){mark}")
    return 1 if wrong else 0


def intervals(processes, sleeps):
    """Those of the one process add up to its sums."""
    (process,) = processes
    found = process["intervals"]
    status = 0
    switches, faults = ("voluntary_switches", "involuntary_switches"), ("minor_faults", "major_faults")
    for key in ("cpu_ns", "wall_ns", "samples") + switches + faults:
        total = sum(interval[key] for interval in found)
        if total != process[key]:
            print(f"{key}: the intervals make {total}, the process has {process[key]}")
            status = 1
    if len(found) < 2 or process["voluntary_switches"] < sleeps or process["minor_faults"] == 0:
        print(f"{len(found)} intervals, {process['voluntary_switches']} switches, {process['minor_faults']} faults")
        status = 1
    return status


def accounting(info):
    """The sum of every process closes, and what is left over is small."""
    status = 0
    for process in info["processes"]:
        parts = {
            key: process[key]
            for key in ("sampled_ns", "unsampled_ns", "lost_ns", "own_ns", "thread_exit_ns", "difference_ns")
        }
        if sum(parts.values()) != process["cpu_ns"]:
            print(f"pid {process['pid']}: the parts make {sum(parts.values())}, cpu_ns is {process['cpu_ns']}: {parts}")
            status = 1
        # A busy machine takes the CPU from the flush thread between two of the clocks that it reads.
        busy = min(20_000 * process["involuntary_switches"], 2_000_000)
        # An emulated processor takes long from the last clock that is read to where the thread ends.
        slow = process["own_ns"] / 4 if os.environ.get("TESTED_OVERHEAD") else 0
        allowed = process["cpu_ns"] * 0.001 + 10_000 * process["exited_threads"] + 50_000 + busy + slow
        if abs(process["difference_ns"]) > allowed:
            print(f"pid {process['pid']}: difference of {process['difference_ns']} ns, allowed {allowed:.0f}: {parts}")
            status = 1
    if not info["processes"]:
        print("no process in it")
        status = 1
    return status


def estimate(info):
    """A busy machine may let such threads end between two ticks, most of them even, and without having pushed them off
    their CPUs, which is all that we can know. But two ticks of each sample's like find a stack at any rate (0.6 of it:
    not all samples are of short threads, and no two groups of threads fill up evenly)."""
    tick_ns = time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1e9
    total = info["total"]
    least = min(0.95 * total["cpu_ns"], 0.6 * 2 * tick_ns * total["samples"])
    if total["sampled_ns"] + total["own_ns"] >= least:
        return 0
    print(f"{total['sampled_ns'] / 1e6:.0f} ms in functions, at least {least / 1e6:.0f} ms expected: {total}")
    return 1


def mixed(truth_path, collapsed_path, info_path):
    with open(truth_path) as file:
        truth = {key: value * 1e9 for key, value in json.load(file).items()}
    with open(info_path) as file:
        info = json.load(file)
    all_stacks = stacks(collapsed_path)
    rows = [(key, inclusive(all_stacks, {key}), truth[key], 5.0) for key in ("pure_python", "c_hash", "compress")]
    # 400 threads give some 250 samples, and two of a hundred is their sampling error.
    rows.append(("short_job", inclusive(all_stacks, {"short_job"}), truth["short_job"], 8.0))
    sums = [
        ("cpu_ns, the process clock", info["total"]["cpu_ns"], truth["total"], 1.0),
        ("all stacks + own", sum(ns for _, ns in all_stacks) + info["total"]["own_ns"], truth["total"], 1.0),
    ]
    sleeper = inclusive(all_stacks, {"sleeper"})
    if sleeper > 20e6:
        print(f"sleeper: {sleeper / 1e6:.1f} ms, it slept")
        return 1
    return check(rows, slack(info)) or check(sums)


def told(directory):
    """{pid: what the process wrote}, and the functions' ns of all."""
    processes, functions = {}, {}
    for path in glob.glob(os.path.join(directory, "*.json")):
        with open(path) as file:
            truth = json.load(file)
        processes[int(os.path.basename(path).partition(".")[0])] = truth
        for function, ns in truth["functions"].items():
            functions[function] = functions.get(function, 0) + ns
    return processes, functions


def cpu_used(directory, info):
    """A process goes on for some ms after it has told its clock, and our thread writes its profile then."""
    status = 0
    processes = {process["pid"]: process for process in info["processes"]}
    truths, _ = told(directory)
    if not truths or truths.keys() - processes.keys():
        print(f"of the processes {sorted(truths)} are in the profile: {sorted(processes)}")
        return 1
    for pid, truth in truths.items():
        ns = processes[pid]["cpu_ns"] + processes[pid]["before_start_ns"]
        if not 0.999 * truth["process_ns"] <= ns <= 1.05 * truth["process_ns"] + 200e6 + processes[pid]["own_ns"]:
            print(f"pid {pid}: {ns / 1e6:.1f} ms of CPU, its own clock said {truth['process_ns'] / 1e6:.1f} ms")
            status = 1
    return status


def chance(truth, whole, info):
    """The standard error of a function's CPU: as many samples as there are, p of them in it."""
    p = truth / whole
    weight = max(info["total"]["sampled_ns"] / info["total"]["samples"], USUAL_WEIGHT_NS)
    return weight * max(1.0, math.sqrt(info["total"]["samples"] * p * (1 - p)))


def split(directory, all_stacks, info, percent):
    _, functions = told(directory)
    whole = sum(functions.values())
    rows = []
    for function, truth in functions.items():
        allowed = min(4 * chance(truth, whole, info), percent / 100 * whole)
        rows.append((function, inclusive(all_stacks, {function}), truth, 100 * allowed / truth))
    return check(rows, slack(info)) if rows else "no functions"


def locked(directory, all_stacks, info, hidden):
    """Work that no tick falls into must not be given to the job beside it that they do see: at most 5 % too much, and
    what chance makes of so few samples."""
    status = 0
    _, functions = told(directory)
    for function, truth in functions.items():
        allowed = 1.05 * truth + 2 * math.sqrt(truth * USUAL_WEIGHT_NS)
        seen = inclusive(all_stacks, {function})
        if seen > allowed:
            print(f"{function}: {seen / 1e6:.1f} ms, truth {truth / 1e6:.1f} ms, {allowed / 1e6:.1f} allowed")
            status = 1
    missing = sum(functions[function] - inclusive(all_stacks, {function}) for function in hidden)
    total = info["total"]
    if total["unsampled_ns"] < 0.8 * missing - 100e6 - slack(info):
        print(f"{missing / 1e6:.1f} ms of {hidden} were not seen, [unsampled] has {total['unsampled_ns'] / 1e6:.1f} ms")
        status = 1
    if total["unsampled_ns"] > 0.06 * total["cpu_ns"] and not any("[unsampled]" in w for w in total["warnings"]):
        print(f"no warning of [unsampled]: {total['warnings']}")
        status = 1
    return status


def main(command, arguments):
    if command == "cpu_used":
        with open(arguments[1]) as file:
            return cpu_used(arguments[0], json.load(file))
    if command == "split":
        with open(arguments[2]) as file:
            return split(arguments[0], stacks(arguments[1]), json.load(file), float((arguments + [100])[3]))
    if command == "locked":
        with open(arguments[2]) as file:
            return locked(arguments[0], stacks(arguments[1]), json.load(file), arguments[3:])
    if command == "mixed":
        return mixed(*arguments)
    if command == "accounting":
        with open(arguments[0]) as file:
            return accounting(json.load(file))
    if command == "estimate":
        with open(arguments[0]) as file:
            return estimate(json.load(file))
    if command == "near":
        value, truth, percent = (float(a) for a in arguments[:3])
        extra = 0.0
        if len(arguments) > 4:
            with open(arguments[4]) as file:
                extra = slack(json.load(file), float(arguments[5]) if len(arguments) > 5 else 0.0)
        return check([(arguments[3], value, truth, percent)], extra)
    if command == "sigma":
        truth, seen = (float(a) for a in arguments)
        return abs(seen - truth) > 3 * math.sqrt(truth * USUAL_WEIGHT_NS) + 0.02 * truth
    if command == "inclusive":
        print(inclusive(stacks(arguments[0]), set(arguments[1:])))
        return 0
    if command == "stacks":
        if any(holds(frames, arguments[1:]) for frames, _ in stacks(arguments[0])):
            return 0
        print("no stack holds, in this order: " + "  ".join(arguments[1:]))
        for frames, ns in sorted(stacks(arguments[0]), key=lambda s: -s[1])[:8]:
            print(f"  {ns:12}  " + ";".join(frames))
        return 1
    if command == "share":
        all_stacks = stacks(arguments[0])
        total = sum(ns for _, ns in all_stacks)
        print(round(100.0 * sum(ns for f, ns in all_stacks if holds(f, arguments[1:])) / total))
        return 0
    if command == "field":
        with open(arguments[0]) as file:
            print(sum(process[arguments[1]] for process in json.load(file)["processes"]))
        return 0
    if command == "intervals":
        with open(arguments[0]) as file:
            return intervals(json.load(file)["processes"], int(arguments[1]))
    if command == "truncated":
        with open(arguments[0]) as file:
            for reason, count in json.load(file)["total"]["truncated"].items():
                print(f"{reason}: {count}")
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
