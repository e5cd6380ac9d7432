"""What a page of `pyprof flame` holds, read as tools/flame/encode.c says: page.py PAGE. Prints names and numbers: what it
was made of, and CPU time by table (of a large page: who, when, busy), by process and by bucket."""

import base64
import json
import re
import sys
import zlib


def column(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def main():
    with open(sys.argv[1], encoding="utf-8") as page:
        text = re.search(r'id="data"[^>]*>([A-Za-z0-9+/=\s]+)<', page.read()).group(1)
    data, at, parts = zlib.decompress(base64.b64decode(text)), 4, []
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], "little")
        parts.append(data[at + 4:at + 4 + length])
        at += 4 + length
    about = json.loads(parts[0])
    steps, slots, buckets, _, ns = (column(part) for part in parts[3:8])
    node, tables, processes, times = 0, {}, {}, {}
    for step, slot, bucket, cpu in zip(steps, slots, buckets, ns):
        node += step
        table = "all" if not about["apart"] else "who" if bucket > about["buckets"] else "when" if node else "busy"
        tables[table] = tables.get(table, 0) + cpu
        if table in ("all", "who"):
            pid = about["processes"][about["threads"][slot // 3]["process"]]["pid"]
            processes[pid] = processes.get(pid, 0) + cpu
        if table in ("all", "when"):
            times[bucket] = times.get(bucket, 0) + cpu
    for key in ("nodes", "cells", "buckets", "bucket_ns", "since_ns", "cpus", "apart", "detail"):
        print(key, int(about[key]))
    for name, sums in (("table", tables), ("process", processes), ("bucket", times)):
        for key, cpu in sums.items():
            print(f"{name}.{key}", cpu)


main()
