"""counted_client.py PORT NAME=PATH*COUNT...: sends requests to a local server, some at a time, and prints as JSON how many of
each endpoint NAME were answered, and the nanoseconds that their answers say. Of PATH, {} is the request's number."""
import collections
import concurrent.futures
import json
import sys
import time
import urllib.error
import urllib.request

base = f"http://127.0.0.1:{int(sys.argv[1])}"
# A proxy of the environment has no business between two local processes.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
deadline = time.monotonic() + 120
counts, used = collections.Counter(), collections.Counter()


def ask(job):
    name, path = job
    while True:
        try:
            with opener.open(base + path, timeout=60) as answer:
                return name, answer.read()
        except urllib.error.HTTPError as error:
            return name, b"" if error.code in (404, 500) else sys.exit(f"{path}: {error}")
        except urllib.error.URLError as error:  # it does not listen yet
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


jobs = []
for word in sys.argv[2:]:
    name, path = word.split("=", 1)
    path, count = path.rsplit("*", 1)
    jobs += [(name, path.format(number)) for number in range(int(count))]
ask(jobs[0])
counts[jobs[0][0]] += 1
time.sleep(2)  # what was imported is found once a second
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for name, body in pool.map(ask, jobs[1:]):
        counts[name] += 1
        used[name] += int(body) if body.isdigit() else 0
print(json.dumps({name: [counts[name], used[name]] for name in counts}))
