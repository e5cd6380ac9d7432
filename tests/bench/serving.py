"""Servers that the accuracy bench profiles, and what asks them."""

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

import peers


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body


def wait_for(port, process):
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            return get(port, "/truth")
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")


def ask(port, path, count):
    for _ in range(count):
        get(port, path)


def serve(profiler, program, requests, directory):
    """(the truth of measured_wsgi.py as it was told at the end, ns that the kernel billed the server and the profiler)."""
    port = free_port()
    server = [peers.beside_python("uwsgi"), "--http-socket", f"127.0.0.1:{port}", "--threads", "4", "--wsgi-file", program]
    server += ["--callable", "app", "--need-app", "--disable-logging", "--pythonpath", os.path.dirname(program)]
    server += ["--virtualenv", os.path.dirname(os.path.dirname(sys.executable))]
    command, settings = profiler.command(server, directory)
    with open(os.path.join(directory, "output.txt"), "w") as output:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=output, stderr=output)
    try:
        wait_for(port, process)
        clients = [
            threading.Thread(target=ask, args=(port, path, requests // 4)) for path in ("/burn/a", "/burn/b", "/burn/a", "/burn/b")
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        truth = json.loads(get(port, "/truth"))
        os.kill(truth["pid"], signal.SIGINT)
    except BaseException:
        process.kill()
        raise
    finally:
        _, process.returncode, usage = os.wait4(process.pid, 0)
    return truth, (usage.ru_utime + usage.ru_stime) * 1e9


def thread_errors(stacks, truth):
    """For each tid of the truth the error in %, [unsampled] not counted as seen, of what `--threads` exports."""
    seen = {}
    for frames, ns in stacks:
        tid = re.fullmatch(r"thread .*\((\d+)\)", frames[0])
        if tid and frames[-1] != "[unsampled]":
            seen[tid[1]] = seen.get(tid[1], 0) + ns
    return [100.0 * (seen.get(tid, 0) - ns) / ns for tid, ns in truth.items()]
