"""A source of contexts.py: endpoints by frames. Functions that have the names, files and locals of Starlette's, FastAPI's,
uvicorn's, aiohttp's and Django's, so that the packages need not be here; a request's scope grows while it is served."""
import asyncio
import sys

main = sys.modules["__main__"]
ENDPOINT = 4  # enum pp_context_kind
UNKNOWN = "(unknown route)"

MODELS = {
    "uvicorn/protocols/http/h11_impl.py": """
class RequestResponseCycle:
    def __init__(self, scope):
        self.scope = scope

    async def run_asgi(self, app):
        marked(UNKNOWN)
        await app(self.scope, None, None)
        marked(self.named)
""",
    "starlette/applications.py": """
class Starlette:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        scope["app"] = self
        await self.app(scope, receive, send)
""",
    "starlette/routing.py": """
class Route:
    def __init__(self, path, app):
        self.path, self.app = path, app

    async def handle(self, scope, receive, send):
        await self.app(scope)

class Mount(Route):
    async def handle(self, scope, receive, send):
        await self.app(scope, receive, send)
""",
    "fastapi/routing.py": """
class Effective:
    def __init__(self, path, route):
        self.path, self.original_route = path, route

class APIRoute:
    def __init__(self, path, app):
        self.path, self.app = path, app

    async def handle(self, scope, receive, send):
        effective_context = scope.get("fastapi", {}).get("effective_route_context")
        await self.app(scope)
""",
    "django/core/handlers/exception.py": """
def convert_exception_to_response(get_response):
    def inner(request):
        return get_response(request)
    return inner
""",
    "django/core/handlers/wsgi.py": """
class Request:
    def __init__(self):
        self.path = "/"
        self.resolver_match = None

class Match:
    def __init__(self, route):
        self.kwargs = {}
        self.route = route

class WSGIHandler:
    def __call__(self, environ, get_response):
        request = Request()
        return get_response(request)
""",
    "aiohttp/web_protocol.py": """
class Resource:
    def __init__(self, **paths):
        self.name = None
        self.__dict__.update(paths)

class ResourceRoute:
    def __init__(self, resource):
        self._resource = resource

class MatchInfo(dict):
    def __init__(self, route):
        self._route = route

class WebRequest:
    def __init__(self):
        self.method, self._match_info = "GET", None

class RequestHandler:
    async def _handle_request(self, request, handler):
        marked(UNKNOWN)
        await handler(request)
""",
    "gunicorn/workers/sync.py": """
class SyncWorker:
    def handle_request(self, app):
        app()
""",
}


def marked(text):
    """Computes while the samples belong to this endpoint."""
    main.MARKS[ENDPOINT] = numbers[text]
    main.compute(1)
    main.MARKS[ENDPOINT] = 0


numbers = {}
names = {"marked": marked, "UNKNOWN": UNKNOWN}


def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass


def middleware(application, named, before=UNKNOWN):
    """named: as which endpoint the request is known afterwards."""

    async def around(scope, receive, send):
        marked(before)
        for n in range(7):  # its dict moves now and then
            scope[n] = n
        await application(scope, receive, send)
        for n in range(7):
            scope.pop(n, None)
        marked(named)

    return names["Starlette"](around)


def found(route, after=None, before=None, **more):
    """A router, once it has found the route."""

    async def router(scope, receive, send):
        scope.update(before or {})
        scope["route"] = route
        scope.update(more)
        if after:
            after(scope)
        await route.handle(scope, receive, send)

    return router


async def serve(application, named):
    scope = {"type": "http", "path": "/base/here", "root_path": "/base", "headers": []}
    cycle = names["RequestResponseCycle"](scope)
    cycle.named = named
    await cycle.run_asgi(application)


def plain():
    route = names["Route"]("/items/{n}", None)

    async def endpoint(scope):
        marked("/items/{n}")

    route.app = endpoint
    return middleware(found(route, endpoint=endpoint), route.path), route.path


def mounted(in_task=None, path="/in/{n}"):
    route = names["Route"](path, None)

    async def endpoint(scope):
        marked("/sub" + path)

    route.app = endpoint
    application = found(route, endpoint=endpoint)
    inner = middleware(application if in_task is None else in_task(application), "/sub" + path, "/sub")
    mount = names["Mount"]("/sub", inner)
    return middleware(found(mount, app_root_path="/base", root_path="/base/sub"), UNKNOWN), UNKNOWN


def at_the_root():
    """What is mounted at / has the whole path in its own route."""
    route = names["Route"]("/items/{n}", None)

    async def endpoint(scope):
        marked("/items/{n}")

    route.app = endpoint
    mount = names["Mount"]("", middleware(found(route, endpoint=endpoint), route.path))
    return middleware(found(mount, app_root_path="/base", root_path="/base"), route.path), route.path


def low_priority():
    """A route in an included router that is found past it."""
    route = names["APIRoute"]("/{n}", None)
    context = names["Effective"]("/router/{n}", route)

    async def endpoint(scope):
        marked("/router/{n}")

    route.app = endpoint
    router = found(route, before={"fastapi": {"effective_route_context": context}})
    return middleware(router, context.path), context.path


def included():
    route = names["APIRoute"]("/{n}", None)
    context = names["Effective"]("/router/{n}", route)

    async def endpoint(scope):
        marked("/router/{n}")

    def choose(scope):
        marked(UNKNOWN)  # the route has only the end of the path
        scope["fastapi"]["effective_route_context"] = context

    route.app = endpoint
    router = found(route, choose, {"fastapi": {"included_router": router_of_all}})
    return middleware(router, context.path), context.path


router_of_all = object()


def in_a_task(application, before, named):
    """The rest of the request runs in a task that the middleware awaits."""

    async def around(scope, receive, send):
        async def rest():
            marked(before)
            await application(scope, receive, send)
            marked(named)

        await asyncio.gather(rest())
        marked(named)

    return around


def plain_in_a_task():
    application, named = plain()
    return in_a_task(application, UNKNOWN, named), named


def mounted_in_a_task():
    """Its route has the mount's own path."""
    return mounted(lambda application: in_a_task(application, "/sub", "/sub/sub"), "/sub")


def lifespan():
    async def application(scope, receive, send):
        marked("")

    drive(names["Starlette"](application)({"type": "lifespan"}, None, None))


def aiohttp(count):
    path = ("/items/{n}", "/fixed", "/static")[count // 9 % 3]
    resource = names["Resource"](**{("_formatter", "_path", "_prefix")[count // 9 % 3]: path})

    async def handler(request):
        request._match_info = names["MatchInfo"](names["ResourceRoute"](resource))
        marked(path)
        request._match_info = names["MatchInfo"](names["ResourceRoute"](None))
        marked(UNKNOWN)

    main.begin()
    drive(names["RequestHandler"]()._handle_request(names["WebRequest"](), handler))
    marked("")
    main.end()


def django(count):
    Match = names["Match"]

    def view(request):
        marked(UNKNOWN)
        request.resolver_match = Match(route)
        marked("/" + route)

    def middleware_of(get_response):
        def middleware(request):
            get_response(request)
            marked("/" + route)

        return names["convert_exception_to_response"](middleware)

    route = ("items/<int:n>/", "carts/")[count % 2]
    handler = names["convert_exception_to_response"](view)
    for _ in range(3):
        handler = middleware_of(handler)
    main.begin()
    names["SyncWorker"]().handle_request(lambda: (marked(UNKNOWN), names["WSGIHandler"]()({}, handler), marked(UNKNOWN)))
    marked("")
    main.end()


def prepare():
    for file, source in MODELS.items():
        exec(compile(source, f"/packages/{file}", "exec"), names)
    main.library.contexts_by_frames(ENDPOINT)
    for text in (UNKNOWN, "/items/{n}", "/sub", "/sub/in/{n}", "/sub/sub", "/router/{n}", "/items/<int:n>/", "/carts/", "/fixed", "/static"):
        numbers[text] = main.number(ENDPOINT, text)
    numbers[""] = main.NONE


loops = []


def run(count):
    kind = count % 9
    if kind > 6:
        return django(count)
    if kind == 6:
        return aiohttp(count)
    in_task = (plain_in_a_task, mounted_in_a_task)[count // 9 % 2]
    application, named = (plain, mounted, included, in_task, at_the_root, low_priority)[kind]()
    if not loops:
        loops.append(asyncio.new_event_loop())
    main.begin()
    lifespan()
    if kind == 3:
        loops[0].run_until_complete(serve(application, named))
    else:
        drive(serve(application, named))
    marked("")
    main.end()


SOURCES = {"endpoints": (prepare, run)}
