"""Always other functions with long names, ten deep, each for some milliseconds, until its profile has a second file:
new_names.py DIRECTORY [PROCESSES]. It grows by 100 KB and more in a second of CPU time where each tick is met. Of several
processes each says how large its first file was."""

import contextlib
import glob
import os
import sys
import time

DEPTH = 10
end = time.process_time() + 60
number = size = 0
processes = int(sys.argv[2]) if len(sys.argv) > 2 else 1
for _ in range(processes - 1):
    if os.fork() == 0:
        break
own = f"{sys.argv[1]}/{os.getpid()}-*.pyprof"


def burn():
    until = time.process_time() + 0.004
    while time.process_time() < until:
        sum(range(500))


while time.process_time() < end and len(files := glob.glob(own)) < 2:
    size = max([size, *map(os.path.getsize, files)])  # of the first; another process may remove it later
    call = burn
    for _ in range(DEPTH):
        number += 1
        name = f"f{number:0100}"
        names = {"call": call}
        exec(compile(f"def {name}():\n    return call()\n", "new_names", "exec"), names)
        call = names[name]
    call()
if processes > 1:
    os.write(1, b"%d\n" % size)
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass
