# SPDX-License-Identifier: Apache-2.0
"""Counts requests, by the names that `pyprof report --by endpoint` has for them."""

from __future__ import annotations

import sys
from _thread import _local, get_ident
from contextvars import Context
from time import thread_time_ns

from . import _served, labels, request
from ._steps import pyprof_steps as pyprof_steps  # where the profiler finds it

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

FRAMEWORKS = "flask", "django", "starlette"  # name their endpoints
SWITCHING = "gevent", "eventlet"  # run other greenlets in a thread while a request waits
DJANGO = "django/core/handlers/wsgi.py", "django/core/handlers/asgi.py"
DJANGO_DEPTH = 8  # frames between the server's callback and Django's handler: other middleware


class _Here(_local):
    turns = 0  # of this thread, from one request to another


_here = _Here()


class Request:
    """A request that is being served."""

    __slots__ = (
        "own", "name", "endpoint", "path", "method", "source", "receive", "thread", "turn", "begun_ns", "ended", "spawned"
    )

    def __init__(self, path: object, method: object, source: object = None, receive: object = None) -> None:
        self.own: Optional[str] = None  # the program's own label
        self.name: Optional[str] = None  # as the framework calls it; "": it has no route; None: there is no framework
        self.endpoint: Optional[str] = None  # by its path
        self.path = str.__str__(path) if isinstance(path, str) else ""
        self.method = method
        self.source, self.receive = source, receive  # what the server has made for this request alone
        self.thread = self.turn = self.begun_ns = 0
        self.ended = False
        self.spawned: Optional[Spawned] = None  # None: it has had nothing run yet

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
        """Says that this request runs on. Another one that has begun in this thread meanwhile does not have all of its time."""
        if self.thread == get_ident() and _here.turns != self.turn:
            _here.turns += 1

    def cpu_ns(self) -> int:
        """What the thread has used for this request alone, 0 if that is not known."""
        if self.thread != get_ident() or _here.turns != self.turn:
            return 0
        return thread_time_ns() - self.begun_ns


class Spawned:
    """Is in place of the request where gevent runs something for it, until it ends: that may run for others later.

    The profiler finds the request by the name of this class, and of its slot.
    """

    __slots__ = "request", "context"

    source = receive = None

    def __init__(self, request: Request) -> None:
        self.request: Optional[Request] = request
        self.context: Optional[Context] = Context()  # of which what is run has copies
        self.context.run(_served.set, self)

    def end(self) -> None:
        self.request = self.context = None

    @property
    def ended(self) -> bool:
        return self.request is None

    def _set_own(self, name: str) -> None:
        served = self.request
        if served is not None:
            served.own = name

    own = property(None, _set_own)


class Endpoints:
    """Says how the endpoints of an application are called."""

    def __init__(self) -> None:
        self.named: Optional[bool] = None  # by a framework; None: it is not known yet

    def are_paths(self) -> bool:
        return not self.named and (self.named is False or not any(module in sys.modules for module in FRAMEWORKS))

    def labels_of(self, served: Request) -> labels:
        if self.are_paths():
            served.endpoint = _endpoint(served.path)
            scope = labels(endpoint=served.endpoint, method=served.method)
            scope._endpoint = None  # is not the program's own: that stays where this scope is entered again
            return scope
        return labels(method=served.method)

    def count(self, served: Request, cpu_ns: int) -> None:
        served.ended = True
        if served.spawned is not None:
            served.spawned.end()
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


def name_of(find: Callable[..., Any], *arguments: Any) -> Any:
    """A name, None if the framework is another than it seems, or is being imported: that is no failure of the request."""
    try:
        return find(*arguments)
    except Exception:
        return None


def flask_name() -> Optional[str]:
    flask: Any = sys.modules.get("flask")
    if flask is None or not flask.has_request_context():
        return None
    rule = flask.request.url_rule
    return rule.rule if rule is not None else ""


def django_name(frame: Any, depth: int = DJANGO_DEPTH) -> Optional[str]:
    """The name of the route, by Django's handler among the callers: it has the request."""
    for _ in range(depth if "django" in sys.modules else 0):
        if frame is None:
            break
        asked = frame.f_locals.get("request") if frame.f_code.co_filename.endswith(DJANGO) else None
        if asked is not None:
            match = getattr(asked, "resolver_match", None)
            return "/" + match.route if match is not None else ""
        frame = frame.f_back
    return None
