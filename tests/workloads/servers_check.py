"""What servers.py asks of a server's life with the library: that it is the one without, and that its CPU is in the profile."""

import collections
import glob
import json
import os
import re
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bats", "lib"))
import read  # noqa: E402

PERCENT = 5.0
# A worker that has used less has too few samples to be judged by itself; all of them together are judged always.
ALONE_NS = 1_000_000_000
# What a process that is killed may lose is its last interval of a second; on a busy machine the thread that writes is late.
LOST_NS = 5_000_000_000


def billed_ns():
    """What the kernel has billed the children that are gone, and theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def log_lines(life):
    """The set of lines, without what differs from one life to the next; a traceback's innards are where the signal came, and
    two processes may write theirs at once."""
    with open(life.path("log"), errors="replace") as log:
        lines = [line.rstrip().replace(life.directory, "DIRECTORY") for line in log]
    return {re.sub(r"0x[0-9a-f]+|\b[A-Z][a-z][a-z] [A-Z][a-z][a-z] +\d+|\d+", "N", line) for line in lines if not line.startswith((" ", "^"))}


def compare(row, server, control):
    wrong = []
    if server.statuses != control.statuses:
        wrong.append(f"exit statuses {server.statuses}, without the library {control.statuses}")
    lines, expected = log_lines(server), log_lines(control)
    for text, more in (("has a line that it has not without", lines - expected), ("lacks the line", expected - lines)):
        for line in sorted(more):
            if not re.search(row.loose_lines, line):
                wrong.append(f"log {text}: {line}")
    # A server that does not keep up with its own deadlines, as on a busy machine, is no better without us.
    if len(server.failed) > row.may_fail >= len(control.failed):
        wrong.append(f"{len(server.failed)} requests failed, {len(control.failed)} without the library: {server.failed[:5]}")
    return wrong


def deaths(life):
    """How many workers the server says it has killed."""
    with open(life.path("log"), errors="replace") as log:
        return len(re.findall("killed by signal|SIGKILL", log.read()))


def told(directory):
    """{pid: {function: ns}}; of a function that holds its process to the end, what was used before it, negative."""
    functions = collections.defaultdict(collections.Counter)
    for path in glob.glob(os.path.join(directory, "*")):
        pid, function = os.path.basename(path).split(".")[:2]
        with open(path) as file:
            functions[int(pid)][function] += int(file.read() or 0)
    return functions


def clock_at(polled, wall_ns):
    """The process's CPU clock then, from both sides."""
    before = [cpu for wall, cpu in polled if wall <= wall_ns]
    after = [cpu for wall, cpu in polled if wall >= wall_ns]
    return (before or [0])[-1], (after or polled[-1][1:])[0]


def profile(row, server, control, pyprof):
    """(figures, what is wrong) of the merged profile."""
    wrong = []
    out = server.path("profile")
    info = json.loads(subprocess.check_output([pyprof, "info", "--json", out]))
    stacks = collections.defaultdict(list)
    for line in subprocess.check_output([pyprof, "export", out, "--format", "collapsed", "--unit", "ns", "--native=all", "--processes"], text=True).splitlines():
        frames, _, ns = line.rpartition(" ")
        root, *frames = frames.split(";")
        if root.startswith("[accounting: "):
            continue
        stacks[int(root.split()[1])].append((frames, int(ns)))
    # By exec a process begins a new file; its clock goes on.
    images = collections.defaultdict(list)
    for process in sorted(info["processes"], key=lambda process: process["start_unix_ns"]):
        images[process["pid"]].append(process)
    if read.accounting(info):
        wrong.append("the accounting does not close")

    truth = told(server.path("truth"))
    killed, all_in_file, all_lost = 0, 0, 0
    sums, losses = collections.Counter(), collections.Counter()
    worst, slack = 0.0, 0.0
    missing = set(truth) - set(images)
    if missing:
        wrong.append(f"processes that used CPU time and are not in the profile: {sorted(missing)}")
    for pid, found in images.items():
        last = found[-1]
        in_file = last["before_start_ns"] + last["cpu_ns"]
        wall, clock = server.polled[pid][-1] if pid in server.polled else (0, 0)
        lost = 0
        if not last["ended"]:
            killed += 1
            lost = max(0, clock - in_file)
            # Without a sample nothing is written: some ms in which a thread only waits are not worth it.
            if lost > clock - clock_at(server.polled[pid], wall - LOST_NS)[0] + 40e6:
                wrong.append(f"pid {pid}: {lost / 1e6:.0f} ms are lost, its file ends {(wall - last['end_unix_ns']) / 1e9:.1f} s before it was killed")
            low, high = clock_at(server.polled[pid], last["end_unix_ns"])
        else:
            low, high = clock, max(clock, in_file)
        if not 0.95 * low - 10e6 <= in_file <= 1.05 * high + 10e6:
            wrong.append(f"pid {pid}: {in_file / 1e6:.0f} ms in the file, the kernel said {low / 1e6:.0f} to {high / 1e6:.0f}")
        all_in_file += in_file
        all_lost += lost
        late = read.slack({"processes": found})
        slack += late
        for function, ns in truth[pid].items():
            expected = ns if ns >= 0 else in_file + ns
            extra = late + 2 * read.chance(min(expected, in_file), in_file, {"total": last}) if last["samples"] else late
            seen = read.inclusive(stacks[pid], {function})
            gone = lost if ns >= 0 else 0
            sums[function] += seen
            sums[function, "truth"] += expected
            losses[function] += gone
            off = 100 * (seen - expected) / max(expected, 1)
            if expected >= ALONE_NS:
                worst = max(worst, abs(off), key=abs) if not gone else worst
                if not -expected * PERCENT / 100 - gone - extra <= seen - expected <= expected * PERCENT / 100 + extra:
                    wrong.append(f"pid {pid}: {function} {seen / 1e6:.0f} ms, truth {expected / 1e6:.0f} ms ({off:+.1f} %), {gone / 1e6:.0f} ms lost")
    for function, loss in losses.items():
        seen, expected = sums[function], sums[function, "truth"]
        # The beginnings and ends of many short lives: a sample each.
        extra = slack + 10e6 * len(images)
        if not -expected * PERCENT / 100 - loss - extra <= seen - expected <= expected * PERCENT / 100 + extra:
            wrong.append(f"all: {function} {seen / 1e6:.0f} ms, truth {expected / 1e6:.0f} ms, {loss / 1e6:.0f} ms lost")
    for function in row.functions:
        if not sums[function, "truth"]:
            wrong.append(f"{function} has never run")
    if not 0.95 * server.billed - all_lost <= all_in_file <= 1.01 * server.billed + 10e6:
        wrong.append(f"{all_in_file / 1e6:.0f} ms in all files, {server.billed / 1e6:.0f} ms billed, {all_lost / 1e6:.0f} ms lost")
    low, high = row.killed
    if not low <= killed <= max(high, len(images) if deaths(control) > high else 0):
        wrong.append(f"{killed} files without an end, {low} to {high} expected: {[(p['pid'], p['ended']) for p in info['processes']]}")

    functions = ", ".join(f"{f} {100 * (sums[f] - sums[f, 'truth']) / max(1, sums[f, 'truth']):+.2f} % of {sums[f, 'truth'] / 1e9:.1f} s" for f in losses)
    figures = (
        f"{len(images):2} processes, {sum(server.served.values())} pages, {len(server.failed)} failed, {killed} killed; in the files "
        f"{100 * (all_in_file - server.billed) / server.billed:+.2f} % of {server.billed / 1e9:.1f} s billed"
        f"{f', {all_lost / 1e6:.0f} ms lost' if all_lost else ''}; {functions}; worst worker {worst:.1f} %, status {server.statuses}"
    )
    return figures, wrong
