"""Whether a profile gives the functions of light_service.py what they have used, but for chance.

    light_service_judge.py TRUTH.json PROFILE [POOL]   prints a line, and adds the case to the file POOL; status 1: it does not
    light_service_judge.py pool POOL                   the same of all cases together: chance is less there, a bias is not
    light_service_judge.py simulate RUNS               of samplers that are known to be fair, and of one that is not

Chance: a function that uses t gets, of samples that each stand for the CPU since the one before them, in the mean t, with a
variance of t W, W being the mean weight of the sample that a moment of CPU belongs to: the period where all samples weigh
the same, two periods where they come at random (weights are exponential then), which is the most that a fair clock has.
The bound is three of that sigma and 2 % of the truth. [unsampled] is nobody's: a function that was not sampled is missing."""

import json
import math
import os
import random
import subprocess
import sys

from light_service import FUNCTIONS

SIGMAS, PERCENT = 3.0, 2.0
RANDOM = 2.0  # W in mean weights


def out_of_bounds(error, used, variance):
    return abs(error) > SIGMAS * math.sqrt(variance) + PERCENT / 100 * used


def judge(truth, seen, weight):
    """[(name, ns used, ns too much, sigmas of chance, whether it is wrong)] of each function and of all three. weight: the
    mean one of a sample."""
    found = []
    for name, used in dict(truth, all=sum(truth.values())).items():
        error = (seen[name] if name in seen else sum(seen.values())) - used
        variance = RANDOM * weight * used
        found.append((name, used, error, error / max(math.sqrt(variance), 1), out_of_bounds(error, used, variance)))
    return found


def passes(truth, seen, weight):
    return not any(wrong for *_, wrong in judge(truth, seen, weight))


def pyprof(*arguments):
    return subprocess.run([os.environ["PYPROF"], *arguments], check=True, stdout=subprocess.PIPE).stdout.decode()


def seen_in(profile):
    """{function: ns} of the collapsed stacks."""
    seen = dict.fromkeys(FUNCTIONS, 0)
    for line in pyprof("export", "--format", "collapsed", "--native=none", profile).splitlines():
        stack, _, ns = line.rpartition(" ")
        for name in FUNCTIONS:
            if f";{name} (" in stack:
                seen[name] += int(ns)
    return seen


def main(truth_path, profile, pool=None):
    with open(truth_path) as file:
        told = json.load(file)
    info = json.loads(pyprof("info", "--json", profile))
    total, clocks = info["total"], {process["clock"] for process in info["processes"]}
    share = {name: 100 * total[f"{name}_ns"] / total["cpu_ns"] for name in ("unsampled", "own")}
    weight = total["sampled_ns"] / max(total["samples"], 1)
    found = judge(told["functions"], seen_in(profile), weight)
    cells = [f"{told['server']:8} {told['rate']:>4}/s {told['requests']:5} requests"]
    for name, used, error, sigmas, wrong in found:
        cells.append(f"{name} {(used + error) / 1e6:6.0f} of {used / 1e6:5.0f} ms {sigmas:+5.1f}{'!' if wrong else ' '}")
    cells.append(f"cpu {total['cpu_ns'] / 1e9:5.2f} s, samples {total['samples']:4}")
    cells.append(f"[unsampled] {share['unsampled']:4.1f} %, own {share['own']:4.1f} %")
    print(" | ".join(cells + sorted(clocks)), flush=True)
    if pool:
        with open(pool, "a") as file:
            file.writelines(f"{name} {used} {error} {RANDOM * weight * used}\n" for name, used, error, _, _ in found)
    return 1 if any(wrong for *_, wrong in found) else 0


def pooled(pool):
    """Of independent cases, whose chance is known, the sum of n sigmas has a sigma of the root of n. Each counts the same, for
    a busy server would hide what is wrong with those that have little to do."""
    cases = {}
    with open(pool) as file:
        for line in file:
            name, *values = line.split()
            cases.setdefault(name, []).append([float(value) for value in values])
    status = 0
    for name, found in cases.items():
        root = math.sqrt(len(found))
        sigmas = sum(error / math.sqrt(variance) for _, error, variance in found) / root
        allowed = SIGMAS + sum(PERCENT / 100 * used / math.sqrt(variance) for used, _, variance in found) / root
        wrong = abs(sigmas) > allowed
        print(f"{name:6}{sigmas:+6.1f} sigma in {len(found)} cases together, {allowed:.1f} allowed{'  <-- wrong' if wrong else ''}")
        status |= wrong
    return status


PERIOD_NS, TICK_NS = 10e6, 4e6
GAPS = {  # of CPU between two samples, in periods
    "regular": lambda chance: 1.0,
    "uniform": lambda chance: chance.uniform(0, 2),
    "exponential": lambda chance: chance.expovariate(1),
}


def bursts(chance, requests):
    """[(function, ns)]: one of the three from some way into the request on, as a service has them."""
    for _ in range(requests):
        yield None, chance.uniform(0.2e6, 0.6e6)
        yield chance.choice(FUNCTIONS), chance.uniform(0.9e6, 1.3e6)
        yield None, chance.uniform(0.1e6, 0.3e6)


def simulated(chance, gap, requests):
    """Truth and what a clock shows of it that does not look where it samples."""
    truth, seen = dict.fromkeys(FUNCTIONS, 0.0), dict.fromkeys(FUNCTIONS, 0.0)
    samples, sampled, now, last, due = 0, 0.0, 0.0, 0.0, chance.random() * PERIOD_NS
    for function, ns in bursts(chance, requests):
        now += ns
        if function:
            truth[function] += ns
        while due < now:
            if function:
                seen[function] += due - last
            samples, sampled, last = samples + 1, sampled + due - last, due
            due += gap(chance) * PERIOD_NS
    return truth, seen, sampled / max(samples, 1)


def in_step(chance, requests):
    """The same of a clock that samples at ticks, where nine of ten requests begin just before one, as those do that a timer of
    the kernel starts: the sample is in what parses the request, never in the work."""
    truth, seen = dict.fromkeys(FUNCTIONS, 0.0), dict.fromkeys(FUNCTIONS, 0.0)
    samples, sampled, now, last, to_tick = 0, 0.0, 0.0, 0.0, TICK_NS
    for number, (function, ns) in enumerate(bursts(chance, requests)):
        if number % 3 == 0:
            to_tick = chance.uniform(0, 0.2e6 if chance.random() < 0.9 else TICK_NS)
        if function:
            truth[function] += ns
        if to_tick < ns and now + to_tick - last >= PERIOD_NS:
            at = now + to_tick
            if function:
                seen[function] += at - last
            samples, sampled, last = samples + 1, sampled + at - last, at
        now += ns
        to_tick = (to_tick - ns) % TICK_NS
    return truth, seen, sampled / max(samples, 1)


def simulate(runs):
    status = 0
    for requests in 500, 2000:
        for name, gap in GAPS.items():
            passed = sum(passes(*simulated(random.Random(run), gap, requests)) for run in range(runs))
            print(f"{requests} requests, {name} weights: {passed} of {runs} runs pass")
            status |= passed < 0.99 * runs
        passed = sum(passes(*in_step(random.Random(run), requests)) for run in range(runs))
        print(f"{requests} requests, at ticks that most requests begin before: {passed} of {runs} runs pass")
        status |= passed > 0.05 * runs
    return status


if __name__ == "__main__":
    if sys.argv[1] == "simulate":
        sys.exit(simulate(int(sys.argv[2])))
    sys.exit(pooled(sys.argv[2]) if sys.argv[1] == "pool" else main(*sys.argv[1:]))
