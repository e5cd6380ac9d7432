"""One thread whose functions use 512:256:...:1, and such as meet the kernel's ticks in special ways:
measured_split.py TRUTH_DIRECTORY KIND SECONDS

    steady   one function after the other
    bursts   one of them at random for less than a tick, then it sleeps for a random time; SECONDS of CPU
    locked   1.5 ms at one phase of the tick, where no tick comes, and at times a job of 20 ms; before all other programs,
             if we may ask for that
    crowded  the same, not before other programs, and beside one for each CPU and one more that never sleep
    eight    an 8 ms loop of 1.5 ms bursts, at eight phases one after the other, and at times a job of 20 ms
    idle     200 wake-ups a second of 0.2 ms each; SECONDS of the clock on the wall
"""

import os
import random
import signal
import sys
import time

import truth

SHARES = [1 << k for k in range(9, -1, -1)]
TICK_NS = round(time.clock_getres(6) * 1e9)  # CLOCK_MONOTONIC_COARSE


FUNCTIONS = [truth.named(f"f{share}") for share in SHARES]
locked_burst, rare_job, serve_request = map(truth.named, ("locked_burst", "rare_job", "serve_request"))


def steady(seconds):
    while time.process_time() < seconds:
        for function, share in zip(FUNCTIONS, SHARES):
            function(share * 100_000)


def bursts(seconds):
    while time.process_time() < seconds:
        (function,) = random.choices(FUNCTIONS, SHARES)
        function(random.randrange(100_000, TICK_NS * 3 // 8))
        time.sleep(random.random() * TICK_NS / 2e9)


def tick_phase_ns():
    """When ticks come, in ns within a tick: the coarse clock advances then, while there are ticks, which is not during a
    sleep on an idle CPU."""
    phases = []
    last = time.clock_gettime_ns(6)
    while len(phases) < 15:
        if (now := time.clock_gettime_ns(6)) != last:
            phases.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC) % TICK_NS)
            last = now
    # the middle one, on a circle
    return min(phases, key=lambda p: sum(abs((q - p + TICK_NS // 2) % TICK_NS - TICK_NS // 2) for q in phases))


def sleep_until(ns):
    while (left := ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) > 0:
        time.sleep(left / 1e9)


def in_step(seconds, period_ns, phases_ns):
    """A burst in each period, at the same time after a tick; at each of the phases for its part of the SECONDS. Four jobs
    of 20 ms in each second."""
    tick_ns = tick_phase_ns()
    for phase in phases_ns:
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        at = start - start % TICK_NS + tick_ns + phase
        end = start + int(seconds * 1e9 / len(phases_ns))
        job_at = start + 125_000_000
        while at < end:
            at += period_ns
            if time.clock_gettime_ns(time.CLOCK_MONOTONIC) > at:
                continue
            sleep_until(at)
            locked_burst(1_500_000)
            if at > job_at:
                rare_job(20_000_000)
                job_at += 250_000_000


def be_punctual():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass


def crowded(seconds):
    loop = ["sh", "-c", "while :; do :; done"]
    crowd = [os.posix_spawn("/bin/sh", loop, os.environ) for _ in range(os.cpu_count() + 1)]
    try:
        in_step(seconds, TICK_NS, [TICK_NS // 5])
    finally:
        # not waited for: their CPU is not ours
        for pid in crowd:
            os.kill(pid, signal.SIGKILL)


def locked(seconds):
    be_punctual()
    in_step(seconds, TICK_NS, [TICK_NS // 5])


def eight(seconds):
    be_punctual()
    in_step(seconds, 2 * TICK_NS, [k * TICK_NS // 4 for k in range(8)])


def idle(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        serve_request(200_000)
        time.sleep(0.0048)


KINDS = {"steady": steady, "bursts": bursts, "locked": locked, "crowded": crowded, "eight": eight, "idle": idle}
KINDS[sys.argv[2]](float(sys.argv[3]))
truth.write()
