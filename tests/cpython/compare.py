#!/usr/bin/env python3
"""CPython's own tests, without the library and under it: the outcomes must be the same, test by test.

    compare.py --library LIBPYPROF --python PYTHON [--match REGEX] [--work DIRECTORY] [--known-are-needed] MODULE...

Prints TAP, one line for each module. A test that comes out differently is tried again, up to 3 times both ways: it is a
difference unless some outcome was seen both ways, and it is named anyway. A crash or a word of ours under the library is a
difference unless it was seen without it; a hang, or a process that is left behind, may be a slow machine's. What has to be different is in KNOWN, with the reason.
"""

import argparse
import collections
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRIES = 3
RESTARTS = 5  # of a module after a test that kills its process
GRACE_S = 30  # for what a module leaves behind
TEXT_LINES = 25
PR_SET_CHILD_SUBREAPER = 36
NEVER_CHANCE = ("crash", "not quiet")

# (regular expression for MODULE.CLASS.TEST, versions, reason)
KNOWN = [(r"test_subprocess\..*\.test_vfork_used_when_expected", "3.14 3.15", "skips itself when LD_PRELOAD is set, whatever it names")]


def as_from_a_terminal():
    """A shell's background jobs ignore SIGINT, nohup's SIGHUP, and both are inherited."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def command_of(pid):
    """Empty for a zombie."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()[:200]
    except OSError:
        return ""


def reap(grace=GRACE_S):
    """What a run leaves behind has become our child: it may end by itself, else it is killed. Returns the killed ones."""
    deadline = time.monotonic() + grace
    killed = []
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return killed
        if time.monotonic() > deadline:
            for pid in children():
                killed += filter(None, [command_of(pid)])
                os.kill(pid, signal.SIGKILL)  # not reaped yet: it cannot be another process
        time.sleep(0.02)


class Interpreter:
    def __init__(self, options):
        self.options = options
        self.version = self.ask("import sys; print('%d.%d' % sys.version_info[:2])")
        self.runs = 0
        self.profiled = False

    def ask(self, code, *arguments):
        command = [self.options.python, "-c", code, *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()

    def place(self, module):
        """Where its tests come from: "" is its own library, None is nowhere. 3.11 and 3.12 forget to install packages of
        their tests that were modules before: those of 3.10 do as well."""
        code = "import importlib.util, sys; print(*map(importlib.util.find_spec, sys.argv[1:]))"
        if self.ask(code, "test") == "None":
            return None
        if self.ask(code, "test." + module) != "None":
            return ""
        minor = int(self.version.split(".")[1])
        root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
        for earlier in range(minor - 1, 9, -1):
            for path in glob.glob(f"{root}/versions/3.{earlier}.*/lib/python3.{earlier}/test/{module}.py"):
                return os.path.dirname(path)
        return None

    def run(self, module, place, preload, only):
        """One process. Returns its lines (see record.py), its status or "hang", what it left behind and what we said."""
        self.runs += 1
        work = os.path.join(self.options.work, f"{module}.{self.runs}.{'with' if preload else 'without'}")
        shutil.rmtree(work, ignore_errors=True)
        for name in ("cwd", "tmp"):
            os.makedirs(os.path.join(work, name))
        # The two runs differ by LD_PRELOAD and nothing else.
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYPROF_", "LD_PRELOAD"))
        }
        environment.update(TMPDIR=work + "/tmp", PYPROF_OUT=work + "/pyprof.out", PYPROF_HZ="250")
        if preload:
            environment["LD_PRELOAD"] = os.path.abspath(self.options.library)
        command = [self.options.python, os.path.join(HERE, "record.py"), module, work + "/results"]
        if place:
            command += ["--borrow", place]
        if self.options.match:
            command += ["--match", self.options.match]
        if only is not None:
            with open(work + "/only", "w") as file:
                file.write("\n".join(only))
            command += ["--only", work + "/only"]
        with open(work + "/output", "wb") as output:
            process = subprocess.Popen(
                command,
                cwd=work + "/cwd",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=as_from_a_terminal,
            )
            try:
                status = process.wait(self.options.timeout)
            except subprocess.TimeoutExpired:
                status = "hang"
                process.send_signal(signal.SIGABRT)  # faulthandler writes where
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        left = reap()
        with open(work + "/output", errors="replace") as output:
            # Some tests become another user, who may not write here.
            said = [line for line in output if line.startswith("pyprof:") and "cannot write profile" not in line]
        self.profiled |= preload and bool(glob.glob(work + "/pyprof.out/*.pyprof"))
        lines = []
        if os.path.exists(work + "/results"):
            with open(work + "/results") as file:
                lines = [json.loads(line) for line in file]
        for name in ("cwd", "tmp", "pyprof.out"):
            shutil.rmtree(os.path.join(work, name), ignore_errors=True)
        return lines, status, left, said

    def outcomes(self, module, place, preload, only=None, everything=()):
        """{test: outcome} and {test: text}. Where a process dies, another one runs what comes after it."""
        found, texts = {}, {}
        for _ in range(RESTARTS):
            lines, status, left, said = self.run(module, place, preload, only)
            started, ended = None, False
            for outcome, test, *rest in lines:
                if outcome == "start":
                    started = test
                elif outcome == "end":
                    ended = True
                elif found.get(test, "ok").startswith("ok"):
                    found[test], texts[test] = outcome, rest[0]
            if said:
                found[module + ", output"] = "not quiet"
                texts[module + ", output"] = "".join(said)
            if left:
                found[module + ", processes"] = "left behind"
                texts[module + ", processes"] = "\n".join(left)
            if ended and status == 0:
                break
            where = started if started and started not in found else module + ", process"
            found[where] = "hang" if status == "hang" else f"crash, status {status}"
            only = [test for test in only or everything if test not in found]
            if ended or not only:
                break
        return found, texts


def compare(interpreter, module, place):
    """Prints the result; returns whether it is good, and the entries of KNOWN that were needed."""
    version = interpreter.version
    started = time.monotonic()
    without, texts_without = interpreter.outcomes(module, place, False)
    between = time.monotonic()
    under, texts_under = interpreter.outcomes(module, place, True, everything=list(without))
    seconds = f"{between - started:.0f} s without, {time.monotonic() - between:.0f} s with"
    known, seen = {}, {}
    for test in {**without, **under}:
        pair = without.get(test, "not run"), under.get(test, "not run")
        # whether a thread of its own has gone by then is chance
        if pair[0] == pair[1] or pair == ("ok, warned of fork", "ok"):
            continue
        entry = next((e for e in KNOWN if version in e[1].split() and re.search(e[0], test)), None)
        if entry:
            known[test] = entry
        else:
            seen[test] = {pair[0]}, {pair[1]}
    for _ in range(TRIES):
        again = [test for test, (a, b) in seen.items() if not a & b]
        if not again:
            break
        # What is no test but a class, a module or a process comes with the whole module.
        only = None if any(re.search("[ (,]", test) for test in again) else again
        for index, texts in ((0, texts_without), (1, texts_under)):
            found, more = interpreter.outcomes(module, place, bool(index), only, again)
            for test in again:
                seen[test][index].add(found.get(test, "not run"))
                if more.get(test):
                    texts[test] = more[test]
    unloaded = [test for test in without if "_FailedTest" in test]
    good, notes = bool(without) and not unloaded, []
    for test in unloaded:
        notes += [f"cannot be loaded: {test}", *texts_without[test].strip().split("\n")]
    for test, (a, b) in seen.items():
        bad = not a & b or any(outcome.startswith(NEVER_CHANCE) for outcome in b - a)
        good &= not bad
        notes.append(f"{'DIFFERENT' if bad else 'by chance'}: {test}: without {sorted(a)}, with {sorted(b)}")
        for way, texts in (("without", texts_without), ("with", texts_under)):
            notes += [f"  {way}: {line}" for line in texts.get(test, "").strip().split("\n")[-TEXT_LINES:] if line]
    notes += [f"known: {test}: {entry[2]}" for test, entry in known.items()]
    counts = collections.Counter(re.split("[:,]", outcome)[0] for outcome in without.values())
    text = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()) or "no test ran"
    print(f"{'ok' if good else 'not ok'} - {module} on {version}: {text}; {seconds}")
    for note in notes:
        print("# " + note)
    sys.stdout.flush()
    return good, set(known.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--match", help="only tests whose MODULE.CLASS.TEST matches")
    parser.add_argument("--work", default="cpython_tests")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one module")
    parser.add_argument("--known-are-needed", action="store_true", help="what is in KNOWN must still be different")
    parser.add_argument("modules", nargs="+", metavar="MODULE")
    options = parser.parse_args()
    options.work, options.python = os.path.abspath(options.work), os.path.abspath(shutil.which(options.python))
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    interpreter = Interpreter(options)
    all_good, needed = True, set()
    try:
        for module in options.modules:
            place = interpreter.place(module)
            if place is None:
                print(f"ok - {module} on {interpreter.version} # SKIP not installed", flush=True)
                continue
            good, entries = compare(interpreter, module, place)
            all_good &= good
            needed |= entries
    finally:
        reap(0)
    if not interpreter.profiled:
        print("not ok - nothing was profiled")
        all_good = False
    for entry in KNOWN if options.known_are_needed else ():
        here = interpreter.version in entry[1].split() and any(module in entry[0] for module in options.modules)
        if here and entry not in needed:
            print(f"not ok - on {interpreter.version} no longer different: {entry[0]}")
            all_good = False
    sys.exit(not all_good)


if __name__ == "__main__":
    main()
