"""Prints what a program writes to a terminal of so many columns: on_terminal.py COLUMNS COMMAND..."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
child = subprocess.Popen(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave, env={"PAGER": "cat", **os.environ, "TERM": "xterm"}, start_new_session=True)
os.close(slave)
while True:
    try:
        part = os.read(master, 65536)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    sys.stdout.buffer.write(part.replace(b"\r\n", b"\n"))
sys.exit(child.wait())
