"""Kills at random, for a time, what a fleet's machine runs: random_kills.py SECONDS [SEED], in an empty directory.

A service with workers, `pyprof push`, `pyprof serve` and the server that is pushed to run side by side; each is killed by -9,
stopped for a moment or started again, the server answers as it should not, sampling is paused and resumed, and `pyprof
compact` runs. Then what the server has is compared with what the logs have: nothing is missing, nothing there twice. LIBPYPROF
is the library, PYPROF the command, PYTHON what is profiled. SET_CLOCK, if it is set, is tests/workloads/lib/set_clock.c as a library:
the clock of compact is two hours fast then, so that there is something that is older than an hour."""

import collections
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
PYPROF, PYTHON = os.environ["PYPROF"], os.environ["PYTHON"]
LAST_NS = 50e6  # since the last sample of a process, at most
MODES = ["ok", "ok", "500", "503 1", "429 1", "half", "drop", "slow 1", "never", "smaller 20"]
SERVICE = """
import os, random, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0) if os.getpid() != master else globals().update(stop=True))
master, stop, workers = os.getpid(), False, set()
def render():
    return sum(i * i for i in range(5000))
def worker():
    for _ in range(random.randint(100, 3000)):  # then the master makes another one
        render()
        time.sleep(0.003)
    os._exit(0)
while not stop:
    while len(workers) < 2:
        pid = os.fork()
        workers.add(pid) if pid else worker()
    try:
        workers.discard(os.waitpid(-1, os.WNOHANG)[0])
        time.sleep(0.05)
    except ChildProcessError:
        workers.clear()
for pid in workers:
    os.kill(pid, signal.SIGTERM)
"""
running, counts = {}, collections.Counter()


def start(name):
    environment = dict(os.environ)
    if name == "service":
        command = [PYTHON, "service.py"]
        environment["LD_PRELOAD"] = environment["LIBPYPROF"]
    elif name == "server":
        if os.path.exists("port"):
            environment["PORT"] = open("port").read()
        command = [sys.executable, os.path.join(here, "push_server.py"), "port", "taken", "mode"]
    elif name == "pusher":
        command = [PYPROF, "push", "--window", "1s", "--timeout", "2s", "--to", f"otlp+http://127.0.0.1:{open('port').read()}", "pyprof.out"]
    else:
        command = [PYPROF, "serve", "--listen", f"127.0.0.1:{open('port.serve').read()}", "pyprof.out"]
    log = open(f"{name}.log", "a")
    running[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def kill_worker():
    """Of the service: its master goes on, and makes another one."""
    children = f"/proc/{running['service'].pid}/task/{running['service'].pid}/children"
    pids = open(children).read().split()
    if pids:
        os.kill(int(random.choice(pids)), signal.SIGKILL)


def kill(name):
    running[name].kill()
    running[name].wait()
    start(name)


def stop_for_a_moment(name):
    running[name].send_signal(signal.SIGSTOP)
    time.sleep(random.random())
    running[name].send_signal(signal.SIGCONT)


def answer_as(mode):
    with open("mode~", "w") as file:
        file.write(mode)
    os.rename("mode~", "mode")


def control(word):
    done = subprocess.run([PYPROF, "ctl", "pyprof.out", word], capture_output=True, text=True)
    if done.returncode and "no process" not in done.stderr:
        sys.exit(f"ctl {word}: {done.stderr}")


def compact():
    env = dict(os.environ)
    if env.get("SET_CLOCK"):
        env.update(LD_PRELOAD=env["SET_CLOCK"], SET_CLOCK_FILE="ahead")
    done = subprocess.run([PYPROF, "compact", "pyprof.out"], capture_output=True, text=True, env=env)
    counts["compacted"] += "compacted" in done.stderr
    if done.returncode and "another compaction" not in done.stderr:  # the pusher's
        sys.exit(f"compact: {done.stderr}")


def scrape():
    """The sums never go down in the life of a server; after a kill it may not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{open('port.serve').read()}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return
    now = float(re.search(r"^pyprof_cpu_seconds_total (\S+)$", text, re.M).group(1))
    if running["serve"].pid == scrape.of and now < scrape.last:
        sys.exit(f"/metrics: {now} s after {scrape.last} s")
    scrape.of, scrape.last = running["serve"].pid, now
    counts["scraped"] += 1


scrape.of, scrape.last = 0, 0


def disturb():
    name = random.choice(list(running))
    step = random.choice([lambda: kill(name), lambda: kill(name), kill_worker, lambda: stop_for_a_moment(name), scrape, scrape, compact,
                          lambda: answer_as(random.choice(MODES)), lambda: control(random.choice(["pause", "resume", "flush"]))])
    step()
    counts["steps"] += 1


def in_logs():
    """What report shows: also what processes had used since their last samples when they were killed, which is not sent."""
    total = json.loads(subprocess.check_output([PYPROF, "info", "--json", "--all", "pyprof.out"]))["total"]
    return total["cpu_ns"] - total["own_ns"] - total["difference_ns"]


def in_server():
    """The CPU of what it took, of what came twice once: it has its id, and is the same."""
    sums = {}
    for line in map(json.loads, open("taken")):
        if line["status"] == 200 and sums.setdefault(line["id"], line["sum"]) != line["sum"]:
            sys.exit(f"{line['id']}: {sums[line['id']]} ns, then {line['sum']} ns")
    return sum(sums.values())


def push_once():
    answer_as("ok")
    address = f"otlp+http://127.0.0.1:{open('port').read()}"
    subprocess.run([PYPROF, "push", "--window", "1s", "--once", "--to", address, "pyprof.out"], check=True, capture_output=True)


def end_workers():
    """Those of masters that were killed."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/cmdline").read().split("\0")[1:2] == ["service.py"] and os.readlink(f"/proc/{pid}/cwd") == os.getcwd():
                os.kill(int(pid), signal.SIGKILL)
        except OSError:  # it has ended
            continue


def main():
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    random.seed(seed)
    os.mkdir("pyprof.out")
    open("service.py", "w").write(SERVICE)
    open("ahead", "w").write("7200")
    answer_as("ok")
    start("server")
    while not os.path.exists("port"):
        time.sleep(0.05)
    open("port.serve", "w").write(str(int(open("port").read()) ^ 1))
    for name in "service", "pusher", "serve":
        start(name)
    end = time.time() + seconds
    while time.time() < end:
        time.sleep(random.random())
        disturb()
    running["service"].terminate()
    running["service"].wait()
    end_workers()
    time.sleep(1)
    answer_as("ok")
    running["pusher"].terminate()
    running["pusher"].wait()
    push_once()
    taken, logged, files = in_server(), in_logs(), len(glob.glob("pyprof.out/*.pyprof"))
    for path in ["taken", *glob.glob("pyprof.out/push-*")]:
        os.remove(path)
    push_once()
    for name in "serve", "server":
        running[name].kill()
        running[name].wait()
    print(f"seed {seed}: {dict(counts)}, {files} files; {taken} ns were sent meanwhile, {in_server()} ns are sent afterwards, the logs have {logged} ns")
    if taken != in_server() or not taken <= logged <= taken + files * LAST_NS:
        sys.exit("the server has not what the logs have")


if __name__ == "__main__":
    try:
        main()
    finally:
        for process in running.values():
            process.kill()
        end_workers()
