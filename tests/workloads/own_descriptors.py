"""What a program meets among its descriptor numbers: each that it opens has the lowest number that is free."""
import os
import resource
import sys
import time

from cpu import spin

SECONDS = 1.5
YOUNG = 0.8


def dup_and_close(seconds):
    """How often a new descriptor did not get the number that the first one got."""
    expected = os.dup(1)
    os.close(expected)
    others = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(1000):
            fd = os.dup(1)
            others += fd != expected
            os.close(fd)
    return others


def with_none_left():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    opened = []
    try:
        while True:
            opened.append(os.dup(1))
    except OSError:
        spin(1.3)
    for fd in opened:
        os.close(fd)


def age():
    """Of this process, in seconds: where all is slow, its first second may be over when Python has started."""
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def stays_open(fd):
    """Under a filter a descriptor of the profiler's is the program's for a moment, and where all is slow for a longer one."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.fstat(fd)
        except OSError:
            return False
        time.sleep(0.01)
    return True


if "young" in sys.argv:
    print(dup_and_close(YOUNG - age()), "others")
    if "numbers" in sys.argv:
        print(dup_and_close(SECONDS), "others")
    sys.exit()
open_before = stays_open(0)
spin(1.2)
print("0 stays open" if open_before or stays_open(0) else "0 is closed")
if "numbers" in sys.argv:
    print(dup_and_close(SECONDS), "others")
if "none_left" in sys.argv:
    with_none_left()
