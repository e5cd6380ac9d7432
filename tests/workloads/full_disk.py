"""Fills the disk of its profile, goes on, and makes room again: full_disk.py DIRECTORY (on a small file system of its own).
Fails when it cannot write what it could write without a profiler; prints what it did."""

import glob
import os
import sys
import time

directory = sys.argv[1]
ballast = directory + "/../ballast"


def burn(seconds, until=lambda: False):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        sum(i * i for i in range(5000))
    return until()


def profiles():
    return {name: os.path.getsize(name) for name in glob.glob(directory + "/*.pyprof")}


if not burn(300, profiles):
    sys.exit("no profile")
with open(ballast, "wb", buffering=0) as file:
    space = os.statvfs(directory)
    left = space.f_bavail * space.f_frsize
    # Less than the library leaves to others (1/20), and yet some.
    part = space.f_blocks * space.f_frsize // 40
    file.write(b"x" * (left - part))
    before = profiles()
    burn(4)
    after = profiles()
    print("grown" if sum(after.values()) > sum(before.values()) else "not grown")
    # The rest is ours to write, to the last block.
    space = os.statvfs(directory)
    left = space.f_bavail * space.f_frsize
    rest = file.write(b"y" * (left - 8192))
    if rest != left - 8192:
        sys.exit(f"only {rest} of {left} bytes")
    file.write(b"z" * 100000)  # and now it is full
    burn(3)
os.unlink(ballast)
print("again" if burn(300, lambda: profiles() != after) else "never again")
burn(1.5)
