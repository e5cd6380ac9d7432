"""One server's whole life, with the library and without: servers.py PROGRAMS.json [--pages N] [--ms MS] ROW...

For each ROW of servers_rows.py the server is started twice, is asked for pages by four clients at once from its first answer
to its end, gets its signals, and ends. It must answer, log and end in the same way both times; and what the kernel billed
each of its processes, and what servers_app.py says they used in each function, must be in the merged profile. Prints a
line for each row; leaves with status 1 if something is wrong. PROGRAMS.json: {"gunicorn": [...], "uwsgi": [...]}, the
beginnings of command lines."""

import argparse
import collections
import ctypes
import glob
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import servers_check
import servers_rows

PR_SET_CHILD_SUBREAPER = 36
CLIENTS = 4
DEADLINE = 240
aside = set()
here = os.path.dirname(os.path.abspath(__file__))


def cpu_clock_ns(pid):
    """Of a process, until it is reaped; None afterwards."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def children_of(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as children:
                found += map(int, children.read().split())
        except OSError:
            pass
    return found


def ours():
    """Our children, and what their ends leave to us, but for the life aside."""
    return [pid for pid in children_of(os.getpid()) if pid not in aside]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """What a row's steps see: one life of one server."""

    def __init__(self, row, programs, directory, pages, ms, library=None):
        self.pages, self.ms, self.directory = pages, ms, directory
        self.port = free_port()
        self.served = collections.Counter()
        self.failed = []
        self.statuses = []
        self.polled = {}
        self.stopping = False
        os.makedirs(os.path.join(directory, "truth"))
        self.start(row, programs, library)

    def start(self, row, programs, library):
        values = {"port": str(self.port), "dir": self.directory, "app": os.path.join(here, "servers_app.py"), "python": programs["python"]}
        values["vassal"] = programs.get("vassal", "")
        for name, text in row.files.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w") as file:
                file.write(text.format(**values))
            os.chmod(self.path(name), 0o755)
        command = [part.format(**values) for part in programs[row.kind] + row.options]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYPROF_", "LD_PRELOAD"))}
        environment.update(row.environment, SERVERS_TRUTH=os.path.join(self.directory, "truth"), HOME=self.directory, PYTHONPATH=here)
        if library:
            # Not the profile of what some step starts by itself.
            environment.update(LD_PRELOAD=library, PYPROF_OUT=os.path.join(self.directory, "profile"))
        self.billed_before = servers_check.billed_ns()
        with open(os.path.join(self.directory, "log"), "wb") as log:
            self.process = subprocess.Popen(command, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.process.pid
        self.paths = row.paths
        self.threads = [threading.Thread(target=self.watch)] + [threading.Thread(target=self.ask_again, args=(i,)) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def watch(self):
        """The CPU clocks of all descendants, again and again: [(wall ns, CPU ns)] of each."""
        while not self.stopping or ours():
            wall = time.time_ns()
            found = ours()
            for pid in found:
                found.extend(children_of(pid))
                cpu = cpu_clock_ns(pid)
                if cpu is not None:
                    self.polled.setdefault(pid, []).append((wall, cpu))
            time.sleep(0.03)

    def ask(self, path, timeout=120):
        """The pid that answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise http.client.HTTPException(f"{answer.status} {answer.reason}")
            return int(body)
        finally:
            connection.close()

    def ask_again(self, number):
        while not self.stopping:
            path = self.paths[number % len(self.paths)].format(ms=self.ms)
            try:
                self.served[self.ask(path)] += 1
            except (OSError, http.client.HTTPException, ValueError) as error:
                if self.served:
                    self.failed.append(f"{path}: {error!r}")
                time.sleep(0.05)
            # When a step takes its time, the pages need not fill it.
            if sum(list(self.served.values())) > CLIENTS * self.pages:
                time.sleep(0.2)

    def wait_until(self, condition, what):
        deadline = time.monotonic() + DEADLINE
        while not condition():
            if is_zombie(self.pid):
                raise AssertionError(f"the server has ended, before there were {what}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited in vain for {what}; served {dict(self.served)}")
            time.sleep(0.02)

    def serve(self, workers, fresh=False, pages=None):
        """So many processes serve so many pages each; fresh: such as have not served before."""
        pages = pages or self.pages
        before = collections.Counter(self.served)

        def enough():
            news = [pid for pid, count in list(self.served.items()) if count - before[pid] >= pages and not (fresh and before[pid])]
            return len(news) >= workers

        self.wait_until(enough, f"{workers} {'fresh ' if fresh else ''}workers")

    def lost(self, path):
        """Asks for a page that is never answered."""
        try:
            self.ask(path)
        except (OSError, http.client.HTTPException):
            return
        raise AssertionError(f"{path} was answered")

    def workers(self):
        """Those of our descendants that have served and live."""
        return [pid for pid in self.served if cpu_clock_ns(pid) is not None and not is_zombie(pid)]

    def signal(self, name, pid=None):
        os.kill(pid or self.pid, getattr(signal, "SIG" + name))

    def path(self, name):
        return os.path.join(self.directory, name)

    def quiet(self):
        """No request is under way from here on."""
        self.stopping = True
        for thread in self.threads[1:]:
            thread.join()

    def reap(self, pid):
        """The exit status of the server, or of what it has left to us."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if pid == self.process.pid:
                status = self.process.poll()
            else:
                found, status = os.waitpid(pid, os.WNOHANG)
                status = (-os.WTERMSIG(status) or os.WEXITSTATUS(status)) if found else None
            if status is not None:
                self.statuses.append(status)
                return
            time.sleep(0.02)
        raise TimeoutError(f"{pid} does not end")

    def stop(self, name, pid=None):
        """The clients first: to refuse them is a server's right."""
        self.quiet()
        self.signal(name, pid)
        self.reap(pid or self.pid)

    def reap_orphans(self, seconds):
        deadline = time.monotonic() + seconds
        while ours() and time.monotonic() < deadline:
            for pid in ours():
                if pid != self.pid:
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)

    def clean_up(self):
        """Returns what is left, which should be nothing."""
        self.quiet()
        self.reap_orphans(2 if self.statuses else 0)
        left = ours()
        for pid in left:
            left.extend(children_of(pid))
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.reap_orphans(10)
        self.threads[0].join()
        self.billed = servers_check.billed_ns() - self.billed_before
        return left


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def alone(options, name):
    """The life without the library, at the same time, in a process of its own: what the kernel bills is kept apart."""
    command = [sys.executable, os.path.abspath(__file__), options.programs, "--without", "--pages", str(options.pages), "--ms", str(options.ms), name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    aside.add(process.pid)
    return process


def told_alone(name, process):
    life = json.loads(process.communicate()[0])
    control = argparse.Namespace(**life)
    control.path = lambda file: os.path.join(control.directory, file)
    return control


def live(row, programs, directory, pages, ms, library=None):
    server = Server(row, programs, directory, pages, ms, library)
    wrong = []
    try:
        row.steps(server)
    except (TimeoutError, AssertionError, OSError) as error:
        wrong.append(f"{'with' if library else 'without'} the library: {error}")
    left = server.clean_up()
    if left and not wrong:
        wrong.append(f"still there at the end: {left}")
    return server, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--ms", type=int, default=30)
    parser.add_argument("--without", action="store_true", help="only the life without the library, told as JSON")
    parser.add_argument("rows", nargs="+", help="names, or regular expressions")
    options = parser.parse_args()
    with open(options.programs) as file:
        programs = json.load(file)
    names = [name for name in servers_rows.ROWS if any(re.fullmatch(row, name) for row in options.rows)]
    if not names:
        sys.exit(f"no such row: {options.rows}")
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if options.without:
        life, wrong = live(servers_rows.ROWS[names[0]], programs, os.path.abspath(f"{names[0]}.without"), options.pages, options.ms)
        json.dump({"directory": life.directory, "statuses": life.statuses, "failed": life.failed, "wrong": wrong}, sys.stdout)
        return
    bad = 0
    for name in names:
        row = servers_rows.ROWS[name]
        alone_process = alone(options, name)
        server, wrong = live(row, programs, os.path.abspath(name), options.pages, options.ms, os.environ["LIBPYPROF"])
        control = told_alone(name, alone_process)
        wrong += control.wrong
        if not wrong:
            wrong += servers_check.compare(row, server, control)
            figures, more = servers_check.profile(row, server, control, os.environ["PYPROF"])
            wrong += more
            print(f"{name:28} {figures}", flush=True)
        for line in wrong:
            print(f"{name:28} WRONG {line}", flush=True)
        if wrong:
            bad += 1
            for kind in ("", ".without"):
                if os.path.exists(f"{name}{kind}/log"):
                    with open(f"{name}{kind}/log", errors="replace") as log:
                        print("".join(f"    {name}{kind}: {line}" for line in log.readlines()[-40:]))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
