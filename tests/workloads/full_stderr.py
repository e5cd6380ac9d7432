"""Its stderr is a socket that is full, and that no process reads: full_stderr.py"""
import os
import socket
import sys

from cpu import spin

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
spin(1.5)
