"""accuracy.py BUILD SECONDS LIBRARY [WORKLOAD...]: how right profilers are, on programs that are built to fool samplers.

Each program runs under libpyprof and then under each peer, one after the other. What is true it says itself, by the
clocks of its threads (tests/workloads/truth.py), and the kernel by getrusage. SECONDS is the CPU that the longest burn;
under the peers a quarter of it, for they are off by more than chance. ACCURACY_PEERS=no leaves them out, =only us.
LIBRARY is lib/measured_native.c, built. The interpreter of the programs is the one that runs this, with its packages."""

import collections
import glob
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import peers
import serving

build, seconds, library, wanted = os.path.realpath(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
WORKLOADS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "workloads")
DIFFERENCE_PERCENT, DIFFERENCE_PER_THREAD_NS = 0.1, 10_000
FUNCTION_PERCENT, FUNCTION_SIGMAS, OTHERS_PERCENT = 2.0, 3.0, 5.0
UNSAMPLED_PERCENT = 5.0  # above that there is to be a warning

USUAL_WEIGHT_NS = 13e6  # of a sample at 100 Hz and ticks of 4 ms

Row = collections.namedtuple("Row", "name program arguments needs hidden", defaults=(None, ()))
# hidden: what no signal reaches or no tick meets, and may be in [unsampled] instead, with a warning.

def rows_of(seconds):
    """The programs, the longest with so many seconds of CPU."""
    long, middle, short = str(seconds), str(seconds / 4), str(seconds / 12)
    return [
        Row("1 busy thread", "threads", ["busy", "1", middle]),
        Row("8 busy threads", "threads", ["busy", "8", middle]),
        Row("64 busy threads", "threads", ["busy", "64", middle]),
        Row("10,000 threads of 1 ms, Python", "threads", ["short", "10000"]),
        Row("10,000 threads of 1 ms, C", "native", [library, "short", "10000", "1"]),
        Row("64 threads of 50 ms, C", "native", [library, "plain", "64", "50"]),
        Row("tids used again", "threads", ["reused", "500"]),
        Row("daemon threads at the end", "threads", ["daemons", "4", short]),
        Row("pthread_exit", "native", [library, "exits", "4", str(seconds * 20)]),
        Row("cancelled threads", "native", [library, "cancelled", "4", str(seconds * 20)]),
        Row("numpy's pool", "numpy", [short], "numpy"),
        Row("15 processes, forked", "forks", ["3", str(seconds / 60)]),
        Row("gevent", "gevent", [middle], "gevent"),
        Row("all signals blocked, by libc", "native", [library, "masked", "4", str(seconds * 20)]),
        Row("all signals blocked, raw", "native", [library, "raw_masked", "4", str(seconds * 20)], None, ("burn_raw_masked",)),
        Row("raw clones of 0.3 s", "native", [library, "raw_clone", "4", "300"]),
        Row("raw clones, long", "native", [library, "raw_clone", "4", str(seconds * 60)]),
        Row("uwsgi threads=4", "wsgi", [str(int(seconds * 25))], "uwsgi"),
        Row("512:256:...:1", "split", ["steady", long]),
        Row("512:256:...:1 in short bursts", "split", ["bursts", long]),
        Row("1.5 ms locked to the tick", "split", ["locked", long], None, ("locked_burst",)),
        Row("the same, in a crowd", "split", ["crowded", long], None, ("locked_burst",)),
        Row("8 ms loop, at 8 phases", "split", ["eight", long], None, ("locked_burst",)),
        Row("200 wake-ups/s of 0.2 ms", "split", ["idle", long]),
    ]


def run(profiler, row, directory):
    """The truth: {function: ns}, ns by the process clocks, ns that the kernel billed, {tid: ns} where the row tells."""
    truth_directory = os.path.join(directory, "truth")
    os.mkdir(truth_directory)
    program = os.path.join(WORKLOADS, f"measured_{row.program}.py")
    if row.program == "wsgi":
        truth, billed = serving.serve(profiler, program, int(row.arguments[0]), directory)
        return truth["functions"], truth["process_ns"], billed, truth["threads"]
    command, settings = profiler.command([sys.executable, program, truth_directory, *row.arguments], directory)
    with open(os.path.join(directory, "output.txt"), "w") as output:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    functions, process_ns = collections.Counter(), 0
    for path in glob.glob(os.path.join(truth_directory, "*.json")):
        with open(path) as file:
            told = json.load(file)
        functions.update(told["functions"])
        process_ns += told["process_ns"]
    if status != 0 or not process_ns:
        with open(os.path.join(directory, "output.txt")) as output:
            raise RuntimeError(f"status {status}: {output.read()[-300:].strip()}")
    return functions, process_ns, (usage.ru_utime + usage.ru_stime) * 1e9, {}


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def errors(stacks, functions, row):
    """[(function, ns too much, ns truth)], the worst first: beside what ticks cannot see, those that got it."""
    seen = collections.Counter()
    for frames, ns in stacks:
        for function in functions.keys() & set(frames):
            seen[function] += ns
    found = [(function, seen[function] - truth, truth) for function, truth in functions.items()]
    return sorted(found, key=lambda error: -error[1] if row.hidden else -abs(error[1]))


def sigmas(error, truth, whole, info):
    """A function's error in what sampling at random allows: of n samples of the mean weight W, p in the function,
    W sqrt(n p (1 - p)); and no less than the one sample by which everything may be off. Says nothing where it is all."""
    weight = info["sampled_ns"] / max(info["samples"], 1)
    p = truth / whole
    return error / max(weight * math.sqrt(info["samples"] * p * (1 - p)), weight, 1) if p < 0.9 else 0.0


def outside(row, info, whole, found):
    """What breaks the bounds of the header, in words."""
    bad = []
    allowed = info["cpu_ns"] * DIFFERENCE_PERCENT / 100 + info["exited_threads"] * DIFFERENCE_PER_THREAD_NS
    if abs(info["difference_ns"]) > allowed:
        bad.append("difference")
    for function, error, truth in found:
        if row.hidden:
            by_chance = FUNCTION_SIGMAS * math.sqrt(truth * USUAL_WEIGHT_NS)
            wrong = error > OTHERS_PERCENT / 100 * truth + by_chance
        else:
            wrong = (
                abs(sigmas(error, truth, whole, info)) > FUNCTION_SIGMAS or abs(percent(error, whole)) > FUNCTION_PERCENT
            )
        if wrong:
            bad.append(function)
    named = any("[unsampled]" in warning for warning in info["warnings"])
    if row.hidden and percent(info["unsampled_ns"], info["cpu_ns"]) > UNSAMPLED_PERCENT and not named:
        bad.append("no warning")
    return bad


def ours(profiler, row):
    with tempfile.TemporaryDirectory() as directory:
        functions, _, billed, threads = run(profiler, row, directory)
        info = profiler.info(directory)["total"]
        found = errors(profiler.read(directory), functions, row)
        per_thread = serving.thread_errors(profiler.read(directory, "--threads"), threads)
    whole = sum(functions.values())
    exited = info["exited_threads"]
    cells = [
        f"{row.name:32}{billed / 1e9:8.2f}{exited:7}",
        f"{percent(info['cpu_ns'] + info['before_start_ns'] - billed, billed):+8.3f}",
        f"{percent(abs(info['difference_ns']), info['cpu_ns']):8.4f}",
        f"{abs(info['difference_ns']) / 1e3 / exited:8.1f}" if exited else f"{'-':>8}",
        f"{percent(info['unsampled_ns'], info['cpu_ns']):7.2f}{percent(info['own_ns'], info['cpu_ns']):7.2f}{info['samples']:8}",
    ]
    if found:
        function, error, truth = found[0]
        most = max((sigmas(e, t, whole, info) for _, e, t in found), key=abs)
        cells.append(f"  {function:16}{percent(error, truth):+8.2f}{percent(error, whole):+8.2f}{most:+7.1f}")
    else:
        cells.append(f"  {'-':16}{'-':>8}{'-':>8}{'-':>7}")
    bad = outside(row, info, whole, found)
    if per_thread:
        cells.append(f"  threads {min(per_thread):+.2f} to {max(per_thread):+.2f} %")
        bad += ["threads"] if max(map(abs, per_thread)) > FUNCTION_PERCENT else []
    cells.append("  " + (f"<- {', '.join(bad)}" if bad else "holds"))
    return "".join(cells)


def theirs(profiler, row):
    """Its sum, and its worst function in percent of all CPU."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            functions, process_ns, _, _ = run(profiler, row, directory)
            stacks = list(profiler.read(directory))
        except (RuntimeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            return f"{'failed':>10}{'-':>8}", f"{row.name}, {profiler.name}: {error}"
    cell = f"{percent(sum(ns for _, ns in stacks) - process_ns, process_ns):+10.1f}"
    found = errors(stacks, functions, row)
    blind = (profiler.name == "gperftools") != (row.program == "native")
    return cell + (f"{'-':>8}" if blind or not found else f"{percent(found[0][1], process_ns):+8.1f}"), None


def lacking(row):
    if row.needs == "uwsgi":
        return not os.path.exists(peers.beside_python("uwsgi"))
    return row.needs and not importlib.util.find_spec(row.needs)


def chosen(rows):
    """Those whose names hold one of the words given, and that can run here."""
    for row in rows:
        if wanted and not any(word in row.name for word in wanted):
            continue
        if lacking(row):
            print(f"  {row.name}: not run, no {row.needs} in the environment")
            continue
        yield row


def judge():
    own = peers.Ours(build)
    print(f"libpyprof at 100 Hz, Python {sys.version.split()[0]}, ticks of {time.clock_getres(6) * 1e3:.0f} ms, {os.cpu_count()} CPUs")
    print(
        "  sum: cpu_ns + before_start_ns against the kernel's getrusage. difference: what the accounting leaves over.\n"
        "  worst function: in % of its truth, and of all CPU; then the most σ of any function. Bounds: difference of\n"
        f"  {DIFFERENCE_PERCENT} % + 10 µs per thread ended; each function {FUNCTION_SIGMAS:.0f} σ and {FUNCTION_PERCENT:.0f} % of all; what runs beside\n"
        f"  work that ticks cannot see {OTHERS_PERCENT:.0f} % over its truth, and {FUNCTION_SIGMAS:.0f} σ."
    )
    print(
        f"{'':32}{'CPU s':>8}{'ended':>7}{'sum %':>8}{'diff %':>8}{'µs/thr':>8}{'uns. %':>7}{'own %':>7}{'samples':>8}"
        f"  {'worst function':16}{'% own':>8}{'% all':>8}{'σ':>7}"
    )
    for row in chosen(rows_of(seconds)):
        try:
            print(ours(own, row), flush=True)
        except RuntimeError as error:
            print(f"{row.name:32} failed: {error}", flush=True)


def compare():
    others = [peer for peer in peers.PEERS if not peer.missing()]
    print(
        "\nPeers at 100 Hz: error of the sum in %, and of the worst function in % of all CPU, against the program's clocks;\n"
        "  gperftools knows native functions only, the others those of Python."
    )
    for peer in peers.PEERS:
        if peer.missing():
            print(f"  {peer.name}: not compared, {peer.missing()}")
    print(f"{'':32}" + "".join(f"{peer.name:>18}" for peer in others))
    notes = []
    for row in chosen(rows_of(seconds / 4)):
        cells = [theirs(peer, row) for peer in others]
        print(f"{row.name:32}" + "".join(cell for cell, _ in cells), flush=True)
        notes += [note for _, note in cells if note]
    for note in notes:
        print(f"  failed: {note}")


if os.environ.get("ACCURACY_PEERS") != "only":
    judge()
if os.environ.get("ACCURACY_PEERS") != "no":
    compare()
