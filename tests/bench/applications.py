#!/usr/bin/env python3
"""applications.py BUILD [NAME...]: what profiling costs in twelve small real programs, and how much of them it sees.

Measures and prints; judges nothing. Each line has the medians of ROUNDS (3) runs of some 5 s of CPU each, in an environment
of the program's own with what PyPI has of its packages. APPLICATIONS_PYTHON: the interpreter (the 3.12 that the tests know,
or the newest older one); PYPROF_ settings are the library's. FLOOR=1: after each run another one with floor.c in place of
the library, which costs what no profiler of this kind can do without."""

import collections
import http.client
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import applications_log

FLOOR = bool(os.environ.get("FLOOR"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SECONDS = 5  # of CPU
EARLY_NS = 2.5e9  # the flushes of the first two seconds; they come a little late
NEWEST_MINOR = 12  # all of the packages have wheels for it
CLIENTS, SERVICE_SECONDS = 8, 15
LIMIT_SECONDS = 120
here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
programs = os.path.join(here, "applications")

# rate: of a service, requests a second; the last of its words is replaced by the port.
Application = collections.namedtuple("Application", "name packages words rate", defaults=(None,))
GUNICORN = ["-m", "gunicorn", "--workers", "2", "--log-level", "error", "django_service:app", "--bind", "127.0.0.1:PORT"]
UVICORN = ["-m", "uvicorn", "--workers", "2", "--log-level", "error", "fastapi_service:app", "--port", "PORT"]

APPLICATIONS = [
    Application("pandas", "pandas", ["pandas_frames.py"]),
    Application("polars", "polars", ["polars_frames.py"]),
    Application("fastapi", "fastapi uvicorn", UVICORN, 100),
    Application("django", "django gunicorn", GUNICORN, 60),
    Application("celery", "celery", ["celery_tasks.py"]),
    Application("joblib", "joblib", ["joblib_pool.py"]),
    Application("asyncio", "", ["asyncio_executor.py"]),
    Application("starts", "", ["short_starts.py"]),
    Application("numba", "numba", ["numba_kernels.py"]),
    Application("sklearn", "scikit-learn", ["sklearn_boosting.py"]),
    Application("sympy", "sympy", ["sympy_integrals.py"]),
    Application("gevent", "gevent", ["gevent_service.py", "PORT"], 100),
]


def interpreter():
    if os.environ.get("APPLICATIONS_PYTHON"):
        return os.environ["APPLICATIONS_PYTHON"]
    listed = subprocess.check_output(["bash", "-c", ". tests/bats/lib/pythons.sh && list_pythons"], cwd=root, text=True)
    versions = [(line.split()[1].split("."), line.split()[0]) for line in listed.splitlines()]
    return max((int(minor) <= NEWEST_MINOR, int(minor), path) for (_, minor, *_), path in versions)[2]


def environment_of(application, build, python):
    """Its interpreter."""
    if not application.packages:
        return python
    made = subprocess.run(
        [os.path.join(root, "tests", "venv.sh"), os.path.join(build, "venv", f"application-{application.name}"), python]
        + application.packages.split(),
        env={**os.environ, "PIP_ONLY_BINARY": ":all:"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if made.returncode:
        raise RuntimeError(made.stderr.strip().splitlines()[-1])
    return os.path.join(made.stdout.strip(), "bin", "python")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def client(port, number, rate, end):
    """Asks for three pages at random, at random intervals, and keeps its connection."""
    chance, connection = random.Random(number), http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    due = time.monotonic()
    while due < end:
        time.sleep(max(0, due - time.monotonic()))
        try:
            connection.request("GET", chance.choice(("/a", "/b", "/c")))
            connection.getresponse().read()
        except (http.client.RemoteDisconnected, ConnectionError):  # it closes what is idle for long
            connection.close()
        due = max(due + chance.uniform(0.5, 1.5) * CLIENTS / rate, time.monotonic())


def ask(process, port, rate):
    until = time.monotonic() + 60
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/a")
            connection.getresponse().read()
            break
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the service does not answer") from None
            time.sleep(0.1)
    end = time.monotonic() + SERVICE_SECONDS
    clients = [threading.Thread(target=client, args=(port, number, rate, end)) for number in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    process.send_signal(signal.SIGINT)


def run(application, python, library, directory):
    """Leaves a profile in the directory."""
    port = free_port()
    words = [word.replace("PORT", str(port)) for word in application.words]
    if words[0].endswith(".py"):
        words[0] = os.path.join(programs, words[0])
    if application.rate is None:
        words.append(str(SECONDS))
    out = os.path.join(directory, "profile")
    environment = {**os.environ, "LD_PRELOAD": library, "PYPROF_OUT": out, "PYTHONPATH": programs}
    environment["TMPDIR"] = directory
    environment["FLOOR_OUT"] = os.path.join(directory, "floor.txt")
    with open(os.path.join(directory, "output.txt"), "w+") as output:
        process = subprocess.Popen([python, *words], env=environment, stdout=output, stderr=output, cwd=directory)
        try:
            if application.rate:
                ask(process, port, application.rate)
            process.wait(LIMIT_SECONDS)
        except BaseException:
            process.kill()
            process.wait()
            raise
        output.seek(0)
        text = output.read().strip().splitlines()
    if process.returncode not in (0, 1 if application.rate else 0, -signal.SIGINT if application.rate else 0):
        raise RuntimeError(f"status {process.returncode}: {text[-1] if text else ''}")
    return out


def figures(build, out):
    """What a line shows, of one run."""

    def percent(ns):
        return 100.0 * ns / cpu

    told = json.loads(subprocess.check_output([os.path.join(build, "pyprof"), "info", "--json", out]))
    total, cpu = told["total"], told["total"]["cpu_ns"]
    handlers = early = own = met = 0
    logged = applications_log.processes(out)
    for process in logged:
        last = process["sums"][-1]
        within = [sums for sums in process["sums"] if sums["wall_ns"] <= EARLY_NS] or [process["sums"][0]]
        handlers += last["handler_ns"]
        own += last["own_ns"]
        early += within[-1]["own_ns"] - within[-1]["handler_ns"]
        met += any("PYPROF_MAX_OVERHEAD" in text for text in process["notices"])
    return {
        "cpu": cpu / 1e9,
        "processes": len(told["processes"]),
        "own": percent(own),
        "handlers": percent(handlers),
        "early": percent(early),
        "after": percent(own - handlers - early),
        "unsampled": percent(total["unsampled_ns"]),
        "estimated": percent(total["estimated_ns"]),
        "taken": total["samples"] * 1e9 / cpu,
        "limited": met,
        "handler_us": total["handler_ns"]["mean"] / 1e3,
        "clocks": sorted({process["clock"] for process in told["processes"]}),
    }


def floor(application, python, build):
    """What floor.c costs, in %."""
    with tempfile.TemporaryDirectory() as directory:
        run(application, python, os.path.join(build, "bench", "floor.so"), directory)
        with open(os.path.join(directory, "floor.txt")) as file:
            processes = {line.split()[0]: line.split()[1:] for line in file}  # the last line of each
    cpu, own = (sum(int(told[i]) for told in processes.values()) for i in (0, 1))
    return 100.0 * own / cpu


def line(application, python, build):
    rounds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as directory:
            rounds.append(figures(build, run(application, python, os.path.join(build, "libpyprof.so"), directory)))
        rounds[-1]["floor"] = floor(application, python, build) if FLOOR else 0
    value = {key: statistics.median(each[key] for each in rounds) for key in rounds[0] if key != "clocks"}
    floors = f"{value['floor']:8.2f}" if FLOOR else ""
    clocks = sorted({clock for each in rounds for clock in each["clocks"]})
    return (
        f"{application.name:9}{value['cpu']:7.2f}{value['processes']:6.0f}{value['own']:8.2f}{value['handlers']:10.2f}"
        f"{value['early']:8.2f}{value['after']:7.2f}{value['unsampled']:13.2f}{value['estimated']:11.2f}{value['taken']:9.0f}"
        f"{value['handler_us']:9.0f}{value['limited']:9.0f}{floors}  {', '.join(clocks)}"
    )


def main():
    build, names = os.path.realpath(sys.argv[1]), sys.argv[2:]
    unknown = set(names) - {application.name for application in APPLICATIONS}
    if unknown:
        sys.exit(f"no application {', '.join(sorted(unknown))}; there are {' '.join(a.name for a in APPLICATIONS)}")
    python = interpreter()
    due = float(os.environ.get("PYPROF_HZ", "100"))
    print(f"twelve applications, {python}, medians of {ROUNDS}; own cost in % of the CPU: handlers, our thread in the first")
    print(f"  2 s of each process, and after; samples taken of each CPU second ({due:.0f} are due); processes that met the limit of cost")
    print("            CPU s procs   own %  handlers   first  after  [unsampled] %  estimated  taken  handler us  limited" + "   floor" * FLOOR + "  clock")
    for application in APPLICATIONS:
        if names and application.name not in names:
            continue
        try:
            print(line(application, environment_of(application, build, python), build), flush=True)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"{application.name:9} failed: {error}", flush=True)


if __name__ == "__main__":
    main()
