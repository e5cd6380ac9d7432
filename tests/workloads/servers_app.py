"""The application of servers.py. Each process leaves in the directory $SERVERS_TRUTH what its threads used in the functions
burn_*, up to the last two milliseconds: a process that is killed, too.

    /page[/MS]  burns 2 ms again and again in burn_page, gives way in between
    /stuck      never answers; Python runs its signal handlers
    /held       never answers, in C, with the GIL: no handler of Python's runs
    /spool      has uWSGI's spooler burn 200 ms; /mule has its mule do that
"""

import asyncio
import os
import sys
import threading
import time

try:
    import uwsgi
except ImportError:
    uwsgi = None

BATCH_NS = 2_000_000
truth = os.environ["SERVERS_TRUTH"]
entries = {}


def entry(function):
    key = function, os.getpid(), threading.get_native_id()
    if key not in entries:
        path = os.path.join(truth, f"{key[1]}.{function}.{key[2]}.{time.time_ns()}")
        entries[key] = [os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC), 0]
    return entries[key]


def spin(function):
    """What it costs to write this is in the next batch."""
    since = now = time.thread_time_ns()
    mine = entry(function)
    os.pwrite(mine[0], b"%020d" % (mine[1] + BATCH_NS), 0)
    while now - since < BATCH_NS:
        for _ in range(100):
            pass
        now = time.thread_time_ns()
    mine[1] += now - since


def burn_page():
    spin("burn_page")


def burn_stuck():
    spin("burn_stuck")


def burn_spool():
    spin("burn_spool")


def burn_mule():
    spin("burn_mule")


def burn_background():
    spin("burn_background")


def burn_held():
    """All that the process uses from here on."""
    os.pwrite(entry("burn_held")[0], b"-%019d" % time.process_time_ns(), 0)
    sum(range(10**14))


def batches(path):
    number = path.rpartition("/")[2]
    return int(number) * 1_000_000 // BATCH_NS if number.isdigit() else 5


def special(path):
    if path.endswith("/held"):
        burn_held()
    while path.endswith("/stuck"):
        burn_stuck()
    if path.endswith("/spool"):
        uwsgi.spool({b"any": b"thing"})
    if path.endswith("/mule"):
        uwsgi.mule_msg(b"burn")


def app(environ, start_response):
    path = environ["PATH_INFO"]
    special(path)
    for _ in range(batches(path)):
        burn_page()
        time.sleep(0)
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


async def asgi_app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("only requests are served")
    special(scope["path"])
    for _ in range(batches(scope["path"])):
        burn_page()
        await asyncio.sleep(0)
    body = str(os.getpid()).encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def spooled(_arguments):
    for _ in range(100):
        burn_spool()
    return uwsgi.SPOOL_OK


def in_background():
    while True:
        burn_background()
        time.sleep(0.004)


def on_inherited_socket():
    """What uWSGI's worker-exec starts: the socket is descriptor 0."""
    import socket
    import socketserver
    import wsgiref.simple_server

    class Quiet(wsgiref.simple_server.WSGIRequestHandler):
        def log_message(self, *_arguments):
            pass

    server = wsgiref.simple_server.WSGIServer(("127.0.0.1", 0), Quiet, bind_and_activate=False)
    server.socket = socket.socket(fileno=0)
    server.setup_environ = lambda: None
    server.base_environ = {"SERVER_NAME": "localhost", "SERVER_PORT": "0", "SCRIPT_NAME": "", "GATEWAY_INTERFACE": "CGI/1.1"}
    server.server_name, server.server_port = "localhost", 0
    server.set_app(app)
    socketserver.BaseServer.serve_forever(server)


if os.environ.get("SERVERS_BACKGROUND"):
    threading.Thread(target=in_background, daemon=True).start()
if uwsgi:
    uwsgi.spooler = spooled
    while uwsgi.mule_id() > 0 and uwsgi.mule_get_msg():
        for _ in range(100):
            burn_mule()
if sys.argv[1:] == ["worker-exec"]:
    on_inherited_socket()
