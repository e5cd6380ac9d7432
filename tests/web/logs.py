"""Writes profiles for the page's tests, from preload/common/log_format.h: what a run of a program never gives twice the same."""

import base64
import hashlib
import os
import struct
import sys
import zlib

SECOND = 1000000000
START = 1700000000 * SECOND
PROCESS, STRINGS, MODULES, CODES, FRAMES, NODES, THREADS, LABELS, SAMPLES, ACCOUNTING, END, TRACES = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14
HOLDS_GIL, GIL_KNOWN = 1, 8
MAX = 1 << 20  # bytes of a block, so that no block is too long


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(*fields):
    body = b"".join(f if isinstance(f, bytes) else varint(f) for f in fields)
    return varint(len(body)) + body


def python(name, file="/srv/app/app.py", line=1):
    return ("python", name, file, line)


def native(symbol, module="/usr/lib/libfoo.so.1"):
    return ("native", symbol, module)


def at(function, line, column=0, end_column=0):
    """A Python frame at another line of its function, and an expression of it."""
    return (*function, line, column, end_column)


def pseudo(text):
    return ("pseudo", text)


class Log:
    def __init__(self, pid=100, command=("python", "app.py"), start=START, run="run"):
        self.pid, self.command, self.start, self.run = pid, command, start, run
        self.tables = {kind: {} for kind in (STRINGS, MODULES, CODES, FRAMES, NODES, THREADS, LABELS)}
        self.records = {kind: [] for kind in self.tables}
        self.samples, self.traced, self.traces, self.contexts = {}, [], None, None
        self.sampled = self.count = 0
        self.ends = {}  # by interval: CPU time since the start, for `info --intervals`
        self.other = {"unsampled": 0, "lost": 0, "exit": 0}

    def define(self, kind, key, make):
        table = self.tables[kind]
        if key not in table:
            body = make()
            table[key] = len(table) + 1
            self.records[kind].append(body)
        return table[key]

    def string(self, text):
        data = text.encode("utf-8", "surrogatepass")
        return self.define(STRINGS, data, lambda: varint(len(data)) + data)

    def frame(self, frame):
        def make():
            if frame[0] == "pseudo":
                return record(3, self.string(frame[1]))
            if frame[0] == "python":
                code = self.define(CODES, frame[:4], lambda: record(
                    self.string(frame[1]), self.string(frame[2]), frame[3]))
                line, *columns = frame[4:] or frame[3:]
                return record(2, code, line, *([line, *columns] if columns and columns[0] else []))
            module = self.define(MODULES, frame[2], lambda: record(
                self.string(frame[2]), 0, 0x1000, 0x10000000, 0x1000, 0, 0))
            return record(1, module, 0x2000 + 64 * len(self.tables[FRAMES]), self.string(frame[1]), 4)
        return self.define(FRAMES, frame, make)

    def node(self, parent, frame):
        number = self.frame(frame)
        return self.define(NODES, (parent, number), lambda: varint(
            len(self.tables[NODES]) + 1 - parent) + varint(number))

    def stack(self, frames):
        node = 0
        for frame in frames:
            node = self.node(node, frame)
        return node

    def sample(self, thread, node, ns, second=0, gil=None, count=1, labels=()):
        """CPU time at a node (or a stack of frames) in one second of the run, or an interval (start, length) in ns; thread
        None: the process. labels: pairs of a key and a value."""
        if not isinstance(node, int):
            node = self.stack(node)
        number = 0 if thread is None else self.define(THREADS, thread, lambda: record(
            self.pid + len(self.tables[THREADS]), self.string(thread), self.start, 0 if self.tables[THREADS] else 1))
        label_set = 0 if not labels else self.define(LABELS, labels, lambda: record(
            *(self.string(text) for pair in labels for text in pair)))
        state = 0 if gil is None else GIL_KNOWN | (HOLDS_GIL if gil else 0)
        interval = second if isinstance(second, tuple) else (second * SECOND, SECOND)
        self.samples.setdefault(interval, []).append(record(number, node, label_set, state, count, ns))
        if thread is None:
            self.other["unsampled"] += ns
        else:
            self.sampled += ns
            self.count += count
        return number, node, label_set, state

    def trace(self, ids, when, thread, node, ns, labels=()):
        """A sample of a trace, taken so many ns after the start: (trace, span) in hexadecimal digits."""
        number, node, label_set, state = self.sample(thread, node, ns, when // SECOND, True, 1, labels)
        self.traced.append(record(2 * when, number, node, label_set, state, ns, *(bytes.fromhex(text) for text in ids)))

    def not_selected(self):
        return [(31, 1000000000), (32, 100)] if self.traces and "only" in self.traces else []

    def write(self, path):
        blocks = []

        def block(kind, payload):
            head = struct.pack("<III", kind, len(payload), len(blocks))
            blocks.append(struct.pack("<IIII", kind, len(payload), zlib.crc32(head + payload), len(blocks)) + payload)

        def fields(values):
            out = b""
            for key, value in values:
                data = value if isinstance(value, bytes) else varint(value)
                out += varint(key) + varint(len(data)) + data
            return out

        end = max((start + wall for start, wall in self.samples), default=SECOND)
        command = b"".join(word.encode() + b"\0" for word in self.command)
        block(PROCESS, fields([
            (1, self.run.encode()), (2, b"instance-%d" % self.pid if self.run == "run" else b"%s-%d" % (self.run.encode(), self.pid)), (3, 0), (4, self.pid), (10, command), (12, b"/srv/app"),
            (13, b"3.12.1"), (15, self.start), (16, 10000000), (19, 2)] + [(number, text.encode()) for number, text in ((23, self.contexts), (24, self.traces)) if text]))
        for kind, records in self.records.items():
            first, part = 1, b""
            for i, body in enumerate(records):
                part += body
                if len(part) > MAX or i == len(records) - 1:
                    block(kind, varint(first) + part)
                    first, part = i + 2, b""
        for (start, wall), records in sorted(self.samples.items()):
            head = varint(self.start + start) + varint(wall)
            for i in range(0, len(records), 20000):
                block(SAMPLES, head + b"".join(records[i:i + 20000]))
            if self.traced:
                block(TRACES, varint(self.start) + b"".join(self.traced))
                self.traced = []
            if (start, wall) in self.ends:
                block(ACCOUNTING, fields([(1, self.start + start + wall), (2, start + wall), (3, self.ends[start, wall])]))
        cpu = self.sampled + self.other["unsampled"] + 2000000
        block(ACCOUNTING, fields([
            (1, self.start + end), (2, end), (3, cpu), (4, self.sampled),
            (5, self.other["unsampled"]), (9, 2000000), (11, 0), (13, self.count), (14, len(self.tables[THREADS]))] + self.not_selected()))
        block(END, varint(self.start + end) + varint(1))
        with open(path, "wb") as file:
            file.write(b"PYPROF\r\n" + struct.pack("<II", 1, 0x01020304) + b"".join(blocks))


def fleet(directory, count, first=START, apart=60 * SECOND, seconds=10, run="run"):
    """Workers of one server, each of which lives for some seconds and is replaced: one file after the other, each last
    written when its worker ended."""
    os.makedirs(directory, exist_ok=True)
    for i in range(count):
        log = Log(1000 + i, ("gunicorn", "app:app"), first + i * apart, run)
        for second in range(seconds):
            log.sample("MainThread", [python("main"), python("handle", line=20 + i % 7)], 10000000 + i, second, True, 1)
        path = f"{directory}/{log.pid}-{log.start}-{i:08x}.pyprof"
        log.write(path)
        end = log.start + seconds * SECOND
        os.utime(path, ns=(end, end))


def worker(path, seconds, per_second=25, stacks=3000, pid=100):
    """A worker of a web server that is a quarter busy, until its file is closed: few stacks have most samples."""
    import random

    dice = random.Random(pid)
    log = Log(pid, ("gunicorn", "app:app"))
    base = [native("_start", "/usr/bin/python3.12"), native("_PyEval_EvalFrameDefault", "/usr/bin/python3.12"), python("main")]
    nodes, node = [], log.stack(base)
    for i in range(stacks):
        parent = dice.choice(nodes[-50:]) if nodes and i % 9 else node
        function = python(f"Handler{i % 97}.method_{i % 900}", f"/srv/app/package_{i % 31}/module_{i % 200}.py", 10 + i % 900)
        nodes.append(log.node(parent, at(function, 10 + i % 900 + i % 7, 5, 30) if i % 5 else native(f"function_{i}")))
    endpoints = [(("endpoint", f"/api/v1/{i}/{{item}}"),) for i in range(20)]
    picks = dice.choices(range(stacks), [1 / (1 + i) for i in range(stacks)], k=seconds * per_second)
    used = 0
    for second in range(seconds):
        for i in picks[second * per_second:(second + 1) * per_second]:
            ns = dice.randrange(9000000, 11000000)
            log.sample("MainThread", nodes[i], ns, second, dice.random() < 0.8, 1, endpoints[i % 20])
            used += ns
        log.ends[second * SECOND, SECOND] = used
    log.write(path)


def example(path, scale=1, pid=100, moved=0):
    """Ten seconds of a small service: parse is hot in the main thread, compress in two workers, the cache warms up first. moved:
    all functions of the application are so many lines further down."""
    log = Log(pid)

    def python(name, file="/srv/app/app.py", line=1):
        return ("python", name, file, line + moved)

    start = [native("_start", "/usr/bin/python3.12"), python("main", line=10)]
    parse = [*start, python("handle", line=20), python("parse", "/opt/lib/python3.12/json/decoder.py", 343)]
    work = [native("start_thread", "/usr/lib/libc.so.6"), python("work", line=40)]
    for second in range(10):
        log.sample("MainThread", [*parse, native("scan_once", "/usr/lib/python3.12/lib-dynload/_json.so")],
                   int(300000000 * scale) + second, second, True, 30)
        log.sample("MainThread", [*start, python("handle", line=20)], 50000000, second, True, 5)
        for worker in ("worker-0", "worker-1"):
            log.sample(worker, [*work, python("compress", "/opt/site-packages/zippy/core.py", 7), native("deflate")],
                       100000000, second, False, 10)
        if second < 2:
            log.sample("MainThread", [*start, python("warm_cache", line=70), pseudo("[gc]")], 90000000, second, True, 9)
    log.sample("MainThread", [*start, python("render", line=90)], int(80000000 / scale), 5, True, 8)
    log.sample(None, [pseudo("[unsampled]")], 7000001, 3, None, 0)
    log.write(path)


SHOP = """import hashlib


def sign(text):
    a = hashlib.sha256(text) + hashlib.md5(text)
    if a < 3: return "</script><b>&amp;"
	return sign(a)


def main():
    for i in range(9): sign(b"é" * i)



    print("a comment's distance")


def other():
    pass
"""


def shop(path, directory, source="shop.py"):
    """Two functions whose source is in a directory, lines and expressions; a function in a file that is not there, in
    one that was changed, and in one that is another's."""
    log = Log()
    for name, text, when in ((source, SHOP, START // SECOND - 9), ("changed.py", "def f():\n    pass\n", START // SECOND + 9),
                             ("moved.py", "# only this\n", START // SECOND - 9)):
        with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(file.name, (when, when))
    main, sign = (python(name, f"{directory}/{source}", line) for name, line in (("main", 10), ("sign", 4)))
    call = at(main, 11, 24, 39)
    for node, ns in (([call, at(sign, 5, 9, 29), native("SHA256")], 500000000), ([call, at(sign, 5, 32, 49), native("MD5")], 250000000),
                     ([call, at(sign, 7, 9, 16), at(sign, 5, 9, 29)], 100000000), ([call, at(sign, 6, 8, 13)], 50000000),
                     ([call], 20000000), ([at(main, 15)], 1000000)):
        log.sample("MainThread", node, ns, 0, True, ns // 10000000)
    for name in ("gone.py", "changed.py", "moved.py"):
        log.sample("MainThread", [python("f", f"{directory}/{name}", 1)], 25000000, 1, True, 3)
    log.write(path)


def wordy(path, directory, functions=900):
    """Functions whose source is more than a page may hold, and does not compress well."""
    log, lines = Log(), []
    for i in range(functions):
        function = python(f"f{i}", f"{directory}/wordy.py", len(lines) + 1)
        lines.append(f"def f{i}():")
        lines += ["    x = '" + base64.b64encode(hashlib.sha512(b"%d %d" % (i, j)).digest() * 2).decode() + "'" for j in range(8)]
        log.sample("MainThread", [at(function, len(lines) - 4)], 10000000)
    with open(f"{directory}/wordy.py", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    os.utime(file.name, (START // SECOND - 9,) * 2)
    log.write(path)


def uneven(path):
    """Thirty seconds of one busy thread, and two for four seconds, in intervals as short and long as they come."""
    log, at, cpu = Log(), 0, 0
    walls = [1.0] + [0.13] * 22 + [1.0, 0.97, 1.05] * 2 + [5.7, 0.4, 0.02, 1.0, 1.0, 1.0, 1.0, 9.95]
    for wall in (int(wall * SECOND) for wall in walls):
        interval, share = (at, wall), 0.04 if wall > 4 * SECOND else 0.99
        for thread in ("MainThread", "worker") if at > 15 * SECOND and wall <= SECOND else ("MainThread",):
            ns = int(wall * share)
            log.sample(thread, [python("main", line=10), python(f"phase_{at // (5 * SECOND)}", line=20)], ns, interval)
            cpu += ns
        log.ends[interval] = cpu
        at += wall
    log.write(path)


def fan(path):
    """One function that calls another for a sixth of its time, and four thousand for the rest."""
    log = Log(command=("/opt/python/bin/python3.12", "app.py"))
    main = [python("main", line=10)]
    log.sample("MainThread", [*main, python("wide", line=20)], 800000000, 0, True, 80)
    for i in range(4000):
        log.sample("MainThread", [*main, python(f"callee_{i}", line=100 + i)], 1000000, i % 5, True)
    log.write(path)


HOSTILE = [
    "</script><script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 2'>", "\"'`;${window.hacked = 3}",
    "]]></title><x onload=\"window.hacked = 4\"/>", "<!--", "evil\u202egnp.exe", "zero\u200bwidth\u2066", "\u05d0\u05d1\u05d2",
    "L" * 10000, "\U0001f40d" * 300, "back\\slash\\u003c", "@DATA@", "constructor", "__proto__", "\ufffe\uffff", "(.*)+[",
]


def hostile(path):
    log = Log(command=("python", "</script><b>app</b>\u202e.py"))
    for i, name in enumerate(HOSTILE):
        for thread in ("MainThread", name[:200]):
            log.sample(thread, [python("main", line=10), python(name, "/srv/<i>" + name[:300] + ".py", i + 1), native(name)],
                       10000000 * (i + 1), i % 3)
    log.write(path)


def deep(path):
    log = Log()
    log.sample("MainThread", [python(f"recurse_{i}", line=i) for i in range(801)], 30000000)
    log.write(path)


def large(path, nodes=100000, seconds=60, functions=4000):
    """A tree of so many nodes, thirty deep and more, always the same one."""
    log, state = Log(), 12345

    def random(limit):
        nonlocal state
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        return (state >> 8) % limit

    frames = [python(f"Class{i % 97}.method_{i}", f"/opt/site-packages/package{i % 41}/module{i % 13}.py", i) if i % 3
              else native(f"native_function_{i}", f"/usr/lib/lib{i % 17}.so.1") for i in range(1, functions)]
    depth, made = {0: 0}, [log.stack([python("main")])]
    depth[made[0]] = 1
    while len(log.tables[NODES]) < nodes:
        # Most stacks go on from one of the last: deep and narrow beside broad and flat.
        near = made[-1 - random(min(len(made), 40))] if random(8) else made[random(len(made))]
        if depth[near] > 45:
            near = made[random(len(made))]
        node = log.node(near, frames[random(len(frames))])
        if node == len(made) + 1:
            made.append(node)
            depth[node] = depth[near] + 1
    for node in made:
        for _ in range(1 + random(3)):
            log.sample(f"worker-{random(8)}", node, 1000000 + random(20000000), random(seconds), bool(random(2)))
    log.write(path)


def even(path, counts):
    """Functions with so many samples of equal weight each, within main; and CPU time that was measured."""
    log = Log()
    for function, count in enumerate(counts):
        for number in range(count):
            log.sample("MainThread", [python("main"), python(f"function_{function}")], 10000000, number % 5, True)
    log.sample(None, [pseudo("[unsampled]")], 70000000, 4, count=0)
    log.write(path)


def service(path, slower=1):
    """Four seconds of a server whose samples have contexts: two endpoints in tasks of one loop, one of which gives work to a
    thread; a task without an endpoint; greenlets; a thread without any context. Its CPU by endpoint: /checkout 1.6 s (slower:
    so many times), /search/{query} 0.8 s, none 1.257 s."""
    log = Log()
    loop = [native("_start", "/usr/bin/python3.12"), python("<module>", line=1),
            python("run", "/usr/lib/python3.12/asyncio/runners.py", 160),
            python("Handle._run", "/usr/lib/python3.12/asyncio/events.py", 80)]
    thread = [native("start_thread", "/usr/lib/libc.so.6"), python("_WorkItem.run", "/usr/lib/python3.12/concurrent/futures/thread.py", 50)]
    task = [*loop, pseudo("[task]")]
    serving = (("task", "handle_request"), ("awaiter", "serve"))
    checkout, search = ("endpoint", "/checkout"), ("endpoint", "/search/{query}")
    for second in range(4):
        for tenant in ("acme", "globex"):
            labels = (*serving, checkout, ("span", "POST /checkout"), ("tenant", tenant))
            log.sample("MainThread", [*task, python("checkout", line=20), python("total", line=30)], 100000000 * slower, second, True,
                       10 * slower, labels)
        log.sample("MainThread", [*task, python("checkout", line=20), native("deflate")], 100000000 * slower, second, False, 10 * slower,
                   (*serving, checkout, ("span", "POST /checkout"), ("tenant", "acme")))
        log.sample("asyncio_0", [*thread, python("thumbnail", line=50)], 100000000 * slower, second, False, 10 * slower,
                   (("awaiter", "handle_request"), ("awaiter", "serve"), checkout))
        log.sample("MainThread", [*task, python("search", line=60), python("rank", line=70)], 200000000, second, True, 20,
                   (*serving, search))
        log.sample("MainThread", [*task, python("refresh", line=80)], 50000000, second, True, 5, (("task", "refresh"),))
        log.sample("MainThread", [*loop[:3], python("BaseEventLoop._run_once", "/usr/lib/python3.12/asyncio/base_events.py", 1900)],
                   12500000, second, True, 2)
        for greenlet in ("crawl", "[hub]"):
            log.sample("gevent", [python(greenlet.strip("[]"), line=90)], 100000000, second, True, 10, (("greenlet", greenlet),))
        log.sample("metrics", [python("send", line=95)], 50000000, second, False, 5)
    log.sample(None, [pseudo("[unsampled]")], 7000001, 3, None, 0)
    log.write(path)


def awaits(path):
    """Tasks whose awaiters' frames are in the stacks: one awaits another, and one awaits work in a thread, which is in C."""
    log = Log()
    mark = pseudo("[native stack truncated: no unwind information]")
    log.sample("asyncio_0", [mark, native("work")], 10000000, 0, False)
    start, run_until = native("_start", "/usr/bin/python3.12"), python("run_until_complete", "/usr/lib/python3.12/asyncio/base_events.py", 680)
    wait = python("wait_for", "/usr/lib/python3.12/asyncio/tasks.py", 500)
    main = [pseudo("[awaiter]"), python("main", line=10)]
    child = [start, run_until, *main, pseudo("[awaiter]"), python("parent", line=20), wait, pseudo("[task]")]
    of_child = (("task", "child"), ("awaiter", "parent"), ("awaiter", "main"))
    for frames in ([], [python("compute", line=30)], [python("compute", line=30), native("deflate")], [native("PyEval", "/usr/bin/python3.12")]):
        log.sample("MainThread", [*child, *frames], 10000000, 0, True, 1, of_child)
    log.sample("MainThread", [start, run_until, pseudo("[creator]"), *main, pseudo("[task]"), python("eager", line=40)], 10000000, 0, True,
               1, (("task", "eager"), ("awaiter", "main")))
    thread = [native("start_thread", "/usr/lib/libc.so.6")]
    for awaiters in (main, [pseudo("[awaiter]"), wait], [pseudo("[awaiter]")]):
        for frames in ([], [native("work")], [python("work", "/usr/lib/python3.12/threading.py", 50), native("deflate")],
                       [mark, native("work")]):
            log.sample("asyncio_0", [*awaiters, pseudo("[awaited]"), *thread, *frames], 10000000, 0, False, 1, (("awaiter", "main"),))
    log.write(path)


CART, SEARCH = "4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6ffffffffffffffff"


def traces(directory, only=0):
    """Two services of one run that kept two traces (only: and nothing else). That of /cart: 60 ms in a task of the shop and in a
    thread of its, 40 ms in the stock; that of /search: 30 ms in the shop. Beside them 1 s in each."""
    os.mkdir(directory)
    for pid, name in ((100, "shop"), (200, "stock")):
        log = Log(pid, ("python", f"{name}.py"))
        log.traces = "0.01,only" if only else "0.01"
        for second in range(2):
            log.sample("MainThread", [pseudo("[not selected]")] if only else [python("serve", f"/srv/app/{name}.py", 10)], 500000000, second,
                       True, 50)
        cart, search, stock = ((("task", "handle"), ("span", span)) for span in ("GET /cart", "GET /search", "GET /stock"))
        if name == "shop":
            for i in range(4):
                log.trace((CART, "00f067aa0ba902b7"), 100000000 + 10000000 * i, "MainThread", [python("cart", line=20)], 10000000, cart)
            for i in range(2):
                log.trace((CART, "00f067aa0ba902b8"), 150000000 + 10000000 * i, "pool", [python("render", line=30)], 10000000,
                          (("span", "render"),))
            for i in range(3):
                log.trace((SEARCH, "00f067aa0ba902c1"), 1100000000 + 10000000 * i, "MainThread", [python("search", line=40)], 10000000,
                          search)
        else:
            for i in range(4):
                log.trace((CART, "00f067aa0ba902b9"), 120000000 + 10000000 * i, "MainThread", [python("stock", "/srv/app/stock.py", 50)],
                          10000000, stock)
        log.sample(None, [pseudo("[unsampled]")], 7000001, 1, None, 0)
        log.write(f"{directory}/{name}.pyprof")


def untraced(path, kind=0):
    """PYPROF_TRACES without a trace: nothing that has traces was imported (0), it cannot be read (1), or none was chosen (2)."""
    log = Log()
    log.traces = "0.5"
    log.contexts = "asyncio tasks" + ("", "; not spans of OpenTelemetry 9.0 (unknown)", ", spans of ddtrace 4.0")[kind]
    log.sample("MainThread", [python("main")], 2000000000, 0, True, 200)
    log.write(path)


def launched(path, loading=150):
    """A service that a script of its own starts, which imports it for so many ms: the server is in a package, and has work outside of requests, of requests whose
    route is gone, and of those that libpyprof.wsgi() counts."""
    log = Log()
    server = "/opt/site-packages/server/core.py"
    launch = [python("<module>", "/srv/app/launch.py", 1), python("main", "/srv/app/launch.py", 9), python("run", server, 10)]
    load = [*launch, python("load", server, 20), python("<module>", "<frozen importlib._bootstrap>", 5), python("<module>", "/srv/app/shop.py", 1)]
    # One function, wherever it is when it calls.
    serve, handle = ([*launch, at(python("serve", server, 30), line)] for line in (31, 32))
    request = [*handle, python("counted", "/srv/contrib/libpyprof/_requests.py", 7)]
    for node, ns, endpoint in (
            (load, loading, None), ([*serve, python("accept", server, 40)], 280, None), ([*handle, python("parse", server, 50)], 270, None),
            ([*request, python("cart", "/srv/app/shop.py", 20)], 1000, "/cart"), (request, 100, "/cart"),
            ([*request, python("match", server, 60)], 200, "(unknown route)"),
            ([*request, python("rows", "/srv/app/shop.py", 30), python("dumps", server, 70)], 500, "(unknown route)")):
        log.sample("MainThread", node, ns * 1000000, 0, True, ns // 10, (("endpoint", endpoint),) if endpoint else ())
    log.write(path)


def numbered(path):
    """Tasks with numbers in their names: audit-1 to audit-500, of which 17 takes most, and only eight workers."""
    log = Log()
    for i in range(1, 501):
        ns = 400000000 if i == 17 else 1000000 + i
        log.sample("MainThread", [python("scan" if i % 3 else "sum_up")], ns, 0, True, 1, (("task", f"audit-{i}"),))
    for i in range(8):
        log.sample("MainThread", [python("work")], 20000000, 0, True, 2, (("task", f"worker-{i}"),))
    log.sample("MainThread", [python("main")], 30000000, 0, True, 3)
    log.write(path)


def endpoints(path):
    """One function with endpoints whose names are long, wide, empty or hostile."""
    log = Log()
    for i, name in enumerate(["/a/very/long/path/with/{many}/parts/and/{others}/that/goes/on/and/on", "\u65e5\u672c\u8a9e" * 20, "", *HOSTILE[:9]]):
        log.sample("MainThread", [python("a_name_that_is_longer_than_its_column", "/srv/app/package/views.py", 1234)], 100000000 + i, 0, True,
                   10, (("endpoint", name),))
    log.write(path)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:3], *map(int, sys.argv[3:]))
