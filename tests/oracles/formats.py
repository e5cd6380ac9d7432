"""Reads what `pyprof export` wrote with the formats' own rules, and adds up what is in it.

    formats.py total DIRECTORY INFO.json    DIRECTORY/p.EXTENSION of every format holds the same CPU as info, to the ns
    formats.py pstats FILE NS               loads in this Python's pstats, prints, and holds so many ns
    formats.py svg FILE COLLAPSED           is XML without anything active, drawn to scale: of each frame as much is not
                                            in boxes below as the collapsed stacks say that end there
    formats.py accounting FILE INFO.json    holds every part of the accounting
    formats.py snakeviz FILE                loads in snakeviz
"""

import base64
import gzip
import json
import os
import re
import sys

import traces
from wire import need


def collapsed(path):
    with open(path, encoding="utf-8") as lines:
        return sum(int(re.fullmatch(r"(.*) (\d+)\n", line).group(2)) for line in lines)


def speedscope(path):
    """The rules of speedscope's file-format-schema.json and those of its reader."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    need(data["$schema"] == "https://www.speedscope.app/file-format-schema.json", "schema:", data["$schema"])
    frames = data["shared"]["frames"]
    for frame in frames:
        need(set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str), "frame:", frame)
    need(len({json.dumps(f) for f in frames}) == len(frames), "a frame is there twice")
    total = 0
    for profile in data["profiles"]:
        need(profile["type"] == "sampled" and profile["unit"] == "nanoseconds", "profile:", profile["name"])
        need(len(profile["samples"]) == len(profile["weights"]), "lengths in", profile["name"])
        need(profile["endValue"] - profile["startValue"] == sum(profile["weights"]), "sum of", profile["name"])
        need(all(0 <= f < len(frames) for s in profile["samples"] for f in s), "a frame outside the table")
        total += sum(profile["weights"])
    return total


def firefox(path):
    """The shape of preprocessedProfileVersion 60."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    shared = data["shared"]
    lengths = {name: table["length"] for name, table in shared.items() if isinstance(table, dict)}
    for name in lengths:
        for column, rows in shared[name].items():
            need(rows == lengths[name] if column == "length" else len(rows) == lengths[name], f"{name}.{column}")
    stacks, frames, functions = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    need(all(p is None or p < i for i, p in enumerate(stacks["prefix"])), "a parent comes after its child")
    need(all(0 <= f < lengths["frameTable"] for f in stacks["frame"]), "stackTable.frame")
    need(all(0 <= f < lengths["funcTable"] for f in frames["func"]), "frameTable.func")
    need(all(c is None or 0 <= c < len(data["meta"]["categories"]) for c in frames["category"]), "category")
    need(all(0 <= n < len(shared["stringArray"]) for n in functions["name"]), "funcTable.name")
    need(all(-1 <= r < lengths["resourceTable"] for r in functions["resource"]), "funcTable.resource")
    need(all(s is None or s < lengths["sources"] for s in functions["source"]), "funcTable.source")
    need(all(0 <= lib < len(data["libs"]) for lib in shared["resourceTable"]["lib"]), "resourceTable.lib")
    need(all(lib["arch"] == os.uname().machine for lib in data["libs"]), "libs.arch")
    need(any(c["color"] == "grey" for c in data["meta"]["categories"]), "no grey category")
    total = 0
    for thread in data["threads"]:
        samples = thread["samples"]
        for column in ("stack", "time", "weight", "threadCPUDelta"):
            need(len(samples[column]) == samples["length"], thread["name"], column)
        need(isinstance(thread["pid"], str), "pid is not a string")
        need(samples["time"] == sorted(samples["time"]), thread["name"], "is not in the order of time")
        need(all(0 <= s < lengths["stackTable"] for s in samples["stack"]), "samples.stack")
        weights = [round(w * 1e6) for w in samples["weight"]]
        need(weights == samples["threadCPUDelta"], thread["name"], "weights differ from threadCPUDelta")
        total += sum(samples["threadCPUDelta"])
    return total


def perf(path):
    total = 0
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"\A(#.*\n)+", "", file.read())  # as perf's own header, which its readers skip
        for record in text.split("\n\n")[:-1]:
            head, *frames = record.split("\n")
            found = re.fullmatch(r"\S.*? +(\d+)/(\d+) +\[\d+\] +(\d+\.\d{6}): +(\d+) cpu-clock: ", head)
            need(found, "record:", head)
            need(frames and all(re.fullmatch(r"\t\s*[0-9a-f]+ .+ \([^\s()]+\)", f) for f in frames), "frames:", frames)
            total += int(found.group(4))
    return total


def callgrind(path):
    """Self costs; the lines after calls= are inclusive ones."""
    total, called = 0, False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if re.match(r"\d", line) and not called:
                total += int(line.split()[1])
            called = line.startswith("calls=")
    return total


def otlp(path):
    """The rules of opentelemetry-proto's profiles.proto."""
    from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

    data = ProfilesData()
    with open(path, "rb") as file:
        data.ParseFromString(file.read())
    tables = data.dictionary
    strings = tables.string_table
    for name in ("mapping", "location", "function", "attribute", "stack"):
        table = getattr(tables, name + "_table")
        need(len(table) and table[0].ByteSize() == 0, f"{name}_table has no empty element 0")
    need(tables.link_table[0].trace_id == bytes(16), "link_table")
    need(strings[0] == "" and len(set(strings)) == len(strings), "string_table")
    for attribute in tables.attribute_table[1:]:
        need(strings[attribute.key_strindex], "an attribute without a key")
    for function in tables.function_table[1:]:
        need(strings[function.name_strindex], "a function without a name")
        need(strings[function.filename_strindex] is not None, "filename")
    for location in tables.location_table[1:]:
        need(location.mapping_index < len(tables.mapping_table), "mapping_index")
        need(all(0 < line.function_index < len(tables.function_table) for line in location.lines), "function_index")
        need(all(0 < a < len(tables.attribute_table) for a in location.attribute_indices), "location attribute")
    for stack in tables.stack_table[1:]:
        need(all(0 < i < len(tables.location_table) for i in stack.location_indices), "location_indices")
    sums = {}
    for resource in data.resource_profiles:
        keys = {a.key: a.value for a in resource.resource.attributes}
        need(keys["process.pid"].int_value, "no pid")
        for scope in resource.scope_profiles:
            need(scope.scope.name == "pyprof", "scope", scope.scope)
            for profile in scope.profiles:
                kind = (strings[profile.sample_type.type_strindex], strings[profile.sample_type.unit_strindex])
                need(profile.time_unix_nano and profile.duration_nano and profile.period, "time, duration, period")
                seen = set()
                for sample in profile.samples:
                    identity = (sample.stack_index, tuple(sample.attribute_indices), sample.link_index, *sample.timestamps_unix_nano)
                    need(identity not in seen, "a sample is there twice")
                    seen.add(identity)
                    need(0 < sample.stack_index < len(tables.stack_table), "stack_index")
                    need(len(sample.values) == 1, "values")
                    need(len(sample.timestamps_unix_nano) == bool(sample.link_index), "a time without a link, or a link without a time")
                    names = [strings[tables.attribute_table[a].key_strindex] for a in sample.attribute_indices]
                    need("thread.name" in names, "attributes:", names)
                    sums[kind] = sums.get(kind, 0) + sample.values[0]
    need(set(sums) == {("samples", "count"), ("cpu", "nanoseconds")}, "types:", sums)
    return sums[("cpu", "nanoseconds")]


def otel_logs(path):
    """One log record for each process, its body a pprof profile: of the type that the record says, cut short nowhere."""
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

    data = LogsData()
    with open(path, "rb") as file:
        data.ParseFromString(file.read())
    total = 0
    for resource in data.resource_logs:
        records = [record for scope in resource.scope_logs for record in scope.log_records]
        need(len(records) == 1 and any(a.key == "process.pid" for a in resource.resource.attributes), "records of a process")
        values = {a.key: a.value for a in records[0].attributes}
        need(values["profiling.data.format"].string_value == "pprof-gzip-base64", values)
        body = base64.b64decode(records[0].body.string_value, validate=True)
        total += sum(ns for _, (_, ns), _ in traces.pprof_samples(body))
    return total


def pprof(path):
    with open(path, "rb") as file:
        return sum(ns for _, (_, ns), _ in traces.pprof_samples(file.read()))


def pstats_total(path):
    import pstats

    stats = pstats.Stats(path)
    for key, (cc, nc, tt, ct, callers) in stats.stats.items():
        need(len(key) == 3 and cc <= nc and tt <= ct + 1e-9, key, cc, nc, tt, ct)
        need(all(c in stats.stats and len(v) == 4 for c, v in callers.items()), "callers of", key)
    return stats, round(stats.total_tt * 1e9)


def svg(path, collapsed_path):
    import collections
    import xml.etree.ElementTree as tree

    space, inner = "{http://www.w3.org/2000/svg}", 1180
    root = tree.parse(path).getroot()
    for element in root.iter():
        need(element.tag[len(space) :] in "svg desc defs pattern path rect text g title".split(), "element:", element.tag)
        need(not any(a.startswith("on") or "href" in a for a in element.attrib), "attributes:", element.attrib)
    rows = collections.defaultdict(list)
    for group in root.find(f"{space}g[@id='graph']"):
        box, title, text = (group.find(space + tag) for tag in ("rect", "title", "text"))
        x, y, width = (float(box.get(name)) for name in ("x", "y", "width"))
        name, share = re.fullmatch(r"(?s)(.*)\n([0-9.]+) %, [0-9.]+ s", title.text).groups()
        need(abs(width - inner * float(share) / 100) < 0.07, "width:", width, "of", title.text)
        need(text is None or len(text.text) * 6.6 <= width, "text does not fit:", width, text is None or text.text)
        rows[y].append((x, width, name))
    need(len(rows[min(rows)]) == 1, "more than one root")
    selves = collections.Counter()
    for y, row in rows.items():
        row.sort()
        need(all(a[0] + a[1] <= b[0] + 0.01 for a, b in zip(row, row[1:])), "boxes over each other in row", y)
        placed = 0
        for x, width, name in row:
            below = [b for b in rows.get(y + 18, []) if x - 0.01 <= b[0] and b[0] + b[1] <= x + width + 0.01]
            placed += len(below)
            selves[name] += width - sum(b[1] for b in below)
        need(placed == len(rows.get(y + 18, [])), "boxes without one above them, below row", y)
    wanted = collections.Counter()
    with open(collapsed_path, encoding="utf-8") as lines:
        for line in lines:
            stack, ns = re.fullmatch(r"(.*) (\d+)\n", line).groups()
            wanted[stack.split(";")[-1]] += int(ns)
    whole = sum(wanted.values())
    for name, ns in wanted.most_common(10):
        # a semicolon in a name is a colon in collapsed stacks
        texts = {text.replace(";", ":"): width for text, width in selves.items()}
        named = sum(w for text, w in texts.items() if text == name or (text.endswith("…") and name.startswith(text[:-1])))
        need(re.search(r"[^ -~]", name) or abs(named - inner * ns / whole) < 0.5, name, "has", named, "not", ns)
    return 0


def total(directory, info_path):
    with open(info_path, encoding="utf-8") as file:
        sums = json.load(file)["total"]
    wanted = shown(sums)
    readers = {
        "collapsed": collapsed,
        "speedscope.json": speedscope,
        "firefox.json": firefox,
        "perf": perf,
        "callgrind": callgrind,
        "otlp": otlp,
        "otel-logs": otel_logs,
        "pstats": lambda path: pstats_total(path)[1],
        "pb.gz": pprof,
    }
    elsewhere = {"svg"}  # svg() below
    wrong = 0
    for extension in sorted({path[2:] for path in os.listdir(directory) if path.startswith("p.")} - elsewhere):
        need(extension in readers, "no reader of", extension)
        found = readers[extension](f"{directory}/p.{extension}")
        wrong |= found != wanted
        print(f"{extension:16} {found} ns{'' if found == wanted else f', info says {wanted}'}")
    return wrong


PARTS = "cpu", "sampled", "unsampled", "lost", "own", "thread_exit", "difference", "estimated"


def shown(sums):
    """What is in the stacks: all but what profiling cost. So an export and what it says that it leaves out are the CPU time."""
    return sums["cpu_ns"] - sums["own_ns"] - sums["difference_ns"]


def accounting(path, info):
    with open(info, encoding="utf-8") as file:
        report = json.load(file)
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith((".otlp", ".otel-logs")):
        return accounting_of_processes(path, data, report["processes"])
    data = gzip.decompress(data) if path.endswith(".gz") else data
    line = " ".join(f"{name}={report['total'][name + '_ns']}" for name in PARTS).replace("cpu=", "cpu_ns=") + f" shown={shown(report['total'])}"
    need(line.encode() in data, "not in", path, line)
    return 0


def accounting_of_processes(path, data, processes):
    from opentelemetry.proto.logs.v1 import logs_pb2
    from opentelemetry.proto.profiles.v1development import profiles_pb2

    profiles, logs = profiles_pb2.ProfilesData(), logs_pb2.LogsData()
    (logs if path.endswith("logs") else profiles).ParseFromString(data)
    sums = {}
    for resource in (*profiles.resource_profiles, *logs.resource_logs):
        values = {pair.key: pair.value.int_value for pair in resource.resource.attributes}
        sums[values["process.pid"]] = {name: values[f"pyprof.{name}_ns"] for name in (*PARTS, "shown")}
    for process in processes:
        wanted = {**{name: process[name + "_ns"] for name in PARTS}, "shown": shown(process)}
        need(sums[process["pid"]] == wanted, sums[process["pid"]], "is not", wanted)
    need(any(process["estimated_ns"] for process in processes), "nothing is an estimate: the test shows less than it should")
    return 0


def main(command, *arguments):
    if command == "accounting":
        return accounting(*arguments)
    if command == "total":
        return total(*arguments)
    if command == "svg":
        return svg(*arguments)
    if command == "pstats":
        stats, found = pstats_total(arguments[0])
        stats.sort_stats("tottime").print_stats(10).print_callers(5).print_callees(5)
        stats.add(arguments[0])
        need(found == int(arguments[1]), found, "ns, expected", arguments[1])
        return 0
    if command == "snakeviz":
        import pstats

        from snakeviz.stats import json_stats, table_rows

        stats = pstats.Stats(arguments[0])
        need(len(table_rows(stats)) == len(stats.stats), "rows")
        need(len(json.dumps(json_stats(stats))) > 100, "no data")
        return 0
    sys.exit(__doc__)


sys.exit(main(*sys.argv[1:]))
