"""counted.py TRUTH [measured [ELSEWHERE...]]: compares `pyprof report --json --by endpoint` with what tests/workloads/counted_client.py has
printed: all requests are there, and the CPU time per request is what the endpoints measured themselves; ELSEWHERE in the name: in a task or thread of their own."""
import json
import os
import subprocess
import sys

truth = json.load(open(sys.argv[1]))
measured = "measured" in sys.argv[2:]
report = [os.environ["PYPROF"], "report", "--json", "--by", "endpoint"]
rows = {row["value"] or "": row for row in json.loads(subprocess.run(report, check=True, stdout=subprocess.PIPE).stdout)["by"]}
wrong = []
for name, (count, used) in truth.items():
    row = rows.get(name, {})
    each, samples = used / count, row.get("samples", 0)
    print(f"{name or '(none)'}: {count} requests, {each / 1e6:.2f} ms each;", row)
    if row.get("requests") != count:
        wrong.append(f"{name}: {count} requests were answered")
    if measured != (row.get("measured_requests") == count):
        wrong.append(f"{name}: not {'all' if measured else 'none'} measured")
        continue
    if not used:
        continue
    # The framework's own time is the endpoint's, too: some 1 ms of a request.
    sigma = row.get("cpu_ns", 0) / max(samples, 1) ** 0.5 / count
    if not each - 5 * sigma - 0.03 * each < row.get("cpu_per_request_ns", 0) < each + 5 * sigma + 0.03 * each + 1.5e6:
        wrong.append(f"{name}: {each:.0f} ns by the thread's clock")
    if not row.get("cpu_per_request_low_ns", 0) <= row.get("cpu_per_request_ns", 0) <= row.get("cpu_per_request_high_ns", 0):
        wrong.append(f"{name}: not within its interval")
    if measured and not row["p50_ns"] <= row["p99_ns"]:
        wrong.append(f"{name}: spread")
    if any(part in name for part in sys.argv[3:]):
        if row["measured_ns"] > 0.5 * used:
            wrong.append(f"{name}: measured {row['measured_ns'] / count:.0f} ns of its coroutine alone")
    elif measured and not 0.97 * each < row["measured_ns"] / count < each * 1.1 + 2e6:
        wrong.append(f"{name}: measured {row['measured_ns'] / count:.0f} ns")
    elif measured and name.startswith("/light") and not 0.95 * each < row["p50_ns"] < each * 1.1 + 2e6:
        wrong.append(f"{name}: p50 {row['p50_ns']} ns")  # each of its requests takes as much
if "requests" in rows.get("", {}):
    wrong.append("requests of none")
counted = sum(row.get("requests", 0) for row in rows.values())
if counted != sum(count for count, _ in truth.values()):
    wrong.append(f"{counted} requests in all")
sys.exit("\n".join(wrong) or 0)
