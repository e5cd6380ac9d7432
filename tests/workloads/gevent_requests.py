"""gevent_requests.py flask|django|plain: a service in libpyprof.wsgi() whose requests have gevent do their work: greenlets that
they spawn, pools of them, and its threads. Each kind of work is in a function of its own, burn_KIND, for the endpoint /KIND.
/background leaves a greenlet, and so does /worker: that works for all requests that come later. /thread has a pool of
Python's threads, which gevent makes greenlets, each for all requests. Called without a server, by three greenlets in turn."""
import gevent.monkey

gevent.monkey.patch_all()
import concurrent.futures
import io
import sys
import time
import types

import gevent
import gevent.pool
import gevent.queue

import libpyprof

KINDS = "direct", "spawned", "pool", "nested", "applied", "given", "background", "worker", "thread"


def burn(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        sum(range(500))
        gevent.sleep(0)


def burn_in_thread(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        sum(range(500))


burns = {}
for kind in KINDS:
    function = burn_in_thread if kind in ("applied", "given") else burn
    code = function.__code__.replace(co_name="burn_" + kind)
    if sys.version_info >= (3, 11):
        code = code.replace(co_qualname="burn_" + kind)
    burns[kind] = types.FunctionType(code, globals())

queue = gevent.queue.Queue()
executor = concurrent.futures.ThreadPoolExecutor(2)
workers = []


def works():
    for ms, event in queue:
        burns["worker"](ms)
        event.set()


def work(kind):
    function = burns[kind]
    if kind == "direct":
        function(4)
    elif kind == "spawned":
        gevent.joinall([gevent.spawn(function, 3), gevent.spawn_later(0.001, function, 3)])
    elif kind == "pool":
        gevent.pool.Pool(2).map(function, (2, 2, 2))
        gevent.pool.Pool(2).apply(function, (2,))
    elif kind == "nested":
        gevent.spawn(lambda: gevent.joinall([gevent.spawn(function, 4)])).join()
    elif kind == "applied":
        gevent.get_hub().threadpool.apply(function, (6,))
    elif kind == "given":
        gevent.get_hub().threadpool.spawn(function, 6).get()
    elif kind == "background":
        gevent.spawn(function, 8)
    elif kind == "worker":
        if not workers:  # this request is over when others give it work
            workers.append(gevent.spawn(works))
        else:
            event = gevent.event.Event()
            queue.put((4, event))
            event.wait()
    else:
        executor.submit(function, 4).result()
    return "done"


def flask():
    import flask

    app = flask.Flask("requests")
    for kind in KINDS:
        app.add_url_rule("/" + kind, kind, lambda kind=kind: work(kind))
    app.wsgi_app = libpyprof.wsgi(app.wsgi_app)
    return app


def django():
    import django.conf
    import django.core.handlers.wsgi
    import django.http
    import django.urls

    urls = sys.modules["urls"] = types.ModuleType("urls")
    urls.urlpatterns = [
        django.urls.path(kind, lambda request, kind=kind: django.http.HttpResponse(work(kind))) for kind in KINDS
    ]
    django.conf.settings.configure(ROOT_URLCONF="urls", ALLOWED_HOSTS=["*"], SECRET_KEY="s")
    django.setup()
    return libpyprof.wsgi(django.core.handlers.wsgi.WSGIHandler())


def plain():
    def app(environ, start_response):
        body = work(environ["PATH_INFO"][1:])
        start_response("200 OK", [])
        return [body.encode()]

    return libpyprof.wsgi(app)


def call(app, kind):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/" + kind, "SCRIPT_NAME": "", "QUERY_STRING": "", "SERVER_NAME": "host"}
    environ.update({"SERVER_PORT": "80", "wsgi.input": io.BytesIO(), "wsgi.errors": sys.stderr, "wsgi.url_scheme": "http"})
    statuses = []
    body = app(environ, lambda status, headers, error=None: statuses.append(status))
    assert b"".join(body) == b"done" and statuses[0].startswith("200"), (kind, statuses)
    if hasattr(body, "close"):
        body.close()


def serve(app, first, end):
    kind = first
    while time.monotonic() < end:
        call(app, KINDS[kind % len(KINDS)])
        kind += 1


app = {"flask": flask, "django": django, "plain": plain}[sys.argv[1]]()
call(app, "applied")  # has gevent's thread pool imported
call(app, "worker")
time.sleep(1.3)  # what was imported is found once a second
gevent.joinall([gevent.spawn(serve, app, first, time.monotonic() + 4) for first in (0, 3, 6)])
