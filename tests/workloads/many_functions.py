"""A stack of COUNT functions, each of its own: f0000 calls f0001 calls f0002 …: many_functions.py COUNT SECONDS"""

import sys
import time

count, seconds = int(sys.argv[1]), float(sys.argv[2])
source = [f"def f{i:04d}(n):\n    return f{i + 1:04d}(n)\n" for i in range(count)]
source.append(f"def f{count:04d}(n):\n    return sum(i * i for i in range(n))\n")
names = {}
exec(compile("\n".join(source), "many.py", "exec"), names)
sys.setrecursionlimit(10 * count + 1000)
until = time.process_time() + seconds
while time.process_time() < until:
    names["f0000"](20000)
