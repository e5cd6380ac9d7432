"""Takes a user namespace of its own, which the kernel grants to a process of one thread only; before and after it works."""

import ctypes
import os

from cpu import spin

CLONE_NEWUSER = 0x10000000

spin(0.3)
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        result = libc.unshare(CLONE_NEWUSER)
        spin(0.02)
        os._exit(0 if result == 0 else ctypes.get_errno())
    print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
print(libc.unshare(CLONE_NEWUSER))
spin(0.3)
