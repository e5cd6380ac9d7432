"""by_label.py KEY TRUTH: compares the samples' label KEY in ./pyprof.out with what tests/workloads/requests_served.py has
printed. What runs in the function "WITHIN X" has the value X, all of it; each value has the CPU time that its thread's clock says;
all of them together have what the process used."""
import collections
import gzip
import json
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "oracles"))
from wire import message, varints

SAMPLE, LOCATION, FUNCTION, STRING = 2, 4, 5, 6


def read(data):
    strings, functions, locations, samples = [], {}, {}, []
    for number, value in message(data):
        if number == STRING:
            strings.append(value.decode())
        elif number == FUNCTION:
            function = dict(message(value))
            functions[function[1]] = function[2]
        elif number == LOCATION:
            lines = [dict(message(line)) for field, line in message(value) if field == 4]
            locations[dict(message(value))[1]] = [line.get(1, 0) for line in lines]
        elif number == SAMPLE:
            samples.append(list(message(value)))
    for sample in samples:
        stack = [location for field, ids in sample if field == 1 for location in varints(ids)]
        counts = [count for field, values in sample if field == 2 for count in varints(values)]
        labels = [dict(message(label)) for field, label in sample if field == 3]
        names = [strings[functions[function]] for location in stack for function in locations[location] if function]
        yield names, counts, {strings[label[1]]: strings[label.get(2, 0)] for label in labels}


def compare(wrong, text):
    print(text)
    if wrong:
        sys.exit("that is wrong")


key, truth = sys.argv[1], json.load(open(sys.argv[2]))
tool = os.environ["PYPROF"]
subprocess.run([tool, "export", "--format", "pprof", "-o", "by_label.pb.gz"], check=True, stderr=subprocess.DEVNULL)
total = json.loads(subprocess.run([tool, "info", "--json"], check=True, stdout=subprocess.PIPE).stdout)["total"]
counts, times, within = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
measured = collections.Counter()
for names, (samples, ns), labels in read(gzip.open("by_label.pb.gz").read()):
    value = labels.get(key, "")
    counts[value] += samples
    times[value] += ns
    inner = next((name for name in names if name.startswith("WITHIN ")), None)
    if inner:
        within[inner[7:]][value] += samples
        measured[inner[7:]] += ns if value in (inner[7:], "") else 0

right = sum(found[value] for value, found in within.items())
none = sum(within.pop("None", {}).values())
missing = sum(found[""] for found in within.values())
wrong = sum(sum(found.values()) - found[value] - found[""] for value, found in within.items())
# a thread may begin with a task's work before the task awaits it, and a busy machine gives it some ms for that
most_missing = right * 0.1 + 2 if truth["hands_to_threads"] else 0
mistaken = {value: dict(found) for value, found in within.items() if found.keys() - {value, ""}}
compare(right < 30 or wrong or missing > most_missing, f"{right} samples right, {wrong} wrong, {missing} without a value, {none} to have none {mistaken or ''}")
period = sum(times.values()) / sum(counts.values())
# A thread's clock has what profiling costs, and what is [unsampled]: by default system calls in step with the ticks. Both are
# in the accounting, and the more of it is a function's the more of them it makes. No function has too much for that.
elsewhere = 2 * (total["own_ns"] + total["unsampled_ns"]) / total["cpu_ns"]
compare(elsewhere > 0.5, f"own {total['own_ns']}, unsampled {total['unsampled_ns']} of {total['cpu_ns']}")
for value, ns in truth["values"].items():
    sigma = (period * ns) ** 0.5
    sigmas = (measured[value] - ns) / sigma
    text = f"{value}: {times[value] / 1e6:.1f} ms, {measured[value] / 1e6:.1f} where it was measured, by its clock {ns / 1e6:.1f} ms: {sigmas:+.1f} sigma"
    # what begins and ends a span or a request has its value, too
    less = elsewhere * ns
    wide = 5 * sigma + 0.05 * ns
    far = not truth["does_more"] and not -wide - less <= times[value] - ns <= wide
    most = 3 * sigma + 0.01 * ns
    compare(far or not -most - less <= measured[value] - ns <= most, text)
rest = total["cpu_ns"] - sum(times.values())
compare(rest != total["own_ns"] + total["difference_ns"], f"sum {sum(times.values())}, {rest} without samples")
word = key if key in ("endpoint", "task", "greenlet", "span") else f"label:{key}"
by = subprocess.run([tool, "report", "--json", "--by", word], check=True, stdout=subprocess.PIPE).stdout
by_ns = sum(row["cpu_ns"] for row in json.loads(by)["by"])
compare(by_ns + total["own_ns"] + total["difference_ns"] != total["cpu_ns"], f"all values {by_ns} ns, of {total['cpu_ns']} with what it costs")
