"""Compares CPU over time in a page of `pyprof flame` with `pyprof info --intervals`: strip.py PAGE.TXT INFO.JSON, the
output of page.py and of info --json. Each bucket must have what the intervals come to that lie in it, each spread evenly,
and none more than the machine has."""

import json
import sys

# A sample weighs CPU that its thread used since its last one: a period and some ticks of the kernel, perhaps before the
# interval. The samples' CPU is without the library's own.
SLACK = 60e6


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        page = {name: int(value) for name, value in (line.split() for line in lines)}
    with open(sys.argv[2], encoding="utf-8") as file:
        info = json.load(file)
    width, count = page["bucket_ns"], page["buckets"]
    start = min(process["start_unix_ns"] for process in info["processes"]) + page["since_ns"]
    wanted, threads = [0.0] * count, 0
    for process in info["processes"]:
        threads += process["threads"] + process["exited_threads"]
        for interval in process["intervals"]:
            end = interval["end_unix_ns"] - start
            begin = end - interval["wall_ns"]
            for bucket in range(count if interval["wall_ns"] else 0):
                part = min(end, (bucket + 1) * width) - max(begin, bucket * width)
                wanted[bucket] += interval["cpu_ns"] * max(0, part) / interval["wall_ns"]
    for bucket in range(count):
        found = page.get(f"bucket.{bucket}", 0)
        off = abs(found - wanted[bucket])
        if off > threads * SLACK + 0.03 * width or found > page["cpus"] * width + threads * SLACK:
            sys.exit(f"bucket {bucket} of {count}, {width / 1e9:.2f} s each: {found / 1e9:.3f} s CPU, expected "
                     f"{wanted[bucket] / 1e9:.3f} s, on {page['cpus']} processors")
    whole = sum(page.get(f"bucket.{bucket}", 0) for bucket in range(count))
    if abs(whole - sum(wanted)) > threads * SLACK + 0.03 * sum(wanted):
        sys.exit(f"{whole / 1e9:.3f} s CPU over time, expected {sum(wanted) / 1e9:.3f} s")


main()
