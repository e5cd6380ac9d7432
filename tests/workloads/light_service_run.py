"""light_service_run.py SERVER RATE SECONDS TRUTH.json [PREFIX...]: one of six servers under a light load, profiled.

SERVER: uvicorn, gthread, flask, django, aiohttp, gevent. RATE: requests a second of all clients; "all": each client asks again
as soon as it has an answer; "apart": the same with POST, headers and body sent apart. $LIBPYPROF is preloaded into the server
alone; PREFIX comes before its command. What its functions have used by their threads' clocks goes to TRUTH.json.

The clients keep their connections. Where one side sends headers and body apart, the body waits for the delayed ACK of the
headers: a timer of the kernel, at a tick, has the next work begin. Of these servers uvicorn, Django's and gevent's do so, and
of clients those that do not know TCP_NODELAY."""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import light_service

CLIENTS = 4
PATHS = ("/cart", "/login", "/list")
BODY = b"{}"
START_SECONDS, STOP_SECONDS = 60, 30

SERVERS = {
    "uvicorn": "-m uvicorn light_service:fastapi_app --factory --workers 2 --port PORT --log-level warning",
    "gthread": "-m gunicorn -k gthread --threads 4 -b 127.0.0.1:PORT --log-level error light_service:flask_app()",
    "flask": "light_service.py flask PORT",
    "django": "light_service.py django PORT",
    "aiohttp": "light_service.py aiohttp PORT",
    "gevent": "light_service.py gevent PORT",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, server):
    until = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", PATHS[0])
            return connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
    sys.exit(f"the server does not answer; its status is {server.poll()}")


class Client(threading.Thread):
    """Asks for pages at random: in a fixed order a clock that is regular could be in step with them. At a RATE the pauses are
    random too, as between people: 0.5 to 1.5 times the mean."""

    def __init__(self, port, number, rate, end):
        super().__init__()
        self.port, self.number, self.end = port, number, end
        self.apart, self.pause = rate == "apart", 0 if rate in ("all", "apart") else CLIENTS / float(rate)
        self.answers = 0

    def send(self, connection, path):
        if not self.apart:
            connection.request("GET", path)
            return
        if connection.sock is None:
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        connection.putrequest("POST", path)
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders()
        connection.send(BODY)

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        chance = random.Random(self.number)
        due = time.monotonic() + chance.random() * self.pause
        while due < self.end and time.monotonic() < self.end:
            time.sleep(max(0, due - time.monotonic()))
            try:
                self.send(connection, chance.choice(PATHS))
                answer = connection.getresponse()
                answer.read()
            except (http.client.RemoteDisconnected, ConnectionError):  # uvicorn closes what is idle for five seconds
                connection.close()
                continue
            self.answers += answer.status == 200
            due += self.pause * chance.uniform(0.5, 1.5)
        connection.close()


def ask(port, rate, seconds):
    clients = [Client(port, number, rate, time.monotonic() + seconds) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return sum(client.answers for client in clients)


def main(name, rate, seconds, out, prefix):
    port, truth = free_port(), out + ".processes"
    os.makedirs(truth)
    words = [word.replace("PORT", str(port)) for word in SERVERS[name].split()]
    words = [os.path.join(light_service.here, word) if word.endswith(".py") else word for word in words]
    environment = dict(os.environ, TRUTH_DIRECTORY=truth, PYTHONPATH=light_service.here)
    if os.environ.get("LIBPYPROF"):
        environment["LD_PRELOAD"] = os.environ["LIBPYPROF"]
    # In the background of a shell it is ignored, and a server would take that over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with open(out + ".log", "wb") as log:
        server = subprocess.Popen([*prefix, sys.executable, *words], env=environment, stdout=log, stderr=log)
    try:
        wait_for(port, server)
        requests = ask(port, rate, seconds)
        # As from a terminal: all of these servers leave properly then, and what they used last is in the profile.
        server.send_signal(signal.SIGINT)
        server.wait(STOP_SECONDS)
    finally:
        server.kill()
        server.wait()
    used, calls = light_service.truth_in(truth)
    if sum(calls.values()) < requests:
        sys.exit(f"{requests} answers of {calls}")
    with open(out, "w") as file:
        json.dump({"server": name, "rate": rate, "requests": requests, "functions": used, "calls": calls}, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5:])
