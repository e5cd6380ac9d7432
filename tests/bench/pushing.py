#!/usr/bin/env python3
"""What `pyprof push` and `pyprof serve` cost beside many processes: tests/bench/pushing.py BUILD [PROCESSES [WINDOWS]].

grow_logs writes the logs of 1,000 processes, an hour long when the pusher starts, SPEED times as fast as time goes by; windows are
as much shorter, so that each is the work of 15 s. CPU time is that of the pusher and of curl. Measures and prints; judges nothing."""
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

SPEED = 10
WINDOW_S = 15
PAST = 3600
TICK = os.sysconf("SC_CLK_TCK")


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    windows = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        Sink.windows += 1

    def log_message(self, *_):
        pass


def cpu(pid):
    """(seconds of the process, of its children that ended)"""
    with open(f"/proc/{pid}/stat") as file:
        numbers = file.read().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / TICK, (int(numbers[13]) + int(numbers[14])) / TICK


def most_memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def wait_for_windows(pusher, count):
    while Sink.windows < count:
        if pusher.poll() is not None:
            sys.exit(f"pyprof push ended with status {pusher.returncode}")
        time.sleep(0.02)


def measure_push(pyprof, directory, windows):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"otlp+http://127.0.0.1:{server.server_port}"
    pusher = subprocess.Popen([pyprof, "push", "--window", f"{1000 * WINDOW_S // SPEED}ms", "--to", url, directory])
    try:
        wait_for_windows(pusher, PAST // WINDOW_S)
        time.sleep(WINDOW_S / SPEED)
        caught_up, (ours, curl) = Sink.windows, cpu(pusher.pid)
        print(f"  start, {caught_up} windows of the hour before: {ours:.2f} s CPU, curl {curl:.2f} s, {most_memory(pusher.pid):.0f} MB")
        wait_for_windows(pusher, caught_up + windows)
        later, curl_later = cpu(pusher.pid)
        count = Sink.windows - caught_up
        share, curl_share = ((b - a) / count / WINDOW_S * 100 for a, b in ((ours, later), (curl, curl_later)))
        print(f"  {count} windows of {WINDOW_S} s: {share:.2f} % of a core, curl {curl_share:.2f} %, {most_memory(pusher.pid):.0f} MB")
    finally:
        pusher.kill()
        pusher.wait()


def measure_serve(pyprof, directory, seconds):
    server = subprocess.Popen([pyprof, "serve", "--listen", "127.0.0.1:0", directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = re.search(r":(\d+)", server.stdout.readline())[1]
        subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{port}/metrics"], check=True)
        begun, _ = cpu(server.pid)
        print(f"  serve, start: {begun:.2f} s CPU, {most_memory(server.pid):.0f} MB")
        for _ in range(seconds * SPEED // WINDOW_S):
            time.sleep(WINDOW_S / SPEED)
            subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{port}/metrics"], check=True)
        used = (cpu(server.pid)[0] - begun) / (seconds * SPEED) * 100
        print(f"  serve, /metrics each {WINDOW_S} s: {used:.2f} % of a core, {most_memory(server.pid):.0f} MB")
    finally:
        server.kill()
        server.wait()


def main():
    build = os.path.abspath(sys.argv[1])
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    windows = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_LOGS")) as directory:
        command = [f"{build}/bench/grow_logs", directory, str(processes), str(PAST), str(SPEED)]
        grower = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            grower.stdout.readline()
            print(f"the logs of {processes} processes")
            measure_push(f"{build}/pyprof", directory, windows)
            measure_serve(f"{build}/pyprof", directory, windows * WINDOW_S // SPEED // 2)
        finally:
            grower.kill()
            grower.wait()


main()
