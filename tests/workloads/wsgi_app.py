"""A WSGI application whose every request costs some CPU and tells which worker served it."""

import os
import time


def render_page():
    since = time.thread_time()
    total = 0
    while time.thread_time() - since < 0.02:
        for i in range(2000):
            total += i * i % 7
    return total


def app(environ, start_response):
    render_page()
    body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
