"""Clients of `pyprof serve`, polite and others: http_clients.py CASE HOST:PORT [ARGUMENTS...]. A case that fails says why."""
import http.client
import os
import socket
import sys
import time

case, (host, port) = sys.argv[1], sys.argv[2].rsplit(":", 1)
arguments = sys.argv[3:]
HOST = b"Host: 127.0.0.1\r\n"
LONG_S = 60  # what takes longer than that hangs


def connected():
    client = socket.create_connection((host, int(port)), timeout=LONG_S)
    return client


def sent(data):
    """Everything that is answered."""
    client = connected()
    try:
        client.sendall(data)
    except OSError:  # it has heard enough
        pass
    return received(client)


def received(client):
    answer = b""
    try:
        while data := client.recv(65536):
            answer += data
    except ConnectionError:
        pass
    client.close()
    return answer


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else answer[:40]


def get(path, **headers):
    connection = http.client.HTTPConnection(host, int(port), timeout=LONG_S)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def expect(what, got, *wanted):
    if got not in wanted:
        sys.exit(f"{what}: {got}, not {wanted}")


def is_there():
    expect("/metrics", get("/metrics")[0], 200)


def strict():
    for what, request, *wanted in [
        ("a plain request", b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        ("HTTP/1.0", b"GET /metrics HTTP/1.0\r\n" + HOST + b"\r\n", 200),
        ("HTTP/0.9", b"GET /metrics\r\n", 400),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("no Host", b"GET / HTTP/1.1\r\n\r\n", 400),
        ("two Hosts", b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
        ("a name as Host", b"GET / HTTP/1.1\r\nHost: evil.example:4040\r\n\r\n", 421),
        ("a name like an address", b"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 421),
        ("an empty Host", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 421),
        ("localhost", b"GET /metrics HTTP/1.1\r\nHost: LocalHost:80\r\n\r\n", 200),
        ("another address", b"GET /metrics HTTP/1.1\r\nHost: [::1]:4040\r\n\r\n", 200),
        ("a NUL in the target", b"GET /\0 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("a NUL in a header", b"GET / HTTP/1.1\r\n" + HOST + b"X: \0\r\n\r\n", 400),
        ("an escaped NUL", b"GET /flame?by=%00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("half an escape", b"GET /flame?by=%4 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("an unknown key", b"GET /flame?output=/tmp/x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("an option as a value", b"GET /flame?by=--output%3d/tmp/x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("bare line feeds", b"GET / HTTP/1.1\n" + HOST + b"\n\n", 400),
        ("a folded header", b"GET / HTTP/1.1\r\n" + HOST + b"X: 1\r\n 2\r\n\r\n", 400),
        ("a blank before a colon", b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        ("a proxy's request", b"GET http://127.0.0.1/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("POST", b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc", 405),
        ("a body", b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc", 400),
        ("chunks", b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("a long target", b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        ("many headers", b"GET / HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 500 + b"\r\n", 431),
        ("1 MB of header", b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * (1 << 20) + b"\r\n\r\n", 431, b""),
        ("garbage", bytes(range(256)), 400),
        ("nothing here", b"GET /../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    ]:
        expect(what, status(sent(request)), *wanted)
    # A second request on the same connection is not answered, and leaves the first one's answer whole.
    answer = sent((b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n") * 20)
    expect("pipelined requests: answers", answer.count(b"HTTP/1.1 200"), 1)
    head, body = answer.split(b"\r\n\r\n", 1)
    expect("its length", f"Content-Length: {len(body)}".encode() in head, True)
    for name in (b"nosniff", b"Content-Security-Policy", b"no-store"):
        expect(name, name in head, True)
    expect("CORS", b"Access-Control" in head, False)
    answer = sent(b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n")
    expect("HEAD", answer.endswith(b"\r\n\r\n") and status(answer), 200)


def crowd():
    """More connections than there is room for, that send nothing, half a request, or a byte now and then."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    clients = []
    for i in range(1000):
        client = connected()
        try:
            client.sendall([b"", b"G", b"GET / HTTP/1.1\r\nHost: 127", b"GET /flame HTTP/1.1\r\n"][i % 4])
            if i % 7 == 0:
                client.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        clients.append(client)
        if i % 100 == 99:
            is_there()
    for _ in range(20):
        for client in clients:
            try:
                client.sendall(b"x")
            except OSError:
                pass
        is_there()


def unread():
    """Clients that do not take their answers."""
    clients = []
    for _ in range(100):
        client = connected()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.sendall(b"GET /flame HTTP/1.1\r\n" + HOST + b"\r\n")
        clients.append(client)
    is_there()
    expect("/api/runs.json", get("/api/runs.json")[0], 200, 503)
    for client in clients:
        client.close()
    until(lambda: get("/api/runs.json")[0] == 200, "the commands of clients that have gone are over")


def until(happens, what):
    end = time.monotonic() + LONG_S
    while not happens():
        if time.monotonic() > end:
            sys.exit("never: " + what)
        time.sleep(0.1)


def waiting():
    """So many that wait for a profile leave room for others, and when they go, it is free."""
    clients = [connected() for _ in range(40)]
    for client in clients:
        client.sendall(b"GET /debug/pprof/profile?seconds=600 HTTP/1.1\r\n" + HOST + b"\r\n")
    is_there()
    expect("one more profile", get("/debug/pprof/profile?seconds=1")[0], 503)
    expect("another command", get("/api/runs.json")[0], 200)
    for client in clients:
        client.close()
    until(lambda: get("/api/runs.json")[0] == 200, "there is room again")


def memory():
    """PID: what the server takes after ten requests it takes after a thousand, whatever they are."""
    paths = ["/", "/metrics", "/nothing", "/flame?x", "/api/status.json", "/debug/pprof/heap"]

    def size():
        with open(f"/proc/{arguments[0]}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for i in range(60):
        get(paths[i % len(paths)])
    get("/flame")
    before = size()
    for i in range(1000):
        get(paths[i % len(paths)])
        if i == 500:
            get("/flame")
    if size() > 1.1 * before + (1 << 18):
        sys.exit(f"{before} bytes became {size()}")


globals()[case]()
if case != "memory":
    is_there()
