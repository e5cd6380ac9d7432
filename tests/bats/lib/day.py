"""day.py PYPROF SET_CLOCK URL: a day of several processes in ./pyprof.out, pushed and compacted every quarter of an hour by the
clock of that day (tests/workloads/lib/set_clock.c); the server obeys ./mode (push_server.py). Prints the CPU time of all samples.

Processes begin, end, fork and are killed, one while the server is away for three hours; the clock is set back and forward; the
pusher is killed; the server is busy, or takes little at a time."""
import os
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../web"))
from logs import ACCOUNTING, CODES, END, FRAMES, NODES, PROCESS, SAMPLES, SECOND, STRINGS, THREADS, record, varint  # noqa: E402

pyprof, shim, url = sys.argv[1:]
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
PIECE, STEP = 15 * MINUTE, 40 * MINUTE
DAY = 1700000000 * SECOND
OUTAGE = range(12 * HOUR, 15 * HOUR)
written = 0


def clock(since):
    """What the clock shows so long after the day began: it is set back at 16:00, and forward at 20:00."""
    return DAY + since - (STEP if 16 * HOUR < since <= 20 * HOUR else 0)


class Process:
    def __init__(self, pid, begin, end, every, functions, exits=True, rests=range(0), ppid=1):
        self.pid, self.begin, self.end, self.every, self.exits, self.rests, self.ppid = pid, begin, end, every, exits, rests, ppid
        self.functions, self.blocks, self.at, self.cpu, self.samples = functions, 0, begin, 0, 0
        self.path = f"pyprof.out/{pid}-{clock(begin)}-{pid:08x}.pyprof"

    def block(self, kind, payload):
        head = struct.pack("<III", kind, len(payload), self.blocks)
        self.blocks += 1
        return struct.pack("<IIII", kind, len(payload), zlib.crc32(head + payload), self.blocks - 1) + payload

    def fields(self, values):
        parts = [(key, value if isinstance(value, bytes) else varint(value)) for key, value in values]
        return b"".join(varint(key) + varint(len(data)) + data for key, data in parts)

    def definitions(self):
        names = ["MainThread", "app.py"] + [f"function_{i}" for i in range(self.functions)]
        tables = {STRINGS: [varint(len(n)) + n.encode() for n in names], THREADS: [record(self.pid, 1, clock(self.begin), 1)],
                  CODES: [record(3 + i, 2, 10) for i in range(self.functions)], FRAMES: [record(2, 1 + i, 11) for i in range(self.functions)],
                  NODES: [varint(1 + i) + varint(1 + i) for i in range(self.functions)]}
        process = [(1, b"day"), (2, b"day-%d" % self.pid), (3, 0), (4, self.pid), (5, self.ppid), (10, b"app.py\0"), (15, clock(self.begin)), (16, 10000000)]
        head = b"PYPROF\r\n" + struct.pack("<II", 1, 0x01020304) + self.block(PROCESS, self.fields(process))
        return head + b"".join(self.block(kind, varint(1) + b"".join(tables[kind])) for kind in sorted(tables))

    def interval(self):
        global written
        ns = [SECOND // 50 + (self.blocks * 7919 + i) % 100003 for i in range(1 + self.blocks % self.functions)]
        self.cpu += sum(ns)
        self.samples += len(ns)
        written += sum(ns)
        records = b"".join(record(1, 1 + (self.blocks + i) % self.functions, 0, 0, 1, n) for i, n in enumerate(ns))
        end = clock(self.at + self.every)
        account = [(1, end), (3, self.cpu), (4, self.sampled()), (13, self.samples), (14, 1)]
        return self.block(SAMPLES, varint(end - self.every) + varint(self.every) + records) + self.block(ACCOUNTING, self.fields(account))

    def sampled(self):
        return self.cpu

    def write(self, until):
        """What it writes until then."""
        if self.at >= self.end or until <= self.begin:
            return
        data = self.definitions() if self.at == self.begin else b""
        while self.at + self.every <= min(until, self.end):
            data += b"" if self.at in self.rests else self.interval()
            self.at += self.every
        if self.at >= self.end:
            data += self.block(END, varint(clock(self.end)) + varint(1)) if self.exits else self.block(SAMPLES, bytes(100))[:60]
        with open(self.path, "ab") as file:
            file.write(data)
        os.utime(self.path, ns=(clock(self.at), clock(self.at)))


def run(now, *command, seconds=100):
    """At this time of the day; killed after so many seconds."""
    env = {**os.environ, "LD_PRELOAD": shim, "SET_CLOCK_NS": str(now)}
    process = subprocess.Popen([pyprof, *command], env=env, stderr=subprocess.PIPE, text=True)
    try:
        _, said = process.communicate(timeout=seconds)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, ""


def set_mode(mode):
    with open("mode~", "w") as file:
        file.write(mode)
    os.rename("mode~", "mode")


os.mkdir("pyprof.out")
processes = [
    Process(4000001, 0, 24 * HOUR, 10 * SECOND, 5),
    Process(4000002, 2 * HOUR, 5 * HOUR, SECOND, 3),
    Process(4000003, 6 * HOUR, 20 * HOUR + 7 * MINUTE, 10 * SECOND, 7, ppid=4000001),
    Process(4000004, 7 * HOUR, 9 * HOUR + 5 * MINUTE, 10 * SECOND, 4, exits=False),
    Process(4000005, 3 * HOUR, 23 * HOUR, 30 * SECOND, 4, rests=range(10 * HOUR, 12 * HOUR)),
    Process(4000006, 12 * HOUR + 5 * MINUTE, 13 * HOUR, 10 * SECOND, 3),
]
compacted = kept = 0
for piece in range(1, 24 * HOUR // PIECE + 1):
    since = piece * PIECE
    for process in processes:
        process.write(since)
    away, mode, seconds = since in OUTAGE, "ok", 100
    if away:
        mode, seconds = "503", 1
    elif piece % 16 == 3:
        mode = "429 1"
        threading.Thread(target=lambda: (time.sleep(0.5), set_mode("ok"))).start()
    elif piece % 16 == 7:
        mode = "smaller 2"
    elif piece % 16 == 11:
        seconds = 0.2  # the pusher is killed
    set_mode(mode)
    status, said = run(clock(since), "push", "--once", "--window", "60s", "--to", url, "pyprof.out", seconds=seconds)
    assert away or seconds < 100 or status == 0, (piece, status, said)
    status, said = run(clock(since), "compact", "pyprof.out")
    assert status == 0, (piece, said)
    compacted += "compacted" in said
    kept += away and "until 'pyprof push'" in said
set_mode("ok")
assert run(clock(24 * HOUR), "push", "--once", "--window", "60s", "--to", url, "pyprof.out")[0] == 0
assert compacted and kept, (compacted, kept)
print(written)
