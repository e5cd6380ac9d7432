"""The kernel's ticks, by the clock that advances at them."""
import time

COARSE = 6  # CLOCK_MONOTONIC_COARSE
PERIOD = time.clock_getres(COARSE)


def _phase():
    """When a tick comes, in seconds from a multiple of PERIOD: its clock's value is up to a tick older."""
    latest = []
    for _ in range(5):
        before = time.clock_gettime(COARSE)
        while time.clock_gettime(COARSE) == before:
            pass
        latest.append(time.monotonic() % PERIOD)
    return sorted(latest)[len(latest) // 2]


PHASE = _phase()


def sleep_past_tick(part=0):
    """Returns just after the next tick, or that part of a tick later."""
    now = time.monotonic()
    time.sleep(PERIOD - (now - PHASE) % PERIOD + part * PERIOD)
