# SPDX-License-Identifier: Apache-2.0
"""Counts the requests of ASGI applications."""

from __future__ import annotations

import sys
from types import CoroutineType

from . import _served
from ._requests import SWITCHING, Endpoints, Request, django_name, name_of
from ._stand import Stand, own_of, real_of, stand
from ._steps import pyprof_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from . import labels



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


class _Send(Stand):
    """The server's send, with the request and its scope."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        served, scope, root = own_of(self)
        # A route is not in the scope any more when it has ended.
        if served.name is None and name_of(_kind_of, arguments[0] if arguments else named.get("message")) in (
            "http.response.start",
            "websocket.accept",
        ):
            served.name = name_of(_starlette_name, scope, root)
            if served.name is None:
                served.name = name_of(django_name, sys._getframe(1))
        return real_of(self)(*arguments, **named)


def _kind_of(message: Any) -> Any:
    return message["type"]


class _Answer:
    """What an application has returned."""

    __slots__ = "awaitable"

    def __init__(self, awaitable: Any) -> None:
        self.awaitable = awaitable

    def __del__(self) -> None:
        if type(self.awaitable) is CoroutineType and not self.awaitable.cr_running:
            self.awaitable.close()  # if it was never awaited, Python says that of the coroutine that has this


async def counted(answer: _Answer, endpoints: Endpoints, served: Request, scope: Any, root: Any, values: labels) -> Any:
    token = _served.set(served)
    steps = None
    try:
        with values:
            response = answer.awaitable
            if type(response) is CoroutineType and not any(module in sys.modules for module in SWITCHING):
                response = steps = pyprof_steps(response)
            return await response
    finally:
        try:
            _served.reset(token)
        except ValueError:
            pass  # a coroutine that is closed in another context
        if served.name is None:
            served.name = name_of(_starlette_name, scope, root)
        endpoints.count(served, steps.cpu_ns if steps is not None else 0)


def _request_of(scope: Any, receive: Any, send: Any) -> Optional[Request]:
    """The request. None: the scope has none, or an application that this one is mounted in counts it."""
    kind = scope.get("type") if isinstance(scope, dict) else None
    if kind not in ("http", "websocket"):
        return None
    source = scope.get("headers")  # of a copy of the scope they are the same
    source = source if source is not None else scope
    outer = own_of(send)[0] if type(send) is _Send else _served.get()
    if outer is not None and not outer.ended:
        same = outer.source is source or (receive is not None and outer.receive is receive)
        if same or outer.source is None or type(send) is _Send:
            return None
    return Request(scope.get("path", ""), scope.get("method", kind), source, receive)


def _root_of(scope: Any) -> Any:
    return scope.get("root_path", "")


class _Application(Stand):
    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        real, endpoints, served = real_of(self), own_of(self), None
        if len(arguments) + len(named) == 3 and (len(arguments) == 3 or "send" in named):
            scope = arguments[0] if arguments else named.get("scope")
            receive = arguments[1] if len(arguments) > 1 else named.get("receive")
            send = named["send"] if "send" in named else arguments[2]
            served = name_of(_request_of, scope, receive, send)
        if served is None:
            return real(*arguments, **named)
        root = name_of(_root_of, scope) or ""
        send = _Send(send, (served, scope, root))
        if "send" in named:
            named["send"] = send
        else:
            arguments = arguments[:2] + (send,)
        values = endpoints.labels_of(served)
        token = _served.set(served)
        try:
            with values:
                answer = _Answer(real(*arguments, **named))
        except BaseException:
            endpoints.count(served, 0)
            raise
        finally:
            _served.reset(token)
        return counted(answer, endpoints, served, scope, root, values)


def wrap(application: Any) -> Any:
    return stand(_Application, application, Endpoints())
