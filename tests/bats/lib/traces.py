"""traces.py TRUTH MIN REPORT: compares in each file of ./pyprof.out the single samples of traces (PP_BLOCK_TRACES) with the sums of all
samples, and both with the spans' names and ids: tests/workloads/traces.py calls a span "kept ID" or "left" by its own rule. Prints as
JSON {"traces": number, "left": samples, "not_selected": [samples, ns]}. MIN: of the traces of which TRUTH, printed by that, tells
what CPU they used, so many percent must have samples. REPORT, of `pyprof report --json --by trace`, must have the same."""
import collections
import glob
import json
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "oracles"))
import wire

PROCESS, STRINGS, FRAMES, NODES, LABELS, SAMPLES, ACCOUNTING, TRACES = 1, 2, 5, 6, 8, 9, 10, 14
ESTIMATED, PSEUDO = 4, 3
NOT_SELECTED_NS, NOT_SELECTED = 31, 32
MAX_NS = 3600 * 10**9
TWO_TICKS_NS = 8e6


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value, self.at = wire.varint(self.data, self.at)
        return value

    def svarint(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def bytes(self, length):
        self.at += length
        return self.data[self.at - length : self.at]

    def records(self):
        while self.at < len(self.data):
            yield Reader(self.bytes(self.varint()))


def numbered(reader, into, take):
    number = reader.varint()
    for record in reader.records():
        into[number] = take(record)
        number += 1


def read_labels(record):
    numbers = wire.varints(record.data)
    return dict(zip(numbers, numbers))


def read(path):
    """Yields ({key: [samples, ns]}, {key: {trace: [samples, ns]}}) with keys (stack, state, span) of each file's interval."""
    strings, frames, nodes, labels = {0: ""}, {}, {}, {0: {}}
    found, traces, sums = collections.Counter(), [], {}
    cpu = collections.Counter()
    for kind, payload in wire.blocks(path):
        reader = Reader(payload)
        if kind == STRINGS:
            numbered(reader, strings, lambda record: record.data.decode())
        elif kind == FRAMES:
            numbered(reader, frames, lambda record: (record.varint(), record.varint()))
        elif kind == NODES:
            number = reader.varint()
            while reader.at < len(reader.data):
                nodes[number] = (number - reader.varint(), reader.varint())
                number += 1
        elif kind == LABELS:
            numbered(reader, labels, read_labels)
        elif kind == SAMPLES:
            reader.varint(), reader.varint()
            for record in reader.records():
                key = tuple(record.varint() for _ in range(4))
                found[key] += record.varint()
                cpu[key] += record.varint()
        elif kind == TRACES:
            start = reader.varint()
            for record in reader.records():
                when = start + record.svarint()
                key = tuple(record.varint() for _ in range(4))
                ns = record.varint()
                trace, span = record.bytes(16).hex(), record.bytes(8).hex()
                assert abs(when - start) < MAX_NS and int(span, 16) and int(trace, 16), (when, start, trace, span)
                traces.append((key, ns, trace, span))
        elif kind == ACCOUNTING:
            sums = {key: Reader(value).varint() for key, value in wire.fields(payload).items()}

    def span(key):
        named = {strings[name]: strings[value] for name, value in labels[key[2]].items()}
        return named.get("span", "")

    def pseudo(key):
        parent, frame = nodes[key[1]]
        kind, text = frames[frame]
        return strings[text] if kind == PSEUDO and not parent else ""

    return found, cpu, traces, sums, span, pseudo


def main():
    by_trace, left, not_selected = {}, 0, [0, 0]
    truth = json.load(open(sys.argv[1]))
    for path in glob.glob("pyprof.out/*.pyprof"):
        found, cpu, traces, sums, span, pseudo = read(path)
        singly, singly_ns, here = collections.Counter(), collections.Counter(), [0, 0]
        for key, ns, trace, number in traces:
            assert re.fullmatch(f"kept( {trace})?( inside)?", span(key)), (span(key), trace)
            assert number == truth[trace][1][span(key)], (span(key), trace, number, truth[trace])
            singly[key] += 1
            singly_ns[key] += ns
            row = by_trace.setdefault(trace, [0, 0])
            row[0] += 1
            row[1] += ns
        for key in found:
            if key[3] & ESTIMATED:
                continue
            if span(key).startswith("kept"):
                assert (singly[key], singly_ns[key]) == (found[key], cpu[key]), (span(key), singly[key], found[key])
            elif span(key):
                assert span(key) == "left" and not singly[key], key
                left += found[key]
            if pseudo(key) == "[not selected]":
                here[0] += found[key]
                here[1] += cpu[key]
        assert not set(singly) - set(found)
        assert [sums.get(NOT_SELECTED, 0), sums.get(NOT_SELECTED_NS, 0)] == here, (sums, here)
        not_selected = [a + b for a, b in zip(not_selected, here)]
    print(json.dumps({"traces": len(by_trace), "left": left, "not_selected": not_selected}))
    assert not set(by_trace) - set(truth) and len(by_trace) * 100 >= len(truth) * int(sys.argv[2]), (len(by_trace), len(truth))
    report = {row["value"]: [row["samples"], row["cpu_ns"]] for row in json.load(open(sys.argv[3]))["by"]}
    assert report == by_trace, (report, by_trace)
    used, sampled = sum(ns for ns, _ in truth.values()), sum(ns for _, ns in by_trace.values())
    assert abs(sampled - used) < 0.05 * used + 5 * (used * TWO_TICKS_NS) ** 0.5, (sampled, used)


if __name__ == "__main__":
    main()
