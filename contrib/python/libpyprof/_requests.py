# SPDX-License-Identifier: Apache-2.0
"""Counts the requests of WSGI and ASGI applications, by the names that `pyprof report --by endpoint` has for them."""

from __future__ import annotations

import sys
from _thread import _local, get_ident
from time import thread_time_ns
from types import CoroutineType

from . import _function, _served, labels, request
from ._steps import pyprof_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, Callable, Iterable, Optional

FRAMEWORKS = "flask", "django", "starlette"  # name their endpoints
SWITCHING = "gevent", "eventlet"  # run other greenlets in a thread while a request waits
DJANGO = "django/core/handlers/wsgi.py", "django/core/handlers/asgi.py"
DJANGO_DEPTH = 8  # frames between the server's callback and Django's handler: other middleware


class _Here(_local):
    turns = 0  # of this thread, from one request to another


_here = _Here()


class Request:
    """A request that is being served."""

    __slots__ = "own", "name", "path", "method", "thread", "turn", "begun_ns"

    def __init__(self, path: str, method: str) -> None:
        self.own: Optional[str] = None  # the program's own label
        self.name: Optional[str] = None  # as the framework calls it; "": it has no route; None: there is no framework
        self.path = path
        self.method = method
        self.thread = 0

    def begin(self) -> None:
        greenlet = sys.modules.get("greenlet")
        if greenlet is not None:
            current = getattr(greenlet, "getcurrent", None)  # it may be being imported
            if current is None or any(module in sys.modules for module in SWITCHING) or current().parent is not None:
                return
        _here.turns += 1
        self.turn = _here.turns
        self.thread = get_ident()
        self.begun_ns = thread_time_ns()

    def go_on(self) -> None:
        """Another request that has begun in this thread meanwhile does not have all of its time."""
        if self.thread and _here.turns != self.turn:
            _here.turns += 1

    def cpu_ns(self) -> int:
        """What the thread has used for this request alone, 0 if that is not known."""
        if self.thread != get_ident() or _here.turns != self.turn:
            return 0
        return thread_time_ns() - self.begun_ns


class _Endpoints:
    """Says how the endpoints of an application are called."""

    def __init__(self) -> None:
        self.named: Optional[bool] = None  # by a framework; None: it is not known yet

    def are_paths(self) -> bool:
        return not self.named and (self.named is False or not any(module in sys.modules for module in FRAMEWORKS))

    def labels_of(self, served: Request) -> labels:
        if self.are_paths():
            return labels(endpoint=_endpoint(served.path), method=served.method)
        return labels(method=served.method)

    def count(self, served: Request, cpu_ns: int = 0) -> None:
        if served.name is not None:
            self.named = True
        elif self.named is None:
            self.named = False
        name = served.own
        if name is None:
            name = served.name if served.name is not None else "" if self.named else _endpoint(served.path)
        request(name, cpu_ns)


def _endpoint(path: str) -> str:
    """The path without what numbers single things in it: few endpoints, not one for each customer."""
    parts = path.split("/")
    return "/".join("*" if part.isdigit() or (len(part) > 15 and not part.isalpha()) else part for part in parts)


def _flask_name() -> Optional[str]:
    flask: Any = sys.modules.get("flask")
    if flask is None or not flask.has_request_context():
        return None
    rule = flask.request.url_rule
    return rule.rule if rule is not None else ""


def _name(find: Callable[..., Optional[str]], *arguments: Any) -> Optional[str]:
    """A name, None if the framework is another than it seems, or is being imported: that is no failure of the request."""
    try:
        return find(*arguments)
    except Exception:
        return None


def _django_name(frame: Any) -> Optional[str]:
    """Looks for Django's handler among the callers: it has the request."""
    for _ in range(DJANGO_DEPTH if "django" in sys.modules else 0):
        if frame is None:
            break
        asked = frame.f_locals.get("request") if frame.f_code.co_filename.endswith(DJANGO) else None
        if asked is not None:
            match = getattr(asked, "resolver_match", None)
            return "/" + match.route if match is not None else ""
        frame = frame.f_back
    return None


class _Body:
    """The body of a response: the request ends when the server closes it."""

    __slots__ = "body", "parts", "end", "scope", "served"

    def __init__(self, body: Iterable[bytes], scope: labels, served: Request, end: Callable[[Request], None]) -> None:
        self.end: Optional[Callable[[Request], None]] = end
        self.served = served
        self.scope = scope if hasattr(body, "send") else None  # a generator's code runs only now
        self.body = body
        self.parts = iter(body)

    def __iter__(self) -> _Body:
        return self

    def __next__(self) -> bytes:
        self.served.go_on()
        if self.scope is None:
            return next(self.parts)
        token = _served.set(self.served)
        try:
            with self.scope:
                return next(self.parts)
        finally:
            _served.reset(token)

    def close(self) -> None:
        self.served.go_on()
        end, self.end = self.end, None
        try:
            if hasattr(self.body, "close"):
                self.body.close()
        finally:
            if end is not None:
                end(self.served)

    def __del__(self) -> None:
        if self.end is not None:  # a server that does not close what it was given
            self.end(self.served)


def wsgi(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    endpoints = _Endpoints()

    def end(served: Request) -> None:
        endpoints.count(served, served.cpu_ns())

    def counted(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        served = Request(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), environ.get("REQUEST_METHOD", ""))

        def started(*arguments: Any) -> Any:
            name = _name(_flask_name)
            served.name = name if name is not None else _name(_django_name, sys._getframe(1))
            return start_response(*arguments)

        scope = endpoints.labels_of(served)
        token = _served.set(served)
        served.begin()
        try:
            with scope:
                body = application(environ, started)
        except BaseException:
            end(served)
            raise
        finally:
            _served.reset(token)
        wrapper = environ.get("wsgi.file_wrapper")
        if type(body) in (list, tuple) or (isinstance(wrapper, type) and isinstance(body, wrapper)):
            end(served)  # the server makes more of these than of others
            return body
        return _Body(body, scope, served, end)

    return counted


def _mounts(routes: Any, path: str) -> str:
    """The paths of the mounts that lead to this path, with the names of their parameters."""
    for route in routes or ():
        match = route.path_regex.match(path + "/") if hasattr(route, "routes") and hasattr(route, "path_regex") else None
        if match is not None:
            rest = match.groupdict().get("path", "").rstrip("/")
            return str(route.path) + (_mounts(route.routes, "/" + rest) if rest else "")
    return path


def _route_to(routes: Any, endpoint: Any, path: str) -> Any:
    """The route to an endpoint, where the scope does not have it (Starlette before 1.0)."""
    for route in routes or ():
        if hasattr(route, "routes"):
            route = _route_to(route.routes, endpoint, path)
            if route is not None:
                return route
        elif getattr(route, "endpoint", None) is endpoint and route.path_regex.match(path):
            return route
    return None


def _starlette_name(scope: dict[str, Any], root: str) -> Optional[str]:
    """The paths of the route and of the mounts that it is in."""
    if "router" not in scope:
        return None
    if "endpoint" not in scope:
        return ""
    root_path, path, routes = scope.get("root_path", ""), scope["path"], getattr(scope["router"], "routes", None)
    mounted = root_path[len(scope.get("app_root_path", root)) :]
    before = _mounts(routes, mounted) if mounted else ""
    route = scope.get("route")
    if route is None:
        remaining = path[len(root_path) :] if path.startswith(root_path) else path
        route = _route_to(routes, scope["endpoint"], remaining)
    context = scope.get("fastapi", {}).get("effective_route_context")  # of a route in an included router
    if context is not None and context.original_route is route:
        route = context
    return before if hasattr(route, "routes") else before + getattr(route, "path", "")


def asgi(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    endpoints = _Endpoints()
    is_counted = bool(_function("pyprof_request"))

    async def counted(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await application(scope, receive, send)
        served = Request(scope.get("path", ""), scope.get("method", scope["type"]))
        root = scope.get("root_path", "")

        def sent(message: dict[str, Any]) -> Any:
            # A route is not in the scope any more when it has ended.
            if served.name is None and message["type"] in ("http.response.start", "websocket.accept"):
                served.name = _name(_starlette_name, scope, root)
                if served.name is None:
                    served.name = _name(_django_name, sys._getframe(1))
            return send(message)

        token = _served.set(served)
        steps = None
        try:
            with endpoints.labels_of(served):
                response: Any = application(scope, receive, sent)
                if is_counted and type(response) is CoroutineType and not any(module in sys.modules for module in SWITCHING):
                    response = steps = pyprof_steps(response)
                return await response
        finally:
            try:
                _served.reset(token)
            except ValueError:
                pass  # a coroutine that is closed in another context
            if served.name is None:
                served.name = _name(_starlette_name, scope, root)
            endpoints.count(served, steps.cpu_ns if steps is not None else 0)

    return counted
