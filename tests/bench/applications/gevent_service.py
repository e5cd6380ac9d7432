"""A service whose requests are greenlets: gevent_service.py PORT"""

import signal
import sys

import gevent.monkey

gevent.monkey.patch_all()

import json  # noqa: E402
import zlib  # noqa: E402

import gevent.pool  # noqa: E402
from gevent.pywsgi import WSGIServer  # noqa: E402

TEXT = " ".join(str(n * n) for n in range(9000)).encode()


def part(number):
    gevent.sleep(0.001)
    return sorted({str(n * number % 311): n for n in range(1000)}.items())


def cart():
    return json.dumps(gevent.pool.Pool(4).map(part, range(1, 5)))


def packed():
    return str(len(zlib.compress(TEXT, 6)))


def listing():
    return json.dumps([{"id": n, "name": f"item {n}"} for n in range(2000)])


PAGES = {"/a": cart, "/b": packed, "/c": listing}


def app(environ, start_response):
    page = PAGES.get(environ["PATH_INFO"])
    start_response("200 OK" if page else "404 Not Found", [("Content-Type", "application/json")])
    return [page().encode() if page else b""]


server = WSGIServer(("127.0.0.1", int(sys.argv[1])), app, log=None)
gevent.signal_handler(signal.SIGINT, server.stop)
server.serve_forever()
