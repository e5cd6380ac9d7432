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
    from typing import Any, Dict, Optional, Tuple


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


async def counted(
    application: Any, endpoints: Endpoints, served: Request, arguments: Tuple[Any, ...], named: Dict[str, Any]
) -> Any:
    scope = arguments[0] if arguments else named["scope"]
    root = scope.get("root_path", "")
    if "send" in named:
        named = dict(named, send=_Send(named["send"], (served, scope, root)))
    else:
        arguments = arguments[:-1] + (_Send(arguments[-1], (served, scope, root)),)
    token = _served.set(served)
    steps = None
    try:
        with endpoints.labels_of(served):
            response: Any = application(*arguments, **named)
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


def _request_of(scope: Any) -> Optional[Request]:
    """The request. None: the scope has none, or an application that this one is mounted in counts it."""
    kind = scope.get("type")
    if kind not in ("http", "websocket"):
        return None
    source = scope.get("headers")  # of a copy of the scope they are the same
    source = source if source is not None else scope
    outer = _served.get()
    if outer is not None and not outer.ended and (outer.source is source or outer.source is None):
        return None
    return Request(scope.get("path", ""), scope.get("method", kind), source)


class _Application(Stand):
    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        served = None
        if len(arguments) + len(named) == 3 and (len(arguments) == 3 or "send" in named):
            served = name_of(_request_of, arguments[0] if arguments else named.get("scope"))
        if served is None:
            return real_of(self)(*arguments, **named)
        return counted(real_of(self), own_of(self), served, arguments, named)


def wrap(application: Any) -> Any:
    return stand(_Application, application, Endpoints())
