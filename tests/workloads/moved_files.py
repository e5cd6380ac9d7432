"""While it uses CPU its profile is moved, cut short and removed with its directory, as log rotation and people do:
moved_files.py DIRECTORY MOVED. Prints what it did."""

import glob
import os
import shutil
import sys
import time

directory, moved = sys.argv[1:]
seen = set()


def burn(until):
    end = time.monotonic() + 300
    while not until() and time.monotonic() < end:
        sum(i * i for i in range(5000))
    if not until():
        sys.exit("waited in vain")


def next_file():
    """The profile that it now writes, with something in it."""
    fresh = []

    def there():
        fresh[:] = [name for name in glob.glob(directory + "/*.pyprof") if name not in seen and os.path.getsize(name)]
        return fresh

    burn(there)
    seen.update(fresh)
    return fresh[0]


def grows(name, size):
    """Long enough to be seen, too."""
    end = time.thread_time() + 0.5
    burn(lambda: os.path.getsize(name) > size and time.thread_time() >= end)


name = next_file()
os.rename(name, moved)
print("moved")
name = next_file()
os.truncate(name, 0)
print("cut")
removed = next_file()
assert os.path.getsize(name) == 0, "it went on in the cut file"
while os.path.exists(directory):  # it may get a new file meanwhile
    shutil.rmtree(directory, ignore_errors=True)
print("removed")
name = next_file()
grows(name, os.path.getsize(name))
