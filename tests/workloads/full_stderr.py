"""full_stderr.py SANDBOX: its stderr is a pipe that is full, and nobody reads it; it ends behind a filter."""
import ctypes
import os
import sys
import time

if len(sys.argv) == 2:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 512)
    except BlockingIOError:
        os.set_blocking(writing, True)
    os.set_inheritable(reading, True)
    os.dup2(writing, 2)
    os.execv(sys.executable, [sys.executable, *sys.argv, "full"])
if ctypes.CDLL(sys.argv[1]).sandbox_here(b"999", 2) != 0:
    sys.exit(1)
end = time.thread_time() + 1.5
while time.thread_time() < end:
    pass
