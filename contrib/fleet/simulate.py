#!/usr/bin/env python3
"""What a server sees of many pushers: simulate.py [HOSTS [OUTAGE_SECONDS [REQUESTS_PER_SECOND]]]

Each host runs one `pyprof push` with windows of 15 s, which waits a random part of a window before its first one and, after a
failure, half to all of 0.5 s, 1 s, 2 s ... 60 s (tools/push). The server is away for a time, then answers so many requests in
a second and refuses the others with 429. `aligned`: the same hosts, were all windows to end at the same moment and waits equal."""

import collections
import heapq
import random
import sys

WINDOW, FIRST, LONGEST, TAKES, HOUR = 15, 0.5, 60, 0.05, 3600
BEFORE = 5 * WINDOW


def simulate(hosts, outage, capacity, spread):
    """The numbers of requests by second, and when the last window of the outage was taken."""
    back = BEFORE + outage
    phases = [random.random() * WINDOW if spread else 0 for _ in range(hosts)]
    sent, delays, late = [0] * hosts, [0] * hosts, set(range(hosts))
    asked, taken, caught_up = collections.Counter(), collections.Counter(), 0
    events = [(phase + WINDOW, host) for host, phase in enumerate(phases)]
    heapq.heapify(events)
    while late and events[0][0] < back + HOUR:
        now, host = heapq.heappop(events)
        second = int(now)
        asked[second] += 1
        if BEFORE <= now < back or taken[second] >= capacity:
            delays[host] = min(max(2 * delays[host], FIRST), LONGEST)
            heapq.heappush(events, (now + delays[host] * (random.uniform(0.5, 1) if spread else 1), host))
            continue
        taken[second] += 1
        delays[host] = 0
        sent[host] += 1
        due = phases[host] + (sent[host] + 1) * WINDOW
        if due <= now:  # what the outage left is sent window by window, each after the answer to the one before
            heapq.heappush(events, (now + TAKES, host))
            continue
        if now >= back and host in late:
            late.remove(host)
            caught_up = now - back
        heapq.heappush(events, (due, host))
    return asked, None if late else caught_up


def most(asked, begin, end):
    return max((asked[second] for second in range(begin, end)), default=0)


def main():
    if len(sys.argv) > 4 or not all(word.isdigit() for word in sys.argv[1:]):
        sys.exit(__doc__)
    hosts, outage, capacity = [int(word) for word in sys.argv[1:]] + [10000, 600, 2000][len(sys.argv) - 1 :]
    random.seed(1)
    print(f"{hosts} hosts, the server away for {outage} s, then {capacity} requests a second")
    for name, spread in ("spread", True), ("aligned", False):
        asked, caught_up = simulate(hosts, outage, capacity, spread)
        back = BEFORE + outage
        print(
            f"{name:8} requests in a second: {most(asked, 2 * WINDOW, BEFORE)} at most before, "
            f"{most(asked, BEFORE + 120, back)} while it is away, {most(asked, back, max(asked))} after; "
            + (f"all is sent {caught_up:.0f} s after it is back" if caught_up else "not all is sent an hour later")
        )


if __name__ == "__main__":
    main()
