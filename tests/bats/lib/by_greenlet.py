"""by_greenlet.py TRUTH.json INFO.json SAMPLES NS: what tests/workloads/greenlet_names.py says of the two exports `--by greenlet`
in samples and in ns. What runs in a function has its greenlet's value, always; each value has the CPU time that its thread's
clock says; all values together have what the process used."""
import collections
import json
import sys

WORKLOAD = "/greenlet_names.py"

def stacks(path):
    for line in open(path):
        frames, _, number = line.rpartition(" ")
        value, *names = frames.split(";")
        yield value, [name.split(" (")[0].rpartition(".")[2] for name in names if WORKLOAD in name], float(number)


truth, info = (json.load(open(path)) for path in sys.argv[1:3])
marks = truth["marks"]
right, others = collections.Counter(), collections.Counter()
for value, names, number in stacks(sys.argv[3]):
    mark = next((name for name in reversed(names) if name in marks), None)
    if mark:
        right[mark] += number if value == marks[mark] else 0
        others[mark, value] += number if value != marks[mark] else 0
samples, ns_of = ({line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in open(path)} for path in sys.argv[3:5])
times, variances, largest = collections.Counter(), collections.Counter(), 0
for stack, ns in ns_of.items():
    value, count = stack.partition(";")[0], samples.get(stack, 0)
    times[value] += ns
    if count:
        # beside other programs some samples weigh much more than the others: chance is as large as those
        variances[value] += ns * ns / count
        largest = max(largest, ns / count)
total = info["total"]
# a greenlet's outermost function may be unknown in the middle of a switch
none = sum(number for (_, value), number in others.items() if value == "(none)")
faults = ["%g samples in %s have %s" % (number, mark, value) for (mark, value), number in others.items()
          if number and (value != "(none)" or none > 2)]
faults += [f"no sample in {mark}" for mark in marks if not right[mark]]
farthest = 0
for value, ns in truth["values"].items():
    if value != "(none)":
        # what begins and ends a turn has the value, too
        chance = (times[value] - ns) / ((variances[value] + largest**2) ** 0.5 + 0.01 * ns)
        farthest = max(farthest, abs(chance))
        if abs(chance) > 5:
            faults.append(f"{value}: {times[value] / 1e6:.1f} ms, by its clock {ns / 1e6:.1f} ms")
used = total["cpu_ns"] - total["own_ns"] - total["difference_ns"]
if sum(times.values()) != used:
    faults.append(f"{sum(times.values())} ns of all values, {used} of the process")
print(f"{sum(right.values()):g} samples right, {sum(others.values()):g} wrong, values at most {farthest:.1f} sigma away")
if faults:
    sys.exit("\n".join(faults))
