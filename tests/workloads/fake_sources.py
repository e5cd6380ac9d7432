"""fake_sources.py KIND: packages and functions that have the names of known ones, and are something else.

unknown: packages of other layouts. frames: functions without the locals, or with others in them; prints the CPU of each that has an
endpoint. replaced: labels by one module, then by another one of its name. renamed: frameworks whose functions are called
otherwise, or have other locals. wrapped: such with known functions, which others have wrapped. Each uses CPU for a second or
so."""
import contextvars
import functools
import json
import sys
import threading
import time
import types


def use(seconds):
    since = time.thread_time()
    while time.thread_time() - since < seconds:
        sum(range(3000))


def package(name, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    return module


def wait(then=lambda: None):
    for _ in range(2):
        use(0.3)
        time.sleep(1.3)  # what is there is found once a second
        use(0.3)
        then()


class Other:
    """Has what others have, elsewhere."""

    _current_context = contextvars.ContextVar("not this one")
    name = trace_id = span_id = property(lambda self: 1 / 0)


def unknown():
    var = contextvars.ContextVar("var")
    package("flask", __version__="1.1")
    package("flask.globals", _request_ctx_stack=[])
    package("sentry_sdk", VERSION="1.9")
    package("sentry_sdk.scope", _current_scope=var, Scope=Other)
    package("sentry_sdk.tracing", Span=Other, Transaction=Other)
    package("ddtrace", __version__="9.9\u00e9")  # a version of ASCII is said
    package("ddtrace._trace.provider", _DD_CONTEXTVAR=var)
    package("ddtrace._trace.span", Span=Other)
    package("opentelemetry.sdk.version", __version__=("a", "tuple"))
    package("opentelemetry.context", _RUNTIME_CONTEXT=Other())
    package("opentelemetry.trace.propagation", _SPAN_KEY="current-span-0")
    package("greenlet", greenlet=Other, _C_API=Other(), __version__="8.1")
    package("trio", __version__="9.0")
    package("trio._core._run", Task=Other)
    package("libpyprof", pyprof_labels=b"customer=one;")
    package("_asyncio", Task=Other, Future=Other, _current_tasks=[])
    package("django", __version__="9.8")
    package("django.core.handlers.base")
    package("django.core.handlers.exception")
    wait(lambda: var.set(Other()))


def forged(qualname, file, source):
    """A function made of this source, with the names of another one."""
    scope = {"use": use}
    exec(source, scope)
    function = scope["f"]
    changes = {"co_name": qualname.split(".")[-1], "co_filename": file}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = qualname
    function.__code__ = function.__code__.replace(**changes)
    return function


class Path:
    def __init__(self, path):
        self.path = path


def frames():
    starlette = ("Route.handle", "/x/starlette/routing.py")
    fastapi = ("APIRoute.handle", "/x/fastapi/routing.py")
    django = ("convert_exception_to_response.<locals>.inner", "/x/django/core/handlers/exception.py")
    application = ("Starlette.__call__", "/x/starlette/applications.py")
    cycle = ("RequestResponseCycle.run_asgi", "/x/uvicorn/protocols/http/h11_impl.py")
    worker = ("WorkerThread.run", "/x/anyio/_backends/_asyncio.py")
    item = ("_WorkItem.run", "/x/concurrent/futures/thread.py")
    thread = ("Thread._bootstrap", "/x/threading.py")
    for names in starlette, fastapi, django, application, cycle, worker, item, thread:
        forged(*names, "def f(): use(0.02)")()
        forged(*names, "def f(a, b, c, d, e, g, h): use(0.02)")(*[Path("/wrong")] * 7)
        for value in 5, "text", None, Path(5), Path(None), Other(), contextvars.copy_context(), use, type:
            forged(*names, "def f(self, request=None, future=None, effective_context=None, scope=None): use(0.01)")(*[value] * 5)
        forged(*names, "def f():\n  use(0.02)\n  self = request = future = effective_context = scope = 1")()
        forged(*names, "def f(self, request, future, scope):\n  del self, request, future, scope\n  use(0.02)")(*[Path("/wrong")] * 4)
    forged(*starlette, "def f(one, two, three, self, scope): use(0.5)")(Path("/wrong"), 2, 3, Path("/right"), 5)
    forged(*fastapi, "def f(self, scope, b, c, d): use(0.5)")(Path("/also"), 2, 3, 4, Path("/wrong"))
    print(json.dumps({"/right": 0.5, "/also": 0.5}))


def replaced():
    for name in "one", "two", "three":
        var = contextvars.ContextVar("labels")
        if name != "three":
            package("libpyprof", pyprof_labels=var)
        else:
            sys.modules["libpyprof"].pyprof_labels = var  # in the module that is there
        package("other_" + name)  # an import, after which all are searched
        time.sleep(0.1)
        use(0.3)
        time.sleep(2.5)
        var.set(b"customer=%s;" % name.encode())
        use(1)
    print(json.dumps({"one": 1, "two": 1, "three": 1}))


def defined(name, file, source):
    """A module of this source."""
    module = types.ModuleType(name)
    exec(compile(source, "/x/" + file, "exec"), vars(module))
    sys.modules[name] = module
    return module


def frameworks(local, route_local, method):
    package("django", __version__="9.1")
    exception = defined(
        "django.core.handlers.exception",
        "django/core/handlers/exception.py",
        f"def convert_exception_to_response(respond):\n  def inner({local}): return respond({local})\n  return inner",
    )
    package("django.core.handlers.base", convert_exception_to_response=exception.convert_exception_to_response)
    defined("django.core.handlers.wsgi", "django/core/handlers/wsgi.py", f"class WSGIHandler:\n  def __call__(self, environ): {local} = 1")
    package("starlette", __version__="9.2")
    method_of = "class {}:\n  def handle({}, scope): pass\n"
    routes = method_of.format("Route", route_local) + "".join(method_of.format(name, "self") for name in ("Mount", "WebSocketRoute"))
    defined("starlette.routing", "starlette/routing.py", routes)
    package("aiohttp", __version__="9.3")
    package("aiohttp.web_urldispatcher")
    defined("aiohttp.web_protocol", "aiohttp/web_protocol.py", f"class RequestHandler:\n  def {method}(self, request): pass")


def renamed():
    frameworks("a_request", "this", "_handle")
    wait()


def wrapped():
    def trace(function):
        return lambda *arguments: function(*arguments)

    class Proxy:
        def __init__(self, function):
            self.function = function

        def __get__(self, instance, owner):
            return functools.partial(self.function, instance)

    frameworks("request", "self", "_handle")  # aiohttp's is renamed, nobody has wrapped it
    exception, wsgi = sys.modules["django.core.handlers.exception"], sys.modules["django.core.handlers.wsgi"]
    routing = sys.modules["starlette.routing"]
    convert = exception.convert_exception_to_response
    exception.convert_exception_to_response = functools.wraps(convert)(trace(convert))
    # As some tracers do it: the function is the same one, of other code.
    call = wsgi.WSGIHandler.__call__
    call.__wrapped__ = types.FunctionType(call.__code__, call.__globals__)
    call.__code__ = defined("other", "django/core/handlers/wsgi.py", "class WSGIHandler:\n  def __call__(*a): pass").WSGIHandler.__call__.__code__
    routing.Route.handle = Proxy(routing.Route.handle)
    decorator = defined("other", "starlette/routing.py", "def decorator(function):\n  def wrapper(*a): return function(*a)\n  return wrapper")
    routing.Mount.handle = decorator.decorator(routing.Mount.handle)
    routing.WebSocketRoute = type("WebSocketRoute", (routing.WebSocketRoute,), {"handle": lambda self, scope: None})
    wait()


use(0.2)
{"unknown": unknown, "frames": frames, "replaced": replaced, "renamed": renamed, "wrapped": wrapped}[sys.argv[1]]()
