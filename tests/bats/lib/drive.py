"""Types into a program on a terminal of its own, and reads its screen: drive.py STEPS COMMAND...

STEPS is a file; each line is a step, and all must succeed:

    expect REGEX    until a line of the screen matches
    absent REGEX    until none does
    lines N REGEX   until so many do
    key TEXT        types it; Python's escapes
    size L C        of the terminal: the program gets SIGWINCH
    signal NAME
    stopped         until it is, with the terminal as it was
    ends STATUS     the program ends so (a signal: -15), and the terminal is as it was
    touch FILE      for others that wait for it to be there

A wait may take MAX seconds: what hangs is meant, not what is slow.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

MAX = 120


class Screen:
    """So much of a terminal as pyprof uses; anything else is an error, above all what a hostile name might say."""

    def __init__(self):
        self.modes, self.entered = set(), False
        self.resize(24, 80)
        self.rest = ""

    def resize(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.cells = [[" "] * columns for _ in range(lines)]
        self.row = self.column = 0

    def text(self):
        return ["".join(row).rstrip() for row in self.cells]

    def control(self, argument, letter):
        if letter in "hl":
            for mode in argument.lstrip("?").split(";"):
                (self.modes.discard if letter == "l" else self.modes.add)(mode)
            if (argument, letter) == ("?1049", "h"):
                self.entered = True
                self.resize(self.lines, self.columns)
        elif letter == "H":
            row, _, column = argument.partition(";")
            self.row, self.column = int(row or 1) - 1, int(column or 1) - 1
        elif letter == "K" and not argument:
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
        elif letter == "J":
            if not argument:
                self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
            for row in range(self.row + 1 if not argument else 0, self.lines):
                self.cells[row] = [" "] * self.columns
        elif letter != "m":
            raise SystemExit(f"unexpected control sequence: {argument}{letter}")

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\033":
                match = re.compile(r"\033\[([?0-9;]*)([A-Za-z])").match(text, at)
                if not match:
                    if len(text) - at > 20:
                        raise SystemExit(f"not a control sequence: {text[at : at + 20]!r}")
                    self.rest = text[at:]
                    return
                self.control(match[1], match[2])
                at = match.end()
                continue
            character = text[at]
            at += 1
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self.row += 1
            elif character < " " or "\x7f" <= character < "\xa0" or "\u202a" <= character <= "\u202e":
                raise SystemExit(f"unexpected character {character!r}")
            elif self.row < self.lines and self.column < self.columns:
                self.cells[self.row][self.column] = character
                self.column += 1
            elif self.modes and "7" not in self.modes:  # autowrap is off: what is too long stays in its line
                raise SystemExit(f"outside the screen, {self.row} {self.column}: {character!r}")


def set_size(descriptor, lines, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def main():
    master, slave = pty.openpty()
    set_size(slave, 24, 80)
    before = termios.tcgetattr(slave)
    screen = Screen()
    environment = dict(os.environ, TERM="xterm-256color")

    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave, env=environment, preexec_fn=own_terminal)
    decoder = __import__("codecs").getincrementaldecoder("utf-8")("strict")

    def read(seconds):
        ready, _, _ = select.select([master], [], [], seconds)
        if ready:
            screen.feed(decoder.decode(os.read(master, 65536)))
        return bool(ready)

    def wait_for(done, what):
        end = time.monotonic() + MAX
        while not done():
            read(0.1)
            if time.monotonic() > end:
                child.kill()
                sys.exit("waited in vain for: " + what + "\n" + "\n".join(screen.text()))

    def check_restored():
        while read(0.2):
            pass
        if termios.tcgetattr(slave) != before:
            sys.exit("the terminal's settings are not restored")
        if screen.modes != ({"7", "25"} if screen.entered else set()):
            sys.exit(f"modes of the terminal: {screen.modes}")

    with open(sys.argv[1], encoding="utf-8") as steps:
        for line in steps:
            verb, _, argument = line.rstrip("\n").partition(" ")
            if verb in ("expect", "absent"):
                wait_for(lambda: any(re.search(argument, row) for row in screen.text()) == (verb == "expect"), line)
            elif verb == "lines":
                count, _, pattern = argument.partition(" ")
                wait_for(lambda: sum(bool(re.search(pattern, row)) for row in screen.text()) == int(count), line)
            elif verb == "key":
                os.write(master, argument.encode("latin-1").decode("unicode_escape").encode("latin-1"))
            elif verb == "size":
                lines, columns = map(int, argument.split())
                while read(0.2):
                    pass
                screen.resize(lines, columns)
                set_size(slave, lines, columns)
            elif verb == "signal":
                child.send_signal(getattr(signal, "SIG" + argument))
            elif verb == "touch":
                with open(argument, "w", encoding="utf-8"):
                    pass
            elif verb == "stopped":
                wait_for(lambda: is_stopped(child.pid), line)
                check_restored()
            elif verb == "ends":
                wait_for(lambda: child.poll() is not None, line)
                if child.returncode != int(argument):
                    sys.exit(f"status {child.returncode}, expected {argument}")
                check_restored()
            else:
                sys.exit("no such step: " + line)


main()
