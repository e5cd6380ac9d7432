"""walkers.py BUILD: what a native walk, and the whole handler, cost in this interpreter, as tables; beside libunwind.

walkers.py BUILD rows: what it takes to compile the unwind rows of all functions that are loaded, one by one.
walkers.py BUILD work C PYTHON LEAF SECONDS WARM: a program with a stack of that form, to be profiled.
"""

import ctypes
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.realpath(sys.argv[1])
bench = ctypes.CDLL(os.path.join(build, "bench", "walkers.so"))
# The thread keeps the GIL, as one that executes Python code has it: the handler reads less of one that has not.
with_gil = ctypes.PyDLL(bench._name)
bench.bench_series.restype = ctypes.POINTER(ctypes.c_uint64)
bench.bench_clock.restype = ctypes.c_uint64

WALKERS = ["signal, nothing done", "ours", "ours, no rule cache", "unw_step", "unw_backtrace"]
WARM, EVICTED = 0, 1
TICKS_SECONDS = float(os.environ.get("BENCH_SECONDS", "12"))
ROUNDS = 5


def ticks_per_ns():
    clock, ns = bench.bench_clock(), time.monotonic_ns()
    time.sleep(0.2)
    return (bench.bench_clock() - clock) / (time.monotonic_ns() - ns)


def figures(ns):
    ns = sorted(ns)
    return statistics.fmean(ns), ns[len(ns) // 2], ns[min(len(ns) - 1, int(len(ns) * 0.99))]


def collect():
    """For each walker: its times in ns, and the mean number of frames that it found."""
    found = []
    for walker in range(len(WALKERS)):
        count, frames = ctypes.c_uint(), ctypes.c_uint64()
        ticks = bench.bench_series(walker, ctypes.byref(count), ctypes.byref(frames))
        found.append(([t / PER_NS for t in ticks[: count.value]], frames.value / max(count.value, 1)))
    return found


def print_table(title, rounds):
    """rounds: what collect() found, of each round; the median of the rounds counts."""
    print(f"{title:58}   frames     mean      p50      p99  samples")
    for walker, name in enumerate(WALKERS):
        each = [figures(found[walker][0]) for found in rounds]
        mean, p50, p99 = (statistics.median(f[i] for f in each) for i in range(3))
        frames = statistics.median(found[walker][1] for found in rounds)
        samples = sum(len(found[walker][0]) for found in rounds)
        print(f"  {name:56} {frames:10.1f} {mean:8.0f} {p50:8.0f} {p99:8.0f} {samples:8}", flush=True)


# A stack of some form: `c` calls that go through C, then `python` calls that do not, then the leaf.
def by_c(c, python, leaf):
    if c == 0:
        return by_python(python, leaf)
    return sorted([0], key=lambda _: by_c(c - 1, python, leaf) and 0)


def by_python(python, leaf):
    if python == 0:
        return leaf()
    return by_python(python - 1, leaf)


def python_depth():
    frame, depth = sys._getframe(1), 0
    while frame:
        frame, depth = frame.f_back, depth + 1
    return depth


def counting(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(20000):
            i & 7
    return True


WORDS = []


def words(seconds):
    """Looks words up that are all over some 25 MB."""
    counts = dict.fromkeys(WORDS, 0)
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for word in WORDS:
            counts[word] = counts.get(word, 0) + 1
    return True


def make_words():
    WORDS.extend(f"word number {i}" for i in range(150000))
    random.Random(1).shuffle(WORDS)


LEAVES = {"counting": counting, "words": words}


def native_depth(c, python):
    """Frames of the stack of that form, as a tick finds it."""
    bench.bench_start(1000)
    by_c(c, python, lambda: counting(0.1))
    bench.bench_stop()
    return collect()[WALKERS.index("ours")][1]


def form(native, python):
    """The calls that make about as many native frames, and Python frames as far as those allow it."""
    base, step = native_depth(0, 0), native_depth(1, 0) - native_depth(0, 0)
    c = max(0, round((native - base) / step))
    frames = []
    by_c(c, 0, lambda: frames.append(python_depth() + 1))
    return c, max(0, python - frames[0])


def walks():
    for depth in (5, 20, 50, 200):
        for mode, name in ((WARM, "warm, in a tight loop"), (EVICTED, "each time after 8 MB were written")):
            rounds = []
            for _ in range(ROUNDS):
                bench.bench_c(mode, 20 if mode == WARM else 60, depth)
                rounds.append(collect())
            print_table(f"native walk, ns: C, {name}", rounds)
    for depth in (20, 50, 200):
        c, _ = form(depth, 0)
        for mode, name in ((WARM, "warm, in a tight loop"), (EVICTED, "each time after 8 MB were written")):
            rounds = []
            for _ in range(ROUNDS):
                by_c(c, 0, lambda: bench.bench_here(mode, 20 if mode == WARM else 60))
                rounds.append(collect())
            print_table(f"native walk, ns: Python, {name}", rounds)


def walks_in_a_run():
    make_words()
    for depth in (20, 50):
        c, python = form(depth, 30)
        for leaf in LEAVES:
            bench.bench_start(100)
            by_c(c, python, lambda: LEAVES[leaf](TICKS_SECONDS))
            bench.bench_stop()
            print_table(f"native walk, ns: Python, {leaf}, at 100 Hz", [collect()])


def handler_in_a_run():
    print("whole handler, ns (native frames + Python frames)          mean      p50      p99  samples    lost")
    for native in (20, 50):
        c, python = form(native, 30)
        depths = []
        by_c(c, python, lambda: depths.append(python_depth() + 1))
        shape = f"{native_depth(c, python):.0f} + {depths[0]}"
        for leaf, warm in (("counting", 0), ("words", 0), ("counting", 20000)):
            with tempfile.TemporaryDirectory() as directory:
                seconds = 0.1 if warm else TICKS_SECONDS
                command = [sys.executable, __file__, build, "work", str(c), str(python), leaf, str(seconds), str(warm)]
                preload = os.path.join(build, "libpyprof.so")
                subprocess.check_call(command, env=dict(os.environ, LD_PRELOAD=preload, PYPROF_OUT=directory))
                info = json.loads(subprocess.check_output([os.path.join(build, "pyprof"), "info", "--json", directory]))
            process = info["processes"][0]
            ns = process["handler_ns"]
            what = f"{shape}, " + ("warm, in a tight loop" if warm else f"{leaf}, at 100 Hz")
            print(
                f"  {what:50} {ns['mean']:10.0f} {ns['p50']:8.0f} {ns['p99']:8.0f} {process['samples']:8}"
                f"{process['lost_samples']:8}",
                flush=True,
            )


def work(c, python, leaf, seconds, warm):
    if leaf == "words":
        make_words()
    by_c(c, python, lambda: with_gil.bench_queue(0, warm) if warm else LEAVES[leaf](seconds))


class Rows(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p)] + [
        (name, ctypes.c_uint64) for name in ("ticks", "bytes", "functions", "rows", "rules")
    ]


def rows():
    # An interpreter without one of these has fewer rows in the table.
    for name in ("hashlib", "ssl", "numpy"):
        try:
            __import__(name)
        except ImportError:
            print(f"(without {name})")
    compiled = (Rows * 512)()
    runs = []
    for _ in range(ROUNDS):
        count = bench.bench_rows(compiled, len(compiled))
        runs.append([row.ticks / PER_NS for row in compiled[:count]])
    times = [statistics.median(ns) for ns in zip(*runs)]
    found = sorted(zip(times, compiled[:count]), key=lambda pair: pair[0], reverse=True)
    print(f"unwind rows, {count} objects            ms       bytes functions      rows   rules  ns/function")
    shown = [(ns, os.path.basename(row.path.decode()), row) for ns, row in found]
    for ns, name, row in shown[:12]:
        print(
            f"  {name[:30]:30} {ns / 1e6:8.2f} {row.bytes:11} {row.functions:9} {row.rows:9} {row.rules:7}"
            f" {ns / max(row.functions, 1):12.0f}"
        )
    print(f"  {'all':30} {sum(times) / 1e6:8.2f} {sum(row.bytes for _, row in found):11}")


def all_walkers():
    walks()
    walks_in_a_run()
    handler_in_a_run()


sys.setrecursionlimit(10000)
if sys.argv[2:3] == ["work"]:
    work(int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], float(sys.argv[6]), int(sys.argv[7]))
else:
    PER_NS = ticks_per_ns()
    parts = {"rows": rows, "walks": walks, "run": walks_in_a_run, "handler": handler_in_a_run}
    parts.get("".join(sys.argv[2:3]), all_walkers)()
