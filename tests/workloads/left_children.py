"""left_children.py KIND: a program, another one without Python that it waits for, and a child that it waits for (waited) or not: one
that ends before it (left), a daemon that ends before it (early) or runs on (daemon)."""
import glob
import os
import subprocess
import sys
import time


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


kind, command = sys.argv[1], os.getpid()
done, finish = os.pipe()
child = os.fork()
if not child:
    os.close(done)
    if kind in ("early", "daemon"):
        os.setsid()
        if os.fork():
            os._exit(0)
    spin(0.3)
    while kind == "daemon" and not glob.glob(f"{os.environ['PYPROF_OUT']}/{os.getpid()}-*"):
        time.sleep(0.02)
    os.close(finish)
    while kind == "daemon" and os.path.exists(f"/proc/{command}"):
        time.sleep(0.02)
    if kind == "daemon":
        time.sleep(2)  # pyprof has seen that it runs
    sys.exit()
os.close(finish)
if kind != "left":
    os.waitpid(child, 0)
subprocess.run(["awk", "BEGIN { for (i = 0; i < 8000000; i++) n += i }"])
spin(0.1)
os.read(done, 1)  # until the child has ended, or the daemon has a profile
time.sleep(0.2)
