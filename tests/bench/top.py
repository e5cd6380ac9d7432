"""What watching costs: top.py SECONDS COMMAND... runs the command on a terminal and prints, as words, the per cent of a core
that it took after its first seconds, the screens that it drew in that time, and the longest time between two, in seconds."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

FIRST = 3  # seconds: what is there already is read once
HOME = b"\x1b[H"


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def main():
    seconds, command = float(sys.argv[1]), sys.argv[2:]
    pid, terminal = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    begin, since, screens = time.monotonic(), None, []
    while (now := time.monotonic()) < begin + FIRST + seconds:
        if since is None and now >= begin + FIRST:
            since = now, cpu_seconds(pid)
        if select.select([terminal], [], [], 0.1)[0] and HOME in os.read(terminal, 1 << 16) and since:
            screens.append(time.monotonic())
    used = cpu_seconds(pid) - since[1]
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:  # it has closed the terminal
        pass
    _, status = os.waitpid(pid, 0)
    gaps = [after - before for before, after in zip(screens, screens[1:])]
    print(f"{100 * used / (now - since[0]):.3f} {len(screens)} {max(gaps, default=0):.2f}")
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
