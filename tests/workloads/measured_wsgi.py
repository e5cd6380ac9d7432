"""A WSGI application that knows what each thread of its server used: /burn/a and /burn/b cost 10 ms each, /truth tells."""

import json
import os
import threading
import time

import truth

threads = {}


def burn_a():
    truth.spin("burn_a", 10_000_000)


def burn_b():
    truth.spin("burn_b", 10_000_000)


def told():
    clocks = {tid: time.clock_gettime_ns((~tid << 3) | 6) for tid in list(threads)}
    return {"pid": os.getpid(), "functions": truth.functions, "process_ns": time.process_time_ns(), "threads": clocks}


def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/truth":
        body = json.dumps(told())
    else:
        threads[threading.get_native_id()] = True
        (burn_b if path == "/burn/b" else burn_a)()
        body = "used"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body.encode()]
