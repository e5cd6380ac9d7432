"""requests_served.py SOURCE SECONDS: uses CPU for values of a context (spans, endpoints, labels) that a library, or the program,
has set; prints as JSON what each value used by the clock of its thread: {"values": {VALUE: ns}, "hands_to_threads": BOOL,
"does_more": BOOL}: a library does much for each value besides.

SOURCE is opentelemetry, sentry, ddtrace, labels, flask, bottle, gevent-flask, django, django-async, starlette, middleware, fastapi, fastapi-uvloop, aiohttp (spans
of OpenTelemetry, served over a socket), celery (spans of Sentry, which it makes for each task). The work is done in threads, in coroutines of an event loop
and in worker threads that take over the context, half of it without the GIL."""
import asyncio
import contextlib
import contextvars
import hashlib
import io
import json
import random
import sys
import threading
import time
import types

if __name__ == "__main__" and sys.argv[1] == "gevent-flask":
    import gevent.monkey

    gevent.monkey.patch_all()

END = CPU_END = 0.0
DATA = b"x" * (1 << 16)
used = {}
functions = {}
lock = threading.Lock()


def work(value, ms, holds_gil=False):
    """Uses CPU for the value in a function for it; None is no value."""
    if value not in functions:
        code = work_in.__code__.replace(co_name=f"WITHIN {value}")
        if sys.version_info >= (3, 11):
            code = code.replace(co_qualname=f"WITHIN {value}")
        functions[value] = types.FunctionType(code, globals())
    functions[value](value, ms, holds_gil)


def work_in(value, ms, holds_gil):
    ms *= random.uniform(0.5, 1.5)
    since = now = time.thread_time_ns()
    number = 0
    while now - since < ms * 1e6:
        number += 1
        if number % 2 and not holds_gil:
            hashlib.sha256(DATA)  # without the GIL
        else:
            sum(range(2000))
        now = time.thread_time_ns()
    with lock:
        used[value] = used.get(value, 0) + now - since


def goes_on():
    """For a time, and on a busy machine until a quarter of it has been used."""
    now = time.monotonic()
    return now < END or (time.process_time() < CPU_END and now < END + 20)


def after(n):
    """What comes next is left to chance: what is always done after something else may hide between the kernel's ticks."""
    return n + random.randrange(1, 61)


def share(n):
    """Milliseconds of the n-th value: they differ."""
    return 1 + n % 4


class Threads:
    """Sets values in threads: enter(value) returns a context manager."""

    values = ["one", "two", "three", "four", "five"]
    of_contexts = True  # what is set in a context stays so in its copies

    def apart(self):
        """For what a thread or a task does apart from all others."""
        return contextlib.nullcontext()

    def serve(self, first):
        with self.apart():
            self.serves(first)

    def serves(self, first):
        n = first
        while goes_on():
            n = after(n)
            value = self.values[n % len(self.values)]
            with self.enter(value):
                work(value, share(n))
                if n % 3 == 0:
                    inner = self.values[(n + 1) % len(self.values)]
                    with self.enter(inner):
                        work(inner, 1)
                    work(value, 1)
                if n % 5 == 0 and self.of_contexts:
                    threading.Thread(target=contextvars.copy_context().run, args=(work, value, 2)).start()
            work(None, 1)

    async def served(self, first):
        with self.apart():
            await self.serves_tasks(first)

    async def serves_tasks(self, first):
        n = first
        while goes_on():
            n = after(n)
            value = self.values[n % len(self.values)]
            with self.enter(value):
                work(value, share(n))
                await asyncio.sleep(0)
                child = asyncio.ensure_future(self.child(value))
                work(value, 1)
                await child
            work(None, 1)
            await asyncio.sleep(0)

    async def child(self, value):
        work(value, 1)
        await asyncio.sleep(0)
        work(value, 1)

    async def several(self):
        await asyncio.gather(*(self.served(n) for n in range(3)))

    def run(self):
        threads = [threading.Thread(target=self.serve, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        asyncio.new_event_loop().run_until_complete(self.several())
        for thread in threads:
            thread.join()


class OpenTelemetry(Threads):
    def __init__(self):
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        trace.set_tracer_provider(TracerProvider())
        self.enter = trace.get_tracer("test").start_as_current_span


class Sentry(Threads):
    of_contexts = False

    def __init__(self):
        import sentry_sdk

        self.sdk = sentry_sdk
        sentry_sdk.init(traces_sample_rate=1.0, default_integrations=False)
        self.apart = sentry_sdk.new_scope

    def enter(self, value):
        if self.sdk.get_current_span() is None:
            return self.sdk.start_transaction(name=value, op="test")
        return self.sdk.start_span(op=value) if value == "five" else self.sdk.start_span(op="test", name=value)


class DDTrace(Threads):
    def __init__(self):
        from ddtrace import tracer

        self.enter = tracer.trace


class Labels(Threads):
    def __init__(self):
        import libpyprof  # contrib/python

        self.enter = lambda value: libpyprof.labels(customer=value)


async def nothing():
    return {"type": "http.request", "body": b"", "more_body": False}


async def ignore(message):
    if message["type"] == "http.response.start":
        assert message["status"] == 200, message


class Requests:
    """Requests to an application, without a server. Its values are endpoints, and the paths of requests to them."""

    def wsgi(self, path):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "SERVER_NAME": "s", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
        environ.update({"wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr, "SCRIPT_NAME": ""})
        body = self.app(environ, lambda status, headers, exc_info=None: self.check(status))
        list(body)
        getattr(body, "close", int)()

    def check(self, status):
        assert status.startswith("200"), status

    async def asgi(self, path, receive=nothing, send=ignore):
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "path": path, "root_path": ""}
        scope.update({"raw_path": path.encode(), "query_string": b"", "headers": [], "scheme": "http"})
        scope.update({"server": ("s", 80), "client": ("c", 1)})
        await self.app(scope, receive, send)

    def serve(self, first):
        n = first
        while goes_on():
            n = after(n)
            self.wsgi(list(self.paths.values())[n % len(self.paths)])
            work(None, 1)

    async def served(self, first):
        n = first
        while goes_on():
            n = after(n)
            await self.asgi(list(self.paths.values())[n % len(self.paths)])
            work(None, 1)
            await asyncio.sleep(0)

    async def several(self):
        await asyncio.gather(*(self.served(n) for n in range(3)))

    def run(self):
        if self.asynchronous:
            asyncio.new_event_loop().run_until_complete(self.several())
            return
        threads = [threading.Thread(target=self.serve, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Flask(Requests):
    asynchronous = False
    paths = {"/": "/", "/items/<int:item>": "/items/7", "/users/<name>/carts": "/users/you/carts"}

    def __init__(self):
        import flask

        self.app = flask.Flask("app")
        for n, rule in enumerate(self.paths):
            self.app.add_url_rule(rule, f"view{n}", self.view(rule, 2 + n))

    def view(self, rule, ms):
        def view(**arguments):
            work(rule, ms)
            return "done"

        return view


class Bottle(Requests):
    asynchronous = False
    paths = {"/": "/", "/items/<item:int>": "/items/7", "/users/<name>/carts": "/users/you/carts", "/shop/<:re:.*>": "/shop/carts"}

    def __init__(self):
        import bottle

        self.app, shop = bottle.Bottle(), bottle.Bottle()
        for n, rule in enumerate(list(self.paths)[:3]):
            self.app.route(rule, callback=self.view(rule, 2 + n))
        shop.route("/carts", callback=self.view("/shop/<:re:.*>", 2))
        self.app.mount("/shop/", shop.wsgi)  # to Bottle that is any WSGI application

    def view(self, rule, ms):
        return lambda **arguments: work(rule, ms) or "done"


class GeventFlask(Flask):
    """Requests in greenlets that switch in the middle."""

    def view(self, rule, ms):
        def view(**arguments):
            work(rule, ms)
            gevent.sleep(0)
            work(rule, 1)
            return "done"

        return view

    def serve(self, first):
        n = first
        while goes_on():
            n = after(n)
            self.wsgi(list(self.paths.values())[n % len(self.paths)])
            work(None, 1)
            gevent.sleep(0)

    def run(self):
        gevent.joinall([gevent.spawn(self.serve, n) for n in range(3)])


class Django(Requests):
    asynchronous = False
    paths = {"/": "/", "/items/<int:item>/": "/items/7/", "/shop/users/(.+)/carts$": "/shop/users/you/carts"}

    def __init__(self):
        import django
        import django.conf
        import django.core.handlers.wsgi
        import django.urls

        urls = [django.urls.path("", self.view("/", 2)), django.urls.path("items/<int:item>/", self.view("/items/<int:item>/", 3))]
        inner = [django.urls.re_path("^users/(.+)/carts$", self.view("/shop/users/(.+)/carts$", 4))]
        urls.append(django.urls.path("shop/", django.urls.include(inner)))
        module = sys.modules["urls"] = types.ModuleType("urls")
        module.urlpatterns = urls
        django.conf.settings.configure(ROOT_URLCONF="urls", ALLOWED_HOSTS=["*"], SECRET_KEY="s")
        django.setup()
        self.app = django.core.handlers.wsgi.WSGIHandler()

    def view(self, route, ms):
        import django.http

        def view(request, *arguments, **more):
            work(route, ms)
            return django.http.HttpResponse("done")

        return view


class DjangoAsync(Django):
    """The views run in a thread, as Django has it for those that are not coroutines."""

    asynchronous = True

    def __init__(self):
        import django.core.handlers.asgi

        super().__init__()
        self.app = django.core.handlers.asgi.ASGIHandler()

    async def served(self, first):
        messages = iter([])

        async def receive():  # Django waits for the client's end meanwhile
            for message in messages:
                return message
            await asyncio.sleep(3600)

        n = first
        while goes_on():
            n = after(n)
            messages = iter([await nothing()])
            await self.asgi(list(self.paths.values())[n % len(self.paths)], receive)
            work(None, 1)
            await asyncio.sleep(0)


class Starlette(Requests):
    asynchronous = True
    paths = {"/": "/", "/items/{item:int}": "/items/7", "/shop/users/{name}/carts": "/shop/users/you/carts", "/shop/thread": "/shop/thread"}
    wide = {"/лавка/{name}": "/лавка/you", "/é/🛒/{name}": "/é/🛒/you"}  # parts of several widths of characters
    paths.update(wide)

    def in_thread(self, path, ms):
        from starlette.responses import PlainTextResponse

        def view(request):
            work(path, ms)
            return PlainTextResponse("done")

        return view

    def view(self, path, ms):
        from starlette.responses import PlainTextResponse

        async def view(request):
            work(path, ms)
            await asyncio.sleep(0)
            work(path, 1)
            return PlainTextResponse("done")

        return view

    def __init__(self):
        from starlette.applications import Starlette
        from starlette.routing import Mount, Route

        routes = [Route(path, self.view(path, 2 + n)) for n, path in enumerate(list(self.paths)[:2])]
        inner = [Route("/users/{name}/carts", self.view("/shop/users/{name}/carts", 4))]
        inner.append(Route("/thread", self.in_thread("/shop/thread", 6)))
        wide = [Mount("/лавка", routes=[Route("/{name}", self.view("/лавка/{name}", 2))])]
        wide.append(Mount("/é", routes=[Route("/🛒/{name}", self.view("/é/🛒/{name}", 3))]))
        self.app = Starlette(routes=routes + [Mount("/shop", routes=inner)] + wide)


class Middleware(Starlette):
    """The endpoint runs in a task that the middleware starts."""

    def __init__(self):
        from starlette.middleware.base import BaseHTTPMiddleware

        async def dispatch(request, call_next):
            response = await call_next(request)
            await asyncio.sleep(0)
            return response

        super().__init__()
        for _ in range(2):
            self.app.add_middleware(BaseHTTPMiddleware, dispatch=dispatch)


class FastAPI(Starlette):
    paths = {**{path: asked for path, asked in Starlette.paths.items() if path not in Starlette.wide}, "/router/{customer}": "/router/7", "/router/threads/{thread}": "/router/threads/7"}

    def __init__(self):
        from fastapi import APIRouter, FastAPI, Request

        def route(app, path, ms, prefix="", make=self.view):
            view = make(prefix + path, ms)
            view.__annotations__["request"] = Request
            app.get(path)(view)

        self.app, inner, router = FastAPI(), FastAPI(), APIRouter()
        route(self.app, "/", 2)
        route(self.app, "/items/{item:int}", 3)
        route(inner, "/users/{name}/carts", 4, "/shop")
        route(inner, "/thread", 6, "/shop", self.in_thread)
        self.app.mount("/shop", inner)
        route(router, "/{customer}", 5, "/router")
        route(router, "/threads/{thread}", 7, "/router", self.in_thread)
        self.app.include_router(router, prefix="/router")


class FastAPIUvloop(FastAPI):
    def run(self):
        import uvloop

        uvloop.new_event_loop().run_until_complete(self.several())


class Aiohttp(OpenTelemetry):
    """A server on a socket, and its clients in the same loop."""

    values = ["/", "/items/{item}", "/users/{name}/carts"]
    paths = ["/", "/items/7", "/users/you/carts"]

    def __init__(self):
        import aiohttp.web

        super().__init__()
        self.aiohttp = aiohttp

    def view(self, route, ms):
        async def view(request):
            with self.enter(request.match_info.route.resource.canonical):
                work(route, ms)
                await asyncio.sleep(0)
                work(route, 1)
            return self.aiohttp.web.Response(text="done")

        return view

    async def client(self, session, port, first):
        n = first
        while goes_on():
            n = after(n)
            async with session.get(f"http://127.0.0.1:{port}{self.paths[n % 3]}") as response:
                assert response.status == 200 and await response.text() == "done"
            work(None, 1)

    async def several(self):
        web = self.aiohttp.web
        app = web.Application()
        for n, route in enumerate(self.values):
            app.router.add_get(route, self.view(route, 3 + n))
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        async with self.aiohttp.ClientSession() as session:
            await asyncio.gather(*(self.client(session, port, n) for n in range(3)))
        await runner.cleanup()

    def run(self):
        asyncio.new_event_loop().run_until_complete(self.several())


class Celery:
    """Tasks of an unmodified Celery in this process: sentry_sdk makes a transaction for each, with the task's name."""

    def __init__(self):
        import celery
        import sentry_sdk
        from sentry_sdk.integrations.celery import CeleryIntegration

        sentry_sdk.init(traces_sample_rate=1.0, default_integrations=False, integrations=[CeleryIntegration()])
        app = celery.Celery("app", broker="memory://", backend="cache+memory://")
        app.conf.update(worker_hijack_root_logger=False)
        self.app = app
        self.tasks = [self.task(f"tasks.{name}", 5 + 5 * n) for n, name in enumerate(["first", "second", "third"])]

    def task(self, name, ms):
        def run():
            work(name, ms)

        return self.app.task(run, name=name)

    def run(self):
        from celery.contrib.testing.worker import start_worker

        with start_worker(self.app, perform_ping_check=False, pool="threads", concurrency=2):
            n = 0
            while goes_on():
                n = after(n)
                self.tasks[n % 3].delay()
                work(None, 1)
                time.sleep(0.015)
            time.sleep(1)


sources = {"opentelemetry": OpenTelemetry, "sentry": Sentry, "ddtrace": DDTrace, "labels": Labels, "flask": Flask, "bottle": Bottle, "django": Django}
sources.update({"django-async": DjangoAsync, "starlette": Starlette, "middleware": Middleware, "fastapi": FastAPI})
sources.update({"fastapi-uvloop": FastAPIUvloop, "gevent-flask": GeventFlask, "aiohttp": Aiohttp, "celery": Celery})


def serve(source, seconds, does_more=False):
    global END, CPU_END
    time.sleep(1.2)  # what was imported is found once a second
    END = time.monotonic() + seconds
    CPU_END = time.process_time() + seconds / 4
    source.run()
    used.pop(None, 0)
    print(json.dumps({"values": used, "hands_to_threads": getattr(source, "asynchronous", False), "does_more": does_more}))


if __name__ == "__main__":
    serve(sources[sys.argv[1]](), float(sys.argv[2]), sys.argv[1] == "celery")
