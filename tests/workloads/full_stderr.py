"""Its stderr is a socket that is full, and nobody reads it: full_stderr.py"""
import os
import socket
import sys
import time

if len(sys.argv) == 1:
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    try:
        while True:
            writing.send(b"x" * 512)
    except BlockingIOError:
        writing.setblocking(True)
    reading.set_inheritable(True)
    os.dup2(writing.fileno(), 2)
    os.execv(sys.executable, [sys.executable, *sys.argv, "full"])
end = time.thread_time() + 1.5
while time.thread_time() < end:
    pass
