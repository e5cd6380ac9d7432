"""What is tested on a kernel of AArch64, by its own Python: guest_arm64.py BUILD PART... Speaks TAP; tests/guest_arm64.sh boots the guest
and builds what is run here."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKLOADS = os.path.join(TESTS, "workloads")
BUILD = os.path.join(os.path.abspath(sys.argv[1]), "guest-arm64")
PYPROF, LIBRARY = (os.path.join(os.path.abspath(sys.argv[1]), "aarch64/wheel/linux", name) for name in ("pyprof", "libpyprof.so"))
ENVIRONMENT = {"PYPROF_OUT": "out", "LD_PRELOAD": LIBRARY, "PYPROF_HZ": "250", "PYPROF_MAX_OVERHEAD": "100"}
failed = False


def result(good, name, *why):
    global failed
    failed |= not good
    for line in why if not good else ():
        print("#", str(line).strip().replace("\n", "\n# ")[-3000:])
    print("ok" if good else "not ok", "-", name, flush=True)
    return good


def run(*command, seconds=400, **environment):
    """(status, output) of a command that the environment is added for."""
    try:
        done = subprocess.run(command, timeout=seconds, env={**os.environ, **environment}, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as error:
        return 124, (error.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout


def profiled(*arguments, **environment):
    shutil.rmtree("out", ignore_errors=True)
    status, output = run(sys.executable, *arguments, **{**ENVIRONMENT, **environment})
    return status == 0, output


def told(*arguments):
    status, output = run(PYPROF, *arguments, "out")
    assert status == 0, output
    return output


def information():
    with open("info.json", "w") as file:
        file.write(told("info", "--json"))
    with open("info.json") as file:
        return json.load(file)


def judge(name, *arguments):
    """By what the tests of behaviour judge by."""
    status, output = run(sys.executable, os.path.join(TESTS, "bats/lib/read.py"), *arguments)
    return result(status == 0, name, output)


def stacks(*options):
    lines = told("export", "--format", "collapsed", *options).splitlines()
    return [(stack, int(count)) for stack, _, count in (line.rpartition(" ") for line in lines)]


def units():
    without_compiler = re.compile(  # they compile what they read
        "not ok .* test_(changing_file|unlinked_object|one_far_away|two_sections|without_build_id)$")
    directory = os.path.join(BUILD, "unit")
    for name in sorted(os.listdir(directory)):
        if re.fullmatch(r"test_\w+", name):
            for _ in range(2):  # an emulated processor may be too slow for what a test waits for
                status, output = run(os.path.join(directory, name), CMOCKA_MESSAGE_OUTPUT="TAP")
                if not status:
                    break
            tests = [test for test in re.findall(r"^(?:not )?ok .*", output, re.M) if not without_compiler.match(test)
                     and "# SKIP" not in test]
            for test in tests:
                print(re.sub(r"^((?:not )?ok) \d+ - ", rf"\1 - {name}: ", test), flush=True)
            if status and not tests:
                result(False, name, f"status {status}", output)
            elif status:
                result(not any(test.startswith("not") for test in tests), f"{name}: as a whole", output)


def measured(program, *arguments):
    """The sums close, hold all that the processes used, and each function has its share."""
    shutil.rmtree("truth", ignore_errors=True)
    os.mkdir("truth")
    name = " ".join((program,) + arguments)
    good, output = profiled(os.path.join(WORKLOADS, f"measured_{program}.py"), "truth", *arguments)
    if not result(good, f"{name}: runs", output):
        return
    info = information()
    judge(f"{name}: accounting closes to 0.1 %", "accounting", "info.json")
    judge(f"{name}: all CPU time is there", "cpu_used", "truth", "info.json")
    if program != "threads":
        return  # what runs for less than a second misses ticks on a busy machine
    functions = {}
    for path in os.listdir("truth"):
        with open(os.path.join("truth", path)) as file:
            for function, ns in json.load(file)["functions"].items():
                functions[function] = functions.get(function, 0) + ns
    all_stacks = stacks()
    found = {f: sum(ns for stack, ns in all_stacks if re.search(rf"\b{f} \(", stack)) for f in functions}
    samples, whole = info["total"]["samples"], sum(functions.values())
    wrong = []
    for function, ns in functions.items():
        share = ns / whole
        sigma = math.sqrt(share * (1 - share) / max(samples, 1))
        if abs(found[function] / max(sum(found.values()), 1) - share) > 3 * sigma:
            wrong.append(f"{function}: {found[function]} ns, {ns} used, of {whole}; sigma {sigma:.4f} of the whole")
    result(samples > 20 and not wrong, f"{name}: each function's share within 3 sigma, of {samples} samples", *wrong)
    print(f"# clock: {info['processes'][0].get('clock')}")


CHILDREN = """
import os, subprocess, sys
def spin(seconds):
    import time
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(100))
def in_child(): spin(0.5)
if sys.argv[1:] == ["again"]:
    def in_image(): spin(0.5)
    in_image()
else:
    if os.fork() == 0:
        in_child()
        os._exit(0)
    assert os.wait()[1] == 0
    subprocess.run([sys.executable, __file__, "again"], check=True)
    os.execv(sys.executable, [sys.executable, __file__, "again"])
"""

SIGNALS = """
import ctypes, signal, sys, time
def in_handler(*_):
    end = time.process_time() + 0.004
    while time.process_time() < end: sum(range(100))
def work():
    end = time.process_time() + 1.5
    while time.process_time() < end: sorted(range(1000), key=lambda n: -n)
signal.signal(signal.SIGALRM, in_handler)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
work()
signal.setitimer(signal.ITIMER_REAL, 0)
library = ctypes.CDLL(sys.argv[1])
library.work_with_handler(ctypes.c_double(1.0))
"""


def profile():
    measured("threads", "busy", "8", "3")
    measured("forks", "2", "0.3")
    for kind in "loop", "spawner", "pool", "chain":
        status, output = run(sys.executable, os.path.join(WORKLOADS, "billed.py"), PYPROF, kind)
        result(status == 0, f"what the kernel bills is in the profile: {kind}", output)
    with open("children.py", "w") as file:
        file.write(CHILDREN)
    good, output = profiled("children.py")
    result(good, "fork and exec: runs", output)
    names = stacks()
    missing = [name for name in ("in_child", "in_image") if not any(f"{name} (" in stack for stack, _ in names)]
    processes = {process["pid"] for process in information()["processes"]}
    result(not missing and len(processes) == 3, "fork and exec: the profile follows", names[:20], processes, missing)
    with open("signals.py", "w") as file:
        file.write(SIGNALS)
    good, output = profiled("signals.py", os.path.join(BUILD, "handler.so"))
    result(good, "handlers of signals: runs", output)
    names = stacks("--native=all")
    handler = [(stack, ns) for stack, ns in names if re.search(r"\bin_handler \(", stack)]
    result(handler and all("work (" in stack for stack, _ in handler), "a Python handler is in what it interrupted", names[:5])
    handler = [(stack, ns) for stack, ns in names if "in_c_handler" in stack]
    whole = [ns for stack, ns in handler if re.search(r"<module> .*;work_with_handler .*in_c_handler", stack)]
    # A frame with vectors of 256 bytes takes as much as is copied of a stack whose functions have not been met.
    early = [ns for stack, ns in handler if "no unwind rows yet" in stack]
    result(whole and len(whole) + len(early) == len(handler) and sum(early) < sum(whole) / 4,
           "a C handler is above the signal's frame and what it interrupted", handler[:5])
    good, output = profiled("-c", "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).interrupted(200, 0))",
                            os.path.join(BUILD, "interrupted.so"), PYPROF_HZ="1000")
    kernel = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    # Older kernels of AArch64 send the signal from the interrupt (libpyprof(7)): 36 of 2,400 calls on 5.10.
    most = 0 if kernel >= (6, 1) else 120
    ended = int((output.split() or ["-1"])[-1]) if good else -1
    result(0 <= ended <= most, f"{ended} calls end with EINTR, {most} at most", output)
    program = os.path.join(WORKLOADS, "spin.py")
    for filter in "docker", "old", "4.18":
        shutil.rmtree("out", ignore_errors=True)
        status, output = run(os.path.join(BUILD, "filtered"), filter, sys.executable, program, "1", **ENVIRONMENT)
        if result(status == 0 and os.path.isdir("out"), f"under the filter {filter}: runs, with a profile", output):
            info = information()
            judge(f"under the filter {filter}: accounting closes", "accounting", "info.json")
            result(any("spin.py" in stack for stack, _ in stacks()), f"under the filter {filter}: Python stacks", stacks(), info)
    good, output = profiled(program, "1", PYPROF_CLOCK="tick")
    information()
    result(good, "by timers alone: runs", output)
    judge("by timers alone: accounting closes", "accounting", "info.json")
    shutil.rmtree("out", ignore_errors=True)
    profiled(program, "1")
    run(PYPROF, "export", "--format", "firefox", "-o", "firefox.json", "out")
    with open("firefox.json") as file:
        result({lib["arch"] for lib in json.load(file)["libs"]} == {"aarch64"}, "the firefox export names the processor")
    _, output = run(PYPROF, "doctor")
    print("# " + output.strip().replace("\n", "\n# "))


def servers():
    """uWSGI before its forks, of two processes and two threads; a process that is killed; descriptors of the program."""
    prefix = os.path.dirname(os.path.dirname(sys.executable))
    shutil.rmtree("out", ignore_errors=True)
    server = subprocess.Popen([os.path.join(prefix, "bin/uwsgi-core"), "--plugins-dir", os.path.join(prefix, "lib/uwsgi/plugins"),
                               "--plugin", "python311", "--pyhome", prefix, "--master", "--processes", "2", "--threads", "2",
                               "--http-socket", "127.0.0.1:9000", "--wsgi-file", os.path.join(WORKLOADS, "wsgi_app.py"),
                               "--callable", "app"], env={**os.environ, **ENVIRONMENT}, stderr=subprocess.DEVNULL)
    status, pids = run(sys.executable, os.path.join(WORKLOADS, "client.py"), "9000", "2")
    server.send_signal(signal.SIGINT)
    result(server.wait(60) == 0 and status == 0, "uWSGI: serves by two processes, and ends", pids)
    of_pid = {process["pid"]: process for process in information()["processes"]}
    workers = [of_pid.get(int(pid)) for pid in pids.split()]
    result(len(workers) == 2 and all(worker and worker["ended"] and worker["cpu_ns"] > 380e6 for worker in workers),
           "uWSGI: both workers' profiles are whole", of_pid)
    judge("uWSGI: accounting closes to 0.1 %", "accounting", "info.json")
    names = stacks("--native=all")
    page = [(stack, ns) for stack, ns in names if "render_page (" in stack]
    whole = sum(ns for stack, ns in page if re.search(r" \(uwsgi-core\);.*app \(.*render_page \(", stack))
    spent = sum(ns for _, ns in page)
    result(spent > 600e6 and whole > 0.98 * spent, f"uWSGI: {whole} of {spent} ns of its pages are below its own frames", names[:5])

    shutil.rmtree("out", ignore_errors=True)
    killed = subprocess.Popen([sys.executable, os.path.join(WORKLOADS, "spin.py"), "60"], env={**os.environ, **ENVIRONMENT})
    while True:  # until it has used ten seconds
        with open(f"/proc/{killed.pid}/stat") as file:
            ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        if ticks >= 1000:
            break
        time.sleep(0.1)
    killed.kill()
    killed.wait()
    kept = sum(ns for stack, ns in stacks() if "spin (" in stack)
    result(kept > 4e9, f"killed: {kept} ns of 10 s were written before", information())

    program = "import os; print([n for n in range(100) if os.path.exists(f'/proc/self/fd/{n}')], os.open('/dev/null', os.O_RDONLY), os.pipe())"
    alone, beside = run(sys.executable, "-c", program), profiled("-c", program)
    result(alone == (0, beside[1]) and beside[0], "descriptors: the program gets the numbers that it gets without", alone, beside)


def pairing():
    good, output = profiled(os.path.join(WORKLOADS, "pairing.py"), "6")
    if not result(good, "pairing: runs", output):
        return
    total = information()["total"]
    samples = total["samples"]
    unpaired = sum(n for reason, n in truncated(total) if "pair" in reason)
    early = sum(n for reason, n in truncated(total) if reason == "native stack truncated: no unwind rows yet")
    cut = sum(n for _, n in truncated(total)) - early
    result(early <= samples / 20, f"{early} of {samples} samples are before their functions have rows", total)
    result(samples > 200 and unpaired <= max(1, samples / 1000), f"{unpaired} of {samples} samples are unpaired", total)
    result(cut <= samples / 100 + 1, f"{cut} of {samples} samples are incomplete", total)


def truncated(total):
    return [(key, value) for key, value in total.get("truncated", {}).items()]


def oracle():
    log = os.path.abspath("oracle.tsv")
    status, output = run(sys.executable, os.path.join(WORKLOADS, "native_kinds.py"), "200", "1500", "-",
                         "python", "libc", "compress", "sqlite", ORACLE_LOG=log, LD_PRELOAD=os.path.join(BUILD, "unit/unwind_oracle_preload.so"))
    if not result(status == 0 and os.path.exists(log), "libunwind beside our walk: runs", output):
        return
    with open(log) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    keys = "samples complete frames agree differ missing unnamed stopped crashed places finished cut wrong".split()
    sums = dict.fromkeys(keys, 0)
    for line in lines:
        if line[0] == "phase":
            print("#", " ".join(line))
            for key, value in zip(keys, line[3:]):
                sums[key] += int(value)
    kinds = [" ".join(line) for line in lines if line[0] == "kind"]
    frames = sums["frames"] + sums["missing"]
    print(f"# {sums}")
    result(sums["agree"] >= 0.999 * frames and not sums["unnamed"] and not sums["wrong"],
           f"native stacks are libunwind's: {sums['agree']} of {frames} frames", *kinds[:40], output[-2500:])


def torture():
    os.sched_setaffinity(0, {0})  # a switch between processors takes longer than a step
    steps = os.environ.get("TORTURE_STEPS", "20000")
    status, output = run(sys.executable, os.path.join(TESTS, "torture/torture.py"), os.path.join(BUILD, "torture/torture.so"),
                         "--steps", steps, "--first", os.environ.get("TORTURE_FIRST", "0"), seconds=1500)
    sums = re.search(r"^steps=.*", output, re.M)
    if not result(status == 0 and sums, "torture: runs", output):
        return
    fields = {key: int(value) for key, value in (field.split("=") for field in sums.group().split())}
    print("#", sums.group())
    wrong = sum(fields[key] for key in "wrong vanished bad_pairing wrong_merge unpaired wrong_state".split())
    result(not wrong and fields["right"] > 0.9 * fields["steps"], f"torture: {fields['right']} of {fields['steps']} stacks right, {wrong} wrong", output)
    result(fields["refused_good"] * 10000 < fields["steps"], f"torture: {fields['refused_good']} good stacks refused", output)
    result(fields["recovered"] * 100 >= fields["torn"] * 95, f"torture: {fields['recovered']} of {fields['torn']} torn stacks recovered", output)


os.chdir("/tmp")
print(f"# {os.uname().release}, pages of {os.sysconf('SC_PAGESIZE')} bytes, {os.cpu_count()} processors")
for part in sys.argv[2:]:
    before = os.times()
    {"units": units, "profile": profile, "servers": servers, "pairing": pairing, "oracle": oracle, "torture": torture}[part]()
    after = os.times()
    print(f"# {part}: {after.elapsed - before.elapsed:.0f} s, {sum(after[:4]) - sum(before[:4]):.0f} s of CPU")
sys.exit(failed)
