"""true_contexts.py STACKS...: collapsed stacks in samples, each by what its samples belong to. What runs in a function in_NAME
belongs to NAME, always; in_none, in_no_loop and in_abandoned belong to nothing. Prints what is right, what is wrong, and what
has nothing, by the way it ran; fails for what is wrong, and for what has nothing though it runs in the thread that it is of."""
import collections
import re
import sys

ELSEWHERE = {"in_executor": "executes"}  # what a thread does for a task is the task's from when the task awaits it
faults = []
total = collections.Counter()
for path in sys.argv[1:]:
    found = collections.Counter()
    for line in open(path):
        stack, _, count = line.rpartition(" ")
        value, *frames = stack.split(";")
        ran = [match[1] for match in (re.match(r"in_(\w+) \(", frame) for frame in frames) if match]
        if not ran:
            continue
        wanted = "(none)" if ran[-1] in ("none", "no_loop", "abandoned") else ELSEWHERE.get(ran[-1], ran[-1])
        value = re.sub(r"^__main__\.| \(spawned at .*", "", value)
        if value == wanted:
            verdict = "right"
        elif value != "(none)":
            verdict = "wrong"
        else:
            verdict = "missing in a thread" if ran[-1] in ELSEWHERE else "missing"
        found[verdict] += int(count)
        if verdict in ("wrong", "missing") or len(ran) > 1:
            faults.append("%s: %s" % (path, line))
    print(path, dict(found))
    total += found
print("total", dict(total), "".join(faults[:5]))
sys.exit(bool(faults))
