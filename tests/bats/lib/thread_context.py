"""thread_context.py TRUTH: compares the single samples of traces, and the spans of all samples, with what
tests/workloads/thread_context.py has printed."""
import collections
import glob
import json
import sys

import traces

truth = json.load(open(sys.argv[1]))
found, spans, counts = collections.Counter(), collections.Counter(), collections.Counter()
for path in glob.glob("pyprof.out/*.pyprof"):
    samples, cpu, singly, _, span, _ = traces.read(path)
    for key, ns, trace, _ in singly:
        found[trace] += ns
        assert span(key) == "(unnamed)", span(key)
    for key in samples:
        spans[span(key)] += cpu[key]
        counts[span(key)] += samples[key]
period = sum(spans.values()) / sum(counts.values())
print(dict(found), dict(spans), dict(counts))


def check(name, ns, wanted):
    chance = 5 * (wanted * period) ** 0.5 + 0.02 * wanted
    print(name, ns / 1e6, "ms, by the clock", wanted / 1e6)
    assert abs(ns - wanted) <= chance, name


assert set(found) == set(truth["traces"]), (found, truth)
for trace, wanted in truth["traces"].items():
    check(trace, found[trace], wanted)
check("of threads", spans["(unnamed)"], sum(truth["traces"].values()))
check("in event loops", spans["(unknown)"], truth["unknown"])
assert spans[""] > truth["none"] * 0.8, spans
