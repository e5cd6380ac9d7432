"""overhead.py BUILD PAIRS: what libpyprof and its peers cost at 100 Hz, in pairs of a run without and a run with.

The runs of a pair follow each other, in an order that changes from pair to pair, and all profilers take turns, so that a
change of the machine's speed meets all. Medians, and the middle half. The interpreter is the one that runs this."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import peers
import serving

build, pairs = os.path.realpath(sys.argv[1]), int(sys.argv[2])
WORKLOADS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "workloads")
MILLIONS = "100"  # of steps: some 3 s
LOAD_SECONDS = 3
CONNECTIONS = 4


class Nothing:
    name = "without"

    def command(self, command, directory):
        return command, {}


def launch(profiler, command, directory, **settings):
    command, more = profiler.command(command, directory)
    with open(os.path.join(directory, "output.txt"), "w") as output:
        return subprocess.Popen(command, env={**os.environ, **settings, **more}, stdout=output, stderr=output)


def reap(process):
    """CPU seconds of the process and its children."""
    _, process.returncode, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


def own_percent(profiler, directory):
    if not isinstance(profiler, peers.Ours):
        return {}
    info = profiler.info(directory)["total"]
    return {"own %": 100 * info["own_ns"] / info["cpu_ns"]}


def cpu_bound(profiler, directory):
    since = time.perf_counter()
    process = launch(profiler, [sys.executable, os.path.join(WORKLOADS, "depth.py"), "python", "20", MILLIONS], directory)
    cpu = reap(process)
    if process.returncode != 0:
        raise RuntimeError(f"{profiler.name}: status {process.returncode}")
    return {"CPU s": cpu, "wall s": time.perf_counter() - since, **own_percent(profiler, directory)}


def seconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def gunicorn_under_wrk(profiler, directory):
    """One worker, a page that costs little: what a profiler costs shows there the most."""
    port = serving.free_port()
    server = [peers.beside_python("gunicorn"), "-w", "1", "-b", f"127.0.0.1:{port}", "overhead_wsgi:app"]
    process = launch(profiler, server, directory, PYTHONPATH=WORKLOADS)
    try:
        pid = int(serving.wait_for(port, process))
        url = f"http://127.0.0.1:{port}/"
        wrk = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{LOAD_SECONDS}s", "--latency", url]
        text = subprocess.run(wrk, capture_output=True, text=True, check=True).stdout
        with open(f"/proc/{pid}/stat") as stat:
            ticks = stat.read().rpartition(")")[2].split()[11:13]
        with open(f"/proc/{pid}/status") as status:
            master = int(re.search(r"PPid:\s*(\d+)", status.read())[1])
        os.kill(master, signal.SIGTERM)
    except BaseException:
        process.kill()
        raise
    finally:
        reap(process)
    requests = int(re.search(r"(\d+) requests in", text)[1])
    cpu = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return {
        "requests/s": float(re.search(r"Requests/sec:\s*([\d.]+)", text)[1]),
        "p99 ms": 1e3 * seconds(re.search(r"99%\s+(\S+)", text)[1]),
        "CPU µs/request": 1e6 * cpu / requests,
        **own_percent(profiler, directory),
    }


def spread(values, signed=False):
    quarters = statistics.quantiles(values, n=4)
    sign = "+" if signed else ""
    return f"{statistics.median(values):{sign}9.2f} ({quarters[0]:{sign}.2f} to {quarters[2]:{sign}.2f})"


def measured(run, profiler):
    with tempfile.TemporaryDirectory() as directory:
        return run(profiler, directory)


def compare(what, run, profilers):
    print(f"{what}, {pairs} pairs each: median (middle half)", flush=True)
    plain, changes, own, failed = {}, {}, {}, {}
    for pair in range(pairs):
        for profiler in profilers:
            if profiler.name in failed:
                continue
            both = [Nothing(), profiler]
            try:
                results = {p.name: measured(run, p) for p in (both if pair % 2 else reversed(both))}
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                failed[profiler.name] = error
                continue
            for key, value in results["without"].items():
                plain.setdefault(key, []).append(value)
                change = 100 * (results[profiler.name][key] / value - 1)
                changes.setdefault((profiler.name, key), []).append(change)
            for key in results[profiler.name].keys() - results["without"].keys():
                own.setdefault(key, []).append(results[profiler.name][key])
    for key, values in plain.items():
        print(f"  {key:16} without {spread(values)}")
        for profiler in profilers:
            if profiler.name not in failed and len(changes.get((profiler.name, key), [])) > 1:
                print(f"    {profiler.name:14} {spread(changes[profiler.name, key], signed=True)} %")
    for key, values in own.items():
        print(f"  libpyprof's {key} (own_ns / cpu_ns) {spread(values)}")
    for name, error in failed.items():
        print(f"  {name}: failed: {error}")


def main():
    profilers = [peers.Ours(build)]
    if os.environ.get("ACCURACY_PEERS") != "no":
        profilers += [peer for peer in peers.PEERS if not peer.missing()]
    compare("CPU-bound program", cpu_bound, profilers)
    if not shutil.which("wrk") or not os.path.exists(peers.beside_python("gunicorn")):
        print("gunicorn: not measured, no wrk or no gunicorn here")
        return
    compare("gunicorn -w 1 under wrk", gunicorn_under_wrk, profilers)


main()
