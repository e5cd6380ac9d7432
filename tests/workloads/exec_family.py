"""Starts a shell through each of libc's functions for it, with arguments and environment, and lets one fail; then works on.
One line per surprise."""

import ctypes
import errno
import os
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
SCRIPT = b'test "$0 $1 ${MARK-none}" = "name one %s" && exit 7'
MARKED = SCRIPT % b"marked"
INHERITED = SCRIPT % b"inherited"
os.environ["MARK"] = "inherited"


def strings(*values):
    return (ctypes.c_char_p * (len(values) + 1))(*values, None)


def arguments(script):
    return strings(b"sh", b"-c", script, b"name", b"one")


environment = strings(b"MARK=marked", b"PATH=/usr/bin:/bin")
shell = os.open("/bin/sh", os.O_RDONLY)
FUNCTIONS = {
    "execve": lambda: libc.execve(b"/bin/sh", arguments(MARKED), environment),
    "execv": lambda: libc.execv(b"/bin/sh", arguments(INHERITED)),
    "execvp": lambda: libc.execvp(b"sh", arguments(INHERITED)),
    "execvpe": lambda: libc.execvpe(b"sh", arguments(MARKED), environment),
    "fexecve": lambda: libc.fexecve(shell, arguments(MARKED), environment),
    "execl": lambda: libc.execl(b"/bin/sh", b"sh", b"-c", INHERITED, b"name", b"one", None),
    "execlp": lambda: libc.execlp(b"sh", b"sh", b"-c", INHERITED, b"name", b"one", None),
    "execle": lambda: libc.execle(b"/bin/sh", b"sh", b"-c", MARKED, b"name", b"one", None, environment),
}
if hasattr(libc, "execveat"):
    FUNCTIONS["execveat"] = lambda: libc.execveat(-1, b"/bin/sh", arguments(MARKED), environment, 0)


def spawn(function, path):
    pid = ctypes.c_int()
    error = function(ctypes.byref(pid), path, None, None, arguments(MARKED), environment)
    return os.waitpid(pid.value, 0)[1] if error == 0 else -error


def goes_on(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1000))


surprises = []
for name, function in FUNCTIONS.items():
    pid = os.fork()
    if pid == 0:
        function()
        os._exit(99)
    status = os.waitpid(pid, 0)[1]
    if status != 7 << 8:
        surprises.append(f"{name}: status {status:#x}")
for name in "posix_spawn", "posix_spawnp":
    status = spawn(getattr(libc, name), b"sh" if name.endswith("p") else b"/bin/sh")
    if status != 7 << 8:
        surprises.append(f"{name}: status {status:#x}")
if spawn(libc.posix_spawn, b"/nowhere") != -errno.ENOENT:
    surprises.append("posix_spawn of nothing")
goes_on(0.6)
if libc.execv(b"/nowhere", arguments(INHERITED)) != -1 or ctypes.get_errno() != errno.ENOENT:
    surprises.append(f"execv of nothing: errno {ctypes.get_errno()}")
goes_on(0.6)
for line in surprises:
    print(line)
sys.exit(1 if surprises else 0)
