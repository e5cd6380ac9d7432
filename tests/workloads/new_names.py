"""Always other functions with long names, ten deep, each for some milliseconds, until its profile has a second file:
new_names.py DIRECTORY. It grows by 100 KB and more in a second of CPU time where each tick is met."""

import glob
import os
import sys
import time

DEPTH = 10
end = time.process_time() + 60
number = 0
own = f"{sys.argv[1]}/{os.getpid()}-*.pyprof"


def burn():
    until = time.process_time() + 0.004
    while time.process_time() < until:
        sum(range(500))


while time.process_time() < end and len(glob.glob(own)) < 2:
    call = burn
    for _ in range(DEPTH):
        number += 1
        name = f"f{number:0100}"
        names = {"call": call}
        exec(compile(f"def {name}():\n    return call()\n", "new_names", "exec"), names)
        call = names[name]
    call()
