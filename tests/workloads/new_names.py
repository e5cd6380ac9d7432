"""Always other functions with long names, ten deep, each for some milliseconds: new_names.py CPU_SECONDS. Its profile grows
by 100 KB and more in a second of CPU time."""

import sys
import time

DEPTH = 10
end = time.process_time() + float(sys.argv[1])
number = 0


def burn():
    until = time.process_time() + 0.004
    while time.process_time() < until:
        sum(range(500))


while time.process_time() < end:
    call = burn
    for _ in range(DEPTH):
        number += 1
        name = f"f{number:0100}"
        names = {"call": call}
        exec(compile(f"def {name}():\n    return call()\n", "new_names", "exec"), names)
        call = names[name]
    call()
