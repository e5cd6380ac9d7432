"""An application in libpyprof.wsgi() or asgi(), of the framework that FRAMEWORK names: flask, django, django-async, starlette,
fastapi, or plain: none. An endpoint answers with the nanoseconds that its thread has used for the request."""
import os
import sys
import time

import libpyprof

FRAMEWORK = os.environ["FRAMEWORK"]
SCALE = float(os.environ.get("SCALE", "1"))


def spin(ms):
    since = now = time.thread_time_ns()
    while now - since < ms * 1e6 * SCALE:
        sum(range(500))
        now = time.thread_time_ns()
    return str(now - since)


def light():
    return spin(4)


def heavy(number):
    return spin(10 if number % 2 else 20)


def fails():
    raise KeyError("on purpose")


def flask_app():
    import flask

    app = flask.Flask(__name__)
    app.add_url_rule("/light/<name>", "light", lambda name: light())
    app.add_url_rule("/heavy/<int:number>", "heavy", lambda number: heavy(number))
    app.add_url_rule("/fails", "fails", fails)

    @app.get("/streams/<int:number>")
    def streams(number):
        return flask.Response(spin(1) + " " for _ in range(number))

    @app.get("/labelled")
    def labelled():
        with libpyprof.labels(endpoint="own name"):
            return spin(4)

    return libpyprof.wsgi(app)


def django_app(asynchronous):
    import django
    import django.conf
    import django.http
    import django.urls

    def view(function):
        return lambda request, **arguments: django.http.HttpResponse(function(**arguments))

    urls = [django.urls.path("light/<name>", view(lambda name: light()))]
    urls.append(django.urls.path("heavy/<int:number>", view(heavy)))
    urls.append(django.urls.path("fails", view(fails)))
    settings = {"ALLOWED_HOSTS": ["*"], "SECRET_KEY": "s", "LOGGING_CONFIG": None}
    django.conf.settings.configure(ROOT_URLCONF=tuple(urls), **settings)
    django.setup()
    if asynchronous:
        from django.core.handlers.asgi import ASGIHandler

        return libpyprof.asgi(ASGIHandler())
    from django.core.handlers.wsgi import WSGIHandler

    return libpyprof.wsgi(WSGIHandler())


def starlette_app():
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route

    async def as_light(request):
        return PlainTextResponse(light())

    def as_heavy(request):
        return PlainTextResponse(heavy(request.path_params["number"]))

    async def as_fails(request):
        fails()

    async def passes(request, call_next):
        return await call_next(request)

    inner = [Route("/heavy/{number:int}", as_heavy)]
    routes = [Route("/light/{name}", as_light), Route("/fails", as_fails), Mount("/in/{tenant}", routes=inner)]
    return libpyprof.asgi(Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=passes)]))


def fastapi_app():
    import fastapi

    app, inner, router = fastapi.FastAPI(), fastapi.FastAPI(), fastapi.APIRouter()

    @app.get("/light/{name}")
    async def as_light(name):
        return int(light())

    @inner.get("/heavy/{number}")
    def as_heavy(number: int):
        return int(heavy(number))

    @router.get("/heavy/{number}")
    def in_router(number: int):
        return int(heavy(number))

    app.get("/fails")(fails)
    app.mount("/in", inner)
    app.include_router(router, prefix="/router")
    return libpyprof.asgi(app)


def plain_app():
    def app(environ, start_response):
        parts = environ["PATH_INFO"].split("/")
        body = heavy(int(parts[2])) if parts[1] == "heavy" else fails() if parts[1] == "fails" else light()
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [body.encode()]

    return libpyprof.wsgi(app)


applications = {"flask": flask_app, "django": lambda: django_app(False), "django-async": lambda: django_app(True)}
applications.update({"starlette": starlette_app, "fastapi": fastapi_app, "plain": plain_app})
app = applications[FRAMEWORK]()
