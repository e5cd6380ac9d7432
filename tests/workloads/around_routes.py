"""A service that uses CPU in its endpoints and around them: in middleware before and after the route is known, in bodies that are
sent when the application has returned, for paths that have no route. KIND says of what it is made: flask, django, django-async,
starlette, fastapi or aiohttp; SERVER, on which PORT: wsgiref, werkzeug, waitress, h11 or httptools (uvicorn), aiohttp; or
`gunicorn around_routes:app`. ROOT_PATH: where uvicorn's clients see the application. At its end truth.json has what each endpoint has used by the clocks of its threads, as
requests_served.py."""
import asyncio
import atexit
import json
import os
import signal
import sys

from requests_served import used, work

KIND = os.environ["KIND"]
ASYNCHRONOUS = KIND in ("django-async", "starlette", "fastapi", "aiohttp")
UNKNOWN = "(unknown route)"


def parts(value):
    for _ in range(2):
        work(value, 2)
        yield b"part"


def flask():
    import flask

    app = flask.Flask("app")
    names = {"plain": "/plain/<n>", "streams": "/streams/<n>", None: UNKNOWN}
    app.before_request(lambda: work(names[flask.request.endpoint], 2))
    app.after_request(lambda response: (work(names[flask.request.endpoint], 1), response)[1])
    app.teardown_request(lambda error: work(names[flask.request.endpoint], 1))
    app.add_url_rule("/plain/<n>", "plain", lambda n: (work("/plain/<n>", 3), "done")[1])
    app.add_url_rule("/streams/<n>", "streams", lambda n: flask.Response(parts(UNKNOWN)))
    inner = app.wsgi_app

    def around(environ, start_response):
        work(UNKNOWN, 2)
        body = inner(environ, start_response)
        work(UNKNOWN, 1)
        return body

    app.wsgi_app = around
    return app


class DjangoMiddleware:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        work(UNKNOWN, 2)
        response = self.get_response(request)
        work("/" + request.resolver_match.route if request.resolver_match else UNKNOWN, 3)
        return response


def django():
    import django
    import django.conf
    from django.http import HttpResponse, StreamingHttpResponse
    from django.urls import path

    streamed = "/streams/<n>" if ASYNCHRONOUS else UNKNOWN
    urls = [path("plain/<n>", lambda request, n: (work("/plain/<n>", 3), HttpResponse("done"))[1])]
    urls.append(path("streams/<n>", lambda request, n: StreamingHttpResponse(parts(streamed))))
    settings = {"ALLOWED_HOSTS": ["*"], "SECRET_KEY": "s", "LOGGING_CONFIG": None}
    settings["MIDDLEWARE"] = ["django.middleware.common.CommonMiddleware"] * 3 + [__name__ + ".DjangoMiddleware"]
    sys.modules["around_routes"] = sys.modules[__name__]
    django.conf.settings.configure(ROOT_URLCONF=tuple(urls), **settings)
    django.setup()
    if ASYNCHRONOUS:
        from django.core.handlers.asgi import ASGIHandler

        return ASGIHandler()
    from django.core.handlers.wsgi import WSGIHandler

    return WSGIHandler()


class Around:
    """Of a mounted application's route, only what the route itself has stays known; Starlette before 1.0 keeps nothing."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        work(UNKNOWN, 2)
        await self.app(scope, receive, send)
        work(known_after(scope), 1)


def known_after(scope):
    first = scope["path"][len(scope.get("app_root_path", scope["root_path"])):].split("/")[1]
    return f"/{first}/{{n}}" if first in ("plain", "thread", "router") and "route" in scope else UNKNOWN


class Within(Around):
    """Of the mounted application."""

    async def __call__(self, scope, receive, send):
        work("/mount", 2)
        await self.app(scope, receive, send)
        work("/mount/in/{n}" if getattr(scope.get("route"), "path", None) == "/in/{n}" else "/mount", 1)


async def in_a_task(request, call_next):
    return await call_next(request)


async def dispatch(request, call_next):
    work(UNKNOWN, 1)
    response = await call_next(request)
    work(known_after(request.scope), 2)
    return response


def starlette():
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, StreamingResponse

    async def plain(request: Request):
        work("/plain/{n}", 2)
        await asyncio.sleep(0)
        return PlainTextResponse("done")

    def thread(request: Request):
        work("/thread/{n}", 3)
        return PlainTextResponse("done")

    async def mounted(request: Request):
        return StreamingResponse(parts("/mount/in/{n}"))

    async def routed(request: Request):
        work("/router/{n}", 2)
        return PlainTextResponse("done")

    if KIND == "fastapi":
        from fastapi import APIRouter, Depends, FastAPI

        app, inner, router = FastAPI(), FastAPI(), APIRouter()
        app.get("/plain/{n}", dependencies=[Depends(lambda: work("/plain/{n}", 1))])(plain)
        app.get("/thread/{n}")(thread)
        inner.get("/in/{n}")(mounted)
        inner.add_middleware(BaseHTTPMiddleware, dispatch=in_a_task)
        router.get("/{n}")(routed)
        app.include_router(router, prefix="/router")
    else:
        from starlette.applications import Starlette
        from starlette.routing import Route

        inner = Starlette(routes=[Route("/in/{n}", mounted)])
        app = Starlette(routes=[Route("/plain/{n}", plain), Route("/thread/{n}", thread), Route("/router/{n}", routed)])
    app.mount("/mount", inner)
    inner.add_middleware(Within)
    app.add_middleware(BaseHTTPMiddleware, dispatch=dispatch)
    app.add_middleware(Around)
    return app


def aiohttp():
    """Its router has found the route before any middleware runs."""
    from aiohttp import web

    @web.middleware
    async def around(request, handler):
        if request.path.startswith("/first/"):
            return await handler(request)
        resource = request.match_info.route.resource
        endpoint = resource.canonical if resource else UNKNOWN
        work(endpoint, 2)
        try:
            return await handler(request)
        finally:
            work(endpoint, 2)

    async def plain(request):
        work("/plain/{n}", 2)
        await asyncio.gather(later("/plain/{n}"))
        return web.Response(text="done")

    async def later(value):
        await asyncio.sleep(0)
        work(value, 1)

    async def thread(request):
        await asyncio.get_running_loop().run_in_executor(None, work, "/thread/{n}", 3)
        return web.Response(text="done")

    class Streams(web.View):
        async def get(self):
            response = web.StreamResponse()
            await response.prepare(self.request)
            for part in parts("/streams/{n}"):
                await response.write(part)
            return response

    async def mounted(request):
        work("/mount/in/{n}", 2)
        return web.Response(text="done")

    async def first(request):
        return web.Response(text="done")  # before it was found where a request's match has its route

    app, inner = web.Application(middlewares=[around]), web.Application(middlewares=[around])
    app.router.add_get("/plain/{n}", plain)
    app.router.add_get("/thread/{n}", thread)
    app.router.add_view("/streams/{n}", Streams)
    app.router.add_get("/first/{n}", first)
    inner.router.add_get("/in/{n}", mounted)
    app.add_subapp("/mount", inner)
    return app


def write():
    if used:  # not the parent of gunicorn's worker
        with open("truth.json", "w") as file:
            json.dump({"values": used, "hands_to_threads": ASYNCHRONOUS, "does_more": True}, file)


def serve(server, port):
    if server in ("h11", "httptools"):
        import uvicorn

        lifespan = "auto" if KIND != "django-async" else "off"
        uvicorn.run(app, port=port, http=server, log_level="critical", lifespan=lifespan, root_path=os.environ.get("ROOT_PATH", ""))
    elif server == "aiohttp":
        from aiohttp import web

        web.run_app(app, host="127.0.0.1", port=port, print=None, handle_signals=False)
    elif server == "waitress":
        import waitress

        waitress.serve(app, host="127.0.0.1", port=port)
    elif server == "werkzeug":
        from werkzeug.serving import make_server

        make_server("127.0.0.1", port, app, threaded=True).serve_forever()
    else:
        from wsgiref.simple_server import make_server

        make_server("127.0.0.1", port, app).serve_forever()


KINDS = {"flask": flask, "django": django, "django-async": django, "starlette": starlette, "fastapi": starlette, "aiohttp": aiohttp}
app = KINDS[KIND]()
atexit.register(write)
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    serve(os.environ["SERVER"], int(os.environ["PORT"]))
