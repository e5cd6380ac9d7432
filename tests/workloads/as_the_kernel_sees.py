"""What a program can ask the kernel about itself, and what the kernel refuses to a process with threads: as_the_kernel_sees.py
Prints the same with the profiler as without it."""

import ctypes
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings

warnings.simplefilter("ignore")
libc = ctypes.CDLL(None, use_errno=True)


def burn(seconds=0.05):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def kernel_action(number):
    """handler, flags and mask as the kernel has them"""
    action = (ctypes.c_uint64 * 4)()
    libc.syscall(13, number, None, action, 8)
    return bool(action[0] > 1), hex(action[1]), hex(action[3])


def alternate_stack():
    stack = (ctypes.c_uint64 * 3)()
    libc.sigaltstack(None, stack)
    return bool(stack[0]), stack[1] & 0xFFFFFFFF, stack[2]


def fault_handlers():
    for step in "nothing", "enable", "later", "disable":
        if step == "enable":
            faulthandler.enable()
        elif step == "later":
            faulthandler.dump_traceback_later(0.05, file=open(os.devnull, "w"))
            burn(0.1)
            faulthandler.cancel_dump_traceback_later()
        elif step == "disable":
            faulthandler.disable()
        burn()
        print(step, [kernel_action(n) for n in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)], alternate_stack())


def faults():
    """A real one, with faulthandler and without."""
    for options in [], ["-X", "faulthandler"]:
        code = "import ctypes, time\nt = time.process_time()\nwhile time.process_time() < t + 0.1: pass\nctypes.string_at(8)"
        done = subprocess.run([sys.executable, *options, "-c", code], stderr=subprocess.PIPE, text=True)
        lines = [line for line in done.stderr.splitlines() if "0x" not in line]
        print(done.returncode, lines)


def descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    burn()
    print(sorted(os.listdir("/proc/self/fd")))
    opened = []
    try:
        while True:
            opened.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        print(len(opened), opened[0], error.errno)
        burn(1.2)  # a flush falls into it
    for fd in opened:
        os.close(fd)


def identities():
    """Of every thread. One that is joined may still be on its way out."""
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/status") as status:
                lines = status.readlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield from (tuple(line.split()[1:]) for line in lines if line.startswith(("Uid", "Gid", "Groups")))


def identity():
    """setuid and its kin reach every thread by a signal of glibc's."""
    thread = threading.Thread(target=burn, args=(0.3,))
    thread.start()
    if os.getuid() == 0:
        os.setgroups([1, 2])
        os.setegid(12345)
        os.seteuid(12345)
        os.seteuid(0)
        os.setegid(0)
        os.setgid(12345)
        os.setuid(12345)
    thread.join()
    print(sorted(set(identities())), os.getresuid(), os.getresgid(), os.getgroups())


def namespaces():
    CLONE_FS, CLONE_FILES, CLONE_NEWNS, CLONE_VM, CLONE_SIGHAND = 0x200, 0x400, 0x20000, 0x100, 0x800
    for kind in "mnt", "uts", "ipc", "user":
        fd = os.open(f"/proc/self/ns/{kind}", os.O_RDONLY)
        print(kind, libc.setns(fd, 0), ctypes.get_errno())
        os.close(fd)
    for flags in CLONE_FS, CLONE_FILES, CLONE_NEWNS, CLONE_VM, CLONE_SIGHAND, CLONE_FS | CLONE_VM, 0x04000000, 0x10000000:
        print(hex(flags), libc.unshare(flags), ctypes.get_errno())


def scheduling():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.nice(3)
    burn()
    print(len(os.sched_getaffinity(0)), os.nice(0), os.sched_getscheduler(0))


def process_flags():
    for option, value in (4, 0), (38, 1), (36, 1), (1, 15):  # DUMPABLE, NO_NEW_PRIVS, CHILD_SUBREAPER, PDEATHSIG
        print(option, libc.prctl(option, value, 0, 0, 0))
        burn()
    print(libc.prctl(3), libc.prctl(39, 0, 0, 0, 0))


def limits():
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    burn(0.5)
    print("lives")


for look in (fault_handlers, faults, descriptors, identity, namespaces, scheduling, process_flags, limits):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        look()
        sys.stdout.flush()
        os._exit(0)
    print(look.__name__, "ended with status", os.waitpid(pid, 0)[1])
