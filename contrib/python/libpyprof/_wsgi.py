# SPDX-License-Identifier: Apache-2.0
"""Counts the requests of WSGI applications."""

from __future__ import annotations

import sys
from types import GeneratorType

from . import _served
from ._gevent import follow
from ._requests import Endpoints, Request, django_name, flask_name, name_of
from ._stand import Stand, own_of, real_of, stand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generator, Optional

    from . import labels

# Bodies that call all in a list when they are closed; Flask's are werkzeug's.
CLOSERS = (
    ("werkzeug.wsgi", "ClosingIterator", "_callbacks"),
    ("django.http.response", "HttpResponseBase", "_resource_closers"),
)


class _End:
    """Ends a request when the body is closed."""

    __slots__ = "served", "endpoints"

    def __init__(self, served: Request, endpoints: Endpoints) -> None:
        self.served = served
        self.endpoints = endpoints

    def __call__(self) -> None:
        if not self.served.ended:
            self.served.go_on()
            self.endpoints.count(self.served, self.served.cpu_ns())

    def __del__(self) -> None:
        try:
            self()  # a server that does not close what it was given
        except Exception:
            pass  # the interpreter ends


def _is_told(body: Any, end: _End) -> bool:
    """Whether the body will say when it is closed. It goes to the server as it is, as that may know it by its identity."""
    for module, kind, name in CLOSERS:
        if module in sys.modules and issubclass(type(body), getattr(sys.modules[module], kind)):
            getattr(body, name).append(end)
            return True
    return False


def _steps(body: Any, scope: labels, end: _End) -> Generator[Any, Any, Any]:
    """The generator, of which each step runs as a part of the request."""
    served = end.served
    send = step = body.send
    arguments: Any = (None,)
    in_step = _Step(served, scope)
    try:
        while True:
            with in_step:
                try:
                    part = step(*arguments)
                except StopIteration as stop:
                    return stop.value
                finally:
                    del arguments  # an error's traceback has this frame
            try:
                step, arguments = send, ((yield part),)
            except BaseException as error:
                step, arguments = body.throw, (error,)
    finally:
        end()


class _Step:
    """Code that runs as a part of the request."""

    __slots__ = "served", "scope", "token"

    def __init__(self, served: Request, scope: labels) -> None:
        self.served = served
        self.scope = scope

    def __enter__(self) -> None:
        self.served.go_on()
        self.token = _served.set(self.served)
        self.scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.scope.__exit__(None, None, None)
        _served.reset(self.token)


class _Started(Stand):
    """The server's start_response."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        served = own_of(self)
        name = name_of(flask_name)
        served.name = name if name is not None else name_of(django_name, sys._getframe(1))
        return real_of(self)(*arguments, **named)


class _Application(Stand):
    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        outer = _served.get()
        if len(arguments) != 2 or named or (outer is not None and not outer.ended):
            return real_of(self)(*arguments, **named)  # an application that this one is mounted in counts the request
        follow()
        endpoints = own_of(self)
        environ, start_response = arguments
        served = _request_of(environ)
        scope = endpoints.labels_of(served)
        end = _End(served, endpoints)
        served.begin()
        try:
            with _Step(served, scope):
                body = real_of(self)(environ, _Started(start_response, served))
        except BaseException:
            end()
            raise
        if type(body) is GeneratorType:
            steps: Any = _steps(body, scope, end)
            steps.__name__, steps.__qualname__ = body.__name__, body.__qualname__
            return steps
        if not name_of(_is_told, body, end):
            end()
        return body


def _request_of(environ: Any) -> Request:
    try:
        return Request(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), environ.get("REQUEST_METHOD", ""))
    except Exception:
        return Request("", "")


def wrap(application: Any) -> Any:
    follow()
    return stand(_Application, application, Endpoints())
