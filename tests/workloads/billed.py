"""billed.py PYPROF KIND: profiles a short program; what its profile says must fit what the kernel bills us for it, and for what it
does not wait for: a child that ends before it (left) or runs on (daemon)."""

import ctypes
import json
import os
import re
import resource
import subprocess
import sys

LOOP = "sum(i * i for i in range(%d))"
SPIN = "import time\\nwhile time.process_time() < %s: pass"
# The second one is as a program without Python: it is not profiled.
LEFT = """
import os, subprocess
subprocess.Popen.__del__ = lambda self: None
subprocess.Popen([sys.executable, "-c", "%s\\ntime.sleep(%s)"])
subprocess.run([sys.executable, "-c", "%s"], env={})
os._exit(0)"""
PROGRAMS = {
    "loop": LOOP % 1000000,
    "spawner": LOOP % 300000 + """
import subprocess
subprocess.run(["awk", "BEGIN { for (i = 0; i < 1000000; i++) n += i }"])
subprocess.run([sys.executable, "-c", "sum(i * i for i in range(300000))"])""",
    "pool": """
import multiprocessing
def work(count): return sum(i * i for i in range(count))
with multiprocessing.get_context("fork").Pool(3) as pool: pool.map(work, [200000] * 6)""",
    "chain": LOOP % 300000 + """
import os
left = int(os.environ.get("LEFT", "2"))
os.environ["LEFT"] = str(left - 1)
if left: os.execv(sys.executable, [sys.executable, __file__])""",
}
PROGRAMS["shell"] = PROGRAMS["loop"]
PROGRAMS["between"] = LOOP % 300000 + """
import os
os.system(sys.executable + ' -c "%s"; true')""" % (LOOP % 300000)
PROGRAMS["left"] = LEFT % (SPIN % 0.3, 0, SPIN % 0.6)
PROGRAMS["daemon"] = LEFT % (SPIN % 0.3, 2, SPIN % 0.6)
PR_SET_CHILD_SUBREAPER = 36

pyprof, kind = sys.argv[1:]
out, script = os.path.abspath(f"{kind}.out"), os.path.abspath(f"{kind}.py")
with open(script, "w") as file:
    file.write("import sys\n" + PROGRAMS[kind])
command = [sys.executable, script]
if kind == "shell":
    command = ["sh", "-c", '"$0" "$1"; "$0" "$1"; awk "BEGIN { for (i = 0; i < 1000000; i++) n += i }"'] + command
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
with open("said.txt", "w") as said:
    run = subprocess.Popen([pyprof, "run", "-o", out, "--"] + command, stderr=said)
_, status = os.waitpid(run.pid, 0)
assert status == 0, f"status {status}"
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
most = round((usage.ru_utime + usage.ru_stime) * 1e9)

info = json.loads(subprocess.check_output([pyprof, "info", "--json", out]))
total, processes = info["total"], info["processes"]
billed = total["run_billed_ns"]
assert billed, "no bill"
assert total["cpu_ns"] <= billed <= most, f"{total['cpu_ns']} in the profile, {billed} billed, {most} with pyprof"
# Of the command itself, whose images by exec share a clock, all but its end is known.
first = [process for process in processes if process["ppid"] == run.pid]
if first:
    last = max(first, key=lambda process: process["start_unix_ns"])
    known = last["before_start_ns"] + last["cpu_ns"] + last["children_ns"]
    assert known <= billed, f"{known} of it known, {billed} billed"

report = " ".join(subprocess.check_output([pyprof, "report", "--full", out], text=True).split())
parts = re.search(r"billed the whole run at least ([0-9.]+) s: these ([0-9.]+) s, and at least ([0-9.]+) s ", report)
assert parts, report
whole, inside, outside = map(float, parts.groups())
assert abs(whole - inside - outside) < 0.002 and abs(whole - billed / 1e9) < 0.001, parts.group()
assert abs(inside - total["cpu_ns"] / 1e9) < 0.001, parts.group()
with open("said.txt") as said:
    end = re.findall(r"CPU \(.*that the kernel billed\)", said.read())
assert end == [f"CPU (of at least {billed / 1e9:.2f} s that the kernel billed)"] or (not end and outside < 0.02), end
