"""Gives rights up, one kind in each child: rights_given_up.py [landlock]. Prints what the kernel says of all its threads: the same
with the profiler as without it."""

import ctypes
import os
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
CAPABILITIES = (struct.pack("II", 0x20080522, 0), struct.pack("6I", 0, 0, 0, 0, 0, 0))
WAYS = {
    "capset": lambda: libc.capset(*CAPABILITIES),
    "capset by syscall()": lambda: libc.syscall(126, *CAPABILITIES),
    "no_new_privs": lambda: libc.prctl(38, 1, 0, 0, 0),
    "no_new_privs by syscall()": lambda: libc.syscall(157, 38, 1, 0, 0, 0),
    "bounding set": lambda: [libc.prctl(24, number, 0, 0, 0) for number in range(30)],
    "securebits": lambda: libc.prctl(28, 0x2F, 0, 0, 0),
    "user by syscall()": lambda: libc.syscall(117, 12345, 12345, 12345),
    "groups by syscall()": lambda: libc.syscall(116, 0, None),
    "mount namespace by syscall()": lambda: libc.syscall(272, 0x20000),
    "a filter for this thread": lambda: filter_here(),
}


def burn(seconds=0.1):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def filter_here():
    libc.prctl(38, 1, 0, 0, 0)
    rules = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    return libc.prctl(22, 2, struct.pack("HxxxxxxQ", 1, ctypes.addressof(rules)), 0, 0)


def of_all_threads():
    keys = "Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp"
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as status:
            lines = "".join(line for line in status if line.startswith(keys))
        try:
            lines += str(os.readlink(f"/proc/self/task/{task}/ns/mnt") == os.readlink("/proc/thread-self/ns/mnt"))
        except PermissionError:
            pass
        yield lines


def before_landlock():
    burn(0.5)


def behind_landlock():
    burn(2.5)


def landlock():
    before_landlock()
    rules = libc.syscall(444, struct.pack("Q", 0x1FFF), 8, 0)  # no use of any file
    print(rules >= 0, libc.prctl(38, 1, 0, 0, 0), libc.syscall(446, rules, 0), flush=True)
    behind_landlock()


if "landlock" in sys.argv:
    landlock()
    sys.exit()
for name, give_up in WAYS.items():
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        burn()
        print(name, give_up())
        print("\n".join(sorted(set(of_all_threads()))))
        burn()
        sys.stdout.flush()
        os._exit(0)
    print("ended with status", os.waitpid(pid, 0)[1])
