"""Compares what `pyprof export` made of the samples of traces with the log's own records of them (PP_BLOCK_TRACES).

    traces.py otlp FILE INFO.json LOGS        by opentelemetry-proto's definitions: each record is a sample with its link and
                                                time; all values together are the CPU of info
    traces.py otel-logs FILE INFO.json LOGS   log records by the same, their bodies as pprof: "snapshot" has the records, and
                                                "continuous" the CPU of info, unless there is none
    traces.py pprof FILE LOGS                 has the records and nothing else
"""

import base64
import collections
import glob
import gzip
import json
import sys

from wire import blocks, message, need, records, varint, varints

TRACES = 14


def records_of(logs):
    """Counts (trace, span, ns since 1970, ns of CPU)."""
    found = collections.Counter()
    for path in logs:
        for kind, block in blocks(path):
            if kind != TRACES:
                continue
            start, at = varint(block, 0)
            for record in records(block, at):
                fields, inside = [], 0
                for _ in range(6):
                    value, inside = varint(record, inside)
                    fields.append(value)
                when = start + (fields[0] >> 1 ^ -(fields[0] & 1))
                found[record[inside : inside + 16].hex(), record[inside + 16 : inside + 24].hex(), when, fields[5]] += 1
    need(found, "no log has samples of traces")
    return found


def shown(sums):
    return sums["cpu_ns"] - sums["own_ns"] - sums["difference_ns"]


def pprof_samples(data):
    """Yields (number of locations, [samples, ns], {label: value}) of each sample."""
    fields = list(message(gzip.decompress(data)))
    strings = [value.decode() for field, value in fields if field == 6]
    for field, value in fields:
        if field != 2:
            continue
        locations, values, labels = 0, None, {}
        for part, inside in message(value):
            if part == 1:
                locations = len(list(varints(inside)))
            elif part == 2:
                values = list(varints(inside))
            elif part == 3:
                label = dict(message(inside))
                key = strings[label[1]]
                need(key not in labels or key == "awaiter", "a label is there twice:", key)
                labels[key] = strings[label[2]] if 2 in label else label[3]
        yield locations, values, labels


def by_millisecond(records):
    found = collections.Counter()
    for (trace, span, when, ns), count in records.items():
        found[trace, span, when // 1000000, ns] += count
    return found


def compare_pprof(data, records):
    found = collections.Counter()
    for _, (count, ns), labels in pprof_samples(data):
        found[labels["trace_id"], labels["span_id"], labels["source.event.time"], ns] += count
    need(found == by_millisecond(records), "not the same:", (found - by_millisecond(records)).most_common(3),
         (by_millisecond(records) - found).most_common(3))


def pprof(path, *logs):
    compare_pprof(open(path, "rb").read(), records_of(logs))


def otlp(path, info, *logs):
    from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

    data = ProfilesData()
    data.ParseFromString(open(path, "rb").read())
    tables = data.dictionary
    strings, links = tables.string_table, tables.link_table
    need(links[0].trace_id == bytes(16) and links[0].span_id == bytes(8), "link 0")
    ids = [(link.trace_id, link.span_id) for link in links]
    need(len(set(ids)) == len(ids) and all(len(trace) == 16 and len(span) == 8 for trace, span in ids), "links")
    found, sums, counts = collections.Counter(), 0, collections.Counter()
    for resource in data.resource_profiles:
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                kind = strings[profile.sample_type.type_strindex]
                shapes = {(len(sample.values), len(sample.timestamps_unix_nano)) for sample in profile.samples}
                need(len(shapes) == 1 and shapes <= {(1, 0), (1, 1)}, "shapes:", shapes)
                for sample in profile.samples:
                    single = bool(sample.timestamps_unix_nano)
                    need(single == bool(sample.link_index), "link", sample.link_index, "of", sample)
                    names = [strings[tables.attribute_table[a].key_strindex] for a in sample.attribute_indices]
                    need("thread.name" in names and len(set(names)) == len(names), "attributes:", names)
                    if kind == "cpu":
                        sums += sample.values[0]
                    if not single:
                        continue
                    when, link = sample.timestamps_unix_nano[0], links[sample.link_index]
                    end = profile.time_unix_nano + profile.duration_nano
                    need(profile.time_unix_nano <= when < end, "outside of the profile:", when, profile.time_unix_nano, end)
                    key = link.trace_id.hex(), link.span_id.hex(), when
                    if kind == "cpu":
                        found[(*key, sample.values[0])] += 1
                    else:
                        counts[key] += sample.values[0]
    records = records_of(logs)
    need(found == records, "not the same:", (found - records).most_common(3), (records - found).most_common(3))
    times = collections.Counter()
    for (*key, _), count in records.items():
        times[tuple(key)] += count
    need(counts == times, "numbers of samples")
    wanted = shown(json.load(open(info))["total"])
    need(sums == wanted, sums, "ns, info says", wanted)


def otel_logs(path, info, *logs):
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = ExportLogsServiceRequest()
    request.ParseFromString(open(path, "rb").read())
    info = json.load(open(info))
    pids = {process["pid"]: process for process in info["processes"]}
    only = any((process["traces"] or "").endswith(",only") for process in info["processes"])
    sources = collections.Counter()
    found, continuous = collections.Counter(), 0
    for resource in request.resource_logs:
        keys = {a.key: a.value for a in resource.resource.attributes}
        process = pids[keys["process.pid"].int_value]
        for scope in resource.scope_logs:
            need(scope.scope.name == "otel.profiling", "scope", scope.scope)
            for record in scope.log_records:
                need(record.time_unix_nano == process["end_unix_ns"], "time", record.time_unix_nano)
                attributes = {a.key: a.value for a in record.attributes}
                source = attributes.pop("profiling.instrumentation.source").string_value
                frames = attributes.pop("profiling.data.total.frame.count").int_value
                need({key: value.string_value for key, value in attributes.items()} == {
                    "profiling.data.format": "pprof-gzip-base64", "profiling.data.type": "cpu",
                    "com.splunk.sourcetype": "otel.profiling"}, "attributes", attributes)
                body = base64.b64decode(record.body.string_value, validate=True)
                with open(f"{path}.{source}.{process['pid']}.pb.gz", "wb") as file:
                    file.write(body)
                sources[source] += 1
                locations = 0
                for depth, (count, ns), labels in pprof_samples(body):
                    locations += depth
                    need({"source.event.time", "source.event.period", "thread.name", "pid"} <= set(labels), labels)
                    need(labels["source.event.period"] == process["period_ns"] // 1000000, "period", labels)
                    if source == "continuous":
                        continuous += ns
                        need("trace_id" not in labels or "span_id" not in labels, "ids in what is summed up")
                        continue
                    found[labels["trace_id"], labels["span_id"], labels["source.event.time"], ns] += count
                need(locations == frames, locations, "frames, said:", frames)
    records = by_millisecond(records_of(logs))
    need(found == records, "not the same:", (found - records).most_common(3), (records - found).most_common(3))
    need(set(sources) == {"snapshot"} | (set() if only else {"continuous"}), sources)
    need(only or continuous == shown(info["total"]), continuous, "ns, info says", shown(info["total"]))


def main(command, path, *rest):
    *rest, logs = rest
    logs = sorted(glob.glob(f"{logs}/*.pyprof")) or [logs]
    {"otlp": otlp, "otel-logs": otel_logs, "pprof": pprof}[command](path, *rest, *logs)


if __name__ == "__main__":
    main(*sys.argv[1:])
