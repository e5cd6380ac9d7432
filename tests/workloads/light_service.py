"""A service with little to do, on one of six servers, which knows the CPU of its functions by the clock of the thread:

    light_service.py flask|django|aiohttp|gevent PORT     the framework's own server; uvicorn and gunicorn import factories

Three endpoints of one to two ms each, as most requests are: shorter than a kernel tick. TRUTH_DIRECTORY is where each process
leaves what it has used, in memory that is a file: it is there however the process ends, and no request pays for a write."""

import asyncio
import hashlib
import json
import mmap
import os
import signal
import sys
import threading
import time

FUNCTIONS = ("price", "sign", "rows")
here = os.path.dirname(os.path.abspath(__file__))
lock = threading.Lock()
cells = None  # for each function its calls and its ns


def open_cells():
    """At the first call, so that forked workers have their own."""
    with open(os.path.join(os.environ["TRUTH_DIRECTORY"], f"{os.getpid()}.truth"), "wb+") as file:
        file.truncate(16 * len(FUNCTIONS))
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("Q")


def measured(function):
    place = 2 * FUNCTIONS.index(function.__name__)

    def call():
        global cells
        since = time.thread_time_ns()
        result = function()
        used = time.thread_time_ns() - since
        with lock:
            if cells is None:
                cells = open_cells()
            cells[place] += 1
            cells[place + 1] += used
        return result

    return call


@measured
def price():
    """Python alone."""
    return str(sum(i * i % 7 for i in range(20000)))


@measured
def sign():
    """C that gives the GIL away."""
    for _ in range(300):
        digest = hashlib.sha256(bytes(5000)).hexdigest()
    return digest


@measured
def rows():
    """C that keeps it."""
    return str(len(json.loads(json.dumps([{"a": i, "b": str(i)} for i in range(1100)]))))


PAGES = {"cart": price, "login": sign, "list": rows}
METHODS = ["GET", "POST"]  # what comes with a POST is read before the work begins


def fastapi_app():
    from fastapi import FastAPI, Request

    app = FastAPI()

    def endpoint(function):
        async def load():
            await asyncio.sleep(0)
            return function()

        async def handle(request: Request):
            await request.body()
            return await asyncio.gather(load())

        return handle

    for path, function in PAGES.items():
        app.api_route(f"/{path}", methods=METHODS)(endpoint(function))
    return app


def flask_app():
    import flask

    app = flask.Flask(__name__)

    def view(function):
        def handle():
            flask.request.get_data()
            return function()

        return handle

    for path, function in PAGES.items():
        app.add_url_rule(f"/{path}", path, view(function), methods=METHODS)
    return app


def serve_flask(port):
    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    flask_app().run(port=port, threaded=True)


def serve_django(port):
    import django.conf
    import django.core.management
    import django.http
    import django.urls

    def view(function):
        return lambda request: request.body is not None and django.http.HttpResponse(function())

    urls = [django.urls.path(path, view(function)) for path, function in PAGES.items()]
    quiet = {"version": 1, "loggers": {"django.server": {"level": "ERROR"}}}
    # It says how long answers are, without which no connection is kept.
    middleware = ["django.middleware.common.CommonMiddleware"]
    settings = {"ALLOWED_HOSTS": ["*"], "SECRET_KEY": "s", "LOGGING": quiet, "MIDDLEWARE": middleware}
    django.conf.settings.configure(ROOT_URLCONF=tuple(urls), **settings)
    django.core.management.execute_from_command_line(["manage.py", "runserver", "--noreload", "--skip-checks", f"127.0.0.1:{port}"])


def serve_aiohttp(port):
    from aiohttp import web

    def handler(function):
        async def handle(request):
            await request.read()
            return web.Response(text=function())

        return handle

    app = web.Application()
    app.add_routes([web.route(method, f"/{path}", handler(function)) for path, function in PAGES.items() for method in METHODS])
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


def serve_gevent(port):
    import gevent
    from gevent.pywsgi import WSGIServer

    def app(environ, start_response):
        function = PAGES.get(environ["PATH_INFO"][1:])
        environ["wsgi.input"].read()
        start_response("200 OK" if function else "404 Not Found", [("Content-Type", "text/plain")])
        return [function().encode() if function else b""]

    server = WSGIServer(("127.0.0.1", port), app, log=None)
    gevent.signal_handler(signal.SIGINT, server.stop)  # an exception might be some request's
    server.serve_forever()


def truth_in(directory):
    """{function: ns}, {function: calls} of all processes."""
    used, calls = dict.fromkeys(FUNCTIONS, 0), dict.fromkeys(FUNCTIONS, 0)
    for name in os.listdir(directory):
        if name.endswith(".truth"):
            with open(os.path.join(directory, name), "rb") as file:
                told = memoryview(file.read()).cast("Q")
            for place, function in enumerate(FUNCTIONS):
                calls[function] += told[2 * place]
                used[function] += told[2 * place + 1]
    return used, calls


if __name__ == "__main__":
    {"flask": serve_flask, "django": serve_django, "aiohttp": serve_aiohttp, "gevent": serve_gevent}[sys.argv[1]](int(sys.argv[2]))
