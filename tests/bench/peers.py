"""The profilers that tests/bench/accuracy.py compares: how each is started, and what it says.

A profiler's `command` makes of a program's command and a directory the command and the environment to run instead; its
`read` gives [(names of the frames root first, ns)] of what it left in the directory. At 100 Hz, counting CPU time where it
can be told to."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "oracles"))
from wire import message, packed

PERIOD_NS = 10_000_000
LIBPROFILER = [
    path
    for directory in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
    for path in sorted(glob.glob(f"{directory}/libprofiler.so*"))
]
GOOGLE_PPROF = shutil.which("google-pprof") or shutil.which("pprof-symbolize")


def beside_python(name):
    return os.path.join(os.path.dirname(sys.executable), name)


def bare_name(frame):
    """What a function is called, of "package.f (file.py:3)", "f<00000000000fab70>", "f[inline]" or "f"."""
    return re.split(r"(?<=.)[ (:<\[]", frame, maxsplit=1)[0].rpartition(".")[2]


def collapsed(lines, unit_ns):
    for line in lines:
        stack, _, weight = line.rstrip("\n").rpartition(" ")
        if stack and weight.isdigit():
            yield stack.split(";"), int(weight) * unit_ns


class PySpy:
    name = "py-spy"

    def missing(self):
        return None if os.path.exists(beside_python("py-spy")) else "no py-spy in the environment"

    def command(self, command, directory):
        out = os.path.join(directory, "py-spy.txt")
        record = ["record", "-r", "100", "-f", "raw", "-o", out, "--subprocesses", "--"]
        return [beside_python("py-spy"), *record, *command], {}

    def read(self, directory):
        with open(os.path.join(directory, "py-spy.txt")) as file:
            return [([bare_name(f) for f in stack], ns) for stack, ns in collapsed(file, PERIOD_NS)]


class Austin:
    """Version 3; the wheels of version 4 need a newer glibc."""

    name = "austin"

    def missing(self):
        try:
            subprocess.run([beside_python("austin"), "--version"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"austin does not run here ({type(error).__name__})"
        return None

    def command(self, command, directory):
        out = os.path.join(directory, "austin.txt")
        return [beside_python("austin"), "-s", "-C", "-i", "10ms", "-o", out, *command], {}

    def read(self, directory):
        with open(os.path.join(directory, "austin.txt")) as file:
            lines = [line for line in file if not line.startswith("#")]
        # file.py:function:line
        return [([f.split(":")[1] for f in stack if f.count(":") >= 2], ns) for stack, ns in collapsed(lines, 1000)]


class Gperftools:
    """Native frames only: of a Python function it knows nothing."""

    name = "gperftools"

    def missing(self):
        if not LIBPROFILER:
            return "no libprofiler.so"
        return None if GOOGLE_PPROF else "no google-pprof"

    def command(self, command, directory):
        out = os.path.join(directory, "gperftools.prof")
        return command, {"LD_PRELOAD": LIBPROFILER[0], "CPUPROFILE": out, "CPUPROFILE_FREQUENCY": "100"}

    def read(self, directory):
        found = []
        for path in glob.glob(os.path.join(directory, "gperftools.prof*")):
            command = [GOOGLE_PPROF, "--collapsed", os.path.realpath(sys.executable), path]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found += [([bare_name(f) for f in stack], ns) for stack, ns in collapsed(text.splitlines(), PERIOD_NS)]
        return found


class Ddtrace:
    name = "ddtrace"

    def missing(self):
        if not os.path.exists(beside_python("ddtrace-run")):
            return "no ddtrace in the environment"
        return None if shutil.which("zstd") else "no zstd to read what ddtrace writes"

    def command(self, command, directory):
        settings = {
            "DD_PROFILING_ENABLED": "true",
            "DD_PROFILING_OUTPUT_PPROF": os.path.join(directory, "dd"),
            "DD_PROFILING_MEMORY_ENABLED": "false",
            "DD_PROFILING_HEAP_ENABLED": "false",
            "DD_PROFILING_LOCK_ENABLED": "false",
            "DD_TRACE_ENABLED": "false",
            # Where gevent is installed it would see no threads of Python otherwise.
            "DD_UNLOAD_MODULES_FROM_SITECUSTOMIZE": "false",
            "DD_CRASHTRACKING_ENABLED": "false",
            "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
        }
        return [beside_python("ddtrace-run"), *command], settings

    def read(self, directory):
        found = []
        for path in glob.glob(os.path.join(directory, "dd.*.pprof")):
            found += pprof_stacks(subprocess.check_output(["zstd", "-dcq", path]), "cpu-time")
        return found


class Googlecloudprofiler:
    """Writes to Google's service only: the sums could not be read. Here so that it is named."""

    name = "googlecloudprofiler"

    def missing(self):
        return "not installed: the package index has no version for this Python"


class Ours:
    name = "libpyprof"

    def __init__(self, build):
        self.library = os.path.join(build, "libpyprof.so")
        self.pyprof = os.path.join(build, "pyprof")

    def missing(self):
        return None

    def command(self, command, directory):
        return command, {"LD_PRELOAD": self.library, "PYPROF_OUT": os.path.join(directory, "pyprof.out")}

    def read(self, directory, *options):
        export = [self.pyprof, "export", "--format", "collapsed", "--unit", "ns", "--native=all", *options]
        text = subprocess.check_output([*export, os.path.join(directory, "pyprof.out")], text=True)
        return [([bare_name(f) if not options else f for f in stack], ns) for stack, ns in collapsed(text.splitlines(), 1)]

    def info(self, directory):
        return json.loads(subprocess.check_output([self.pyprof, "info", "--json", os.path.join(directory, "pyprof.out")]))


PEERS = [PySpy(), Austin(), Gperftools(), Ddtrace(), Googlecloudprofiler()]


def pprof_stacks(data, kind):
    """[(names root first, value of the sample type)] of a profile.proto."""
    parts = {}
    for number, value in message(data):
        parts.setdefault(number, []).append(value)
    strings = [s.decode() for s in parts[6]]
    column = [strings[dict(message(t))[1]] for t in parts[1]].index(kind)
    functions = {f[1]: strings[f.get(2, 0)] for f in (dict(message(f)) for f in parts.get(5, []))}
    locations = {}
    for location in parts.get(4, []):
        both = list(message(location))
        lines = [dict(message(value)) for number, value in both if number == 4]
        locations[dict(both)[1]] = [functions.get(line.get(1), "") for line in lines]
    for sample in parts.get(2, []):
        both = list(message(sample))
        stack = packed([value for number, value in both if number == 1])
        values = packed([value for number, value in both if number == 2])
        names = [bare_name(name) for place in reversed(stack) for name in reversed(locations.get(place, []))]
        yield names, values[column]
