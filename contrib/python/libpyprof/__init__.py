# SPDX-License-Identifier: Apache-2.0
"""What a program may tell libpyprof, the profiler that it runs under.

`pyprof run -- python app.py` profiles a program; nothing here is needed for that, and without the profiler nothing here
has an effect. Importing this costs less than a millisecond.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Awaitable, Callable, Iterable, Iterator, Optional, Type

__all__ = ["asgi", "is_active", "labels", "pause", "resume", "wsgi"]

# The profiler finds this variable by its name.
pyprof_labels: ContextVar[bytes] = ContextVar("pyprof_labels")
MOST_BYTES = 256

_library: Any = None  # False: not preloaded


def _call(function: str) -> int:
    global _library
    if _library is None:
        try:
            import ctypes

            _library = ctypes.CDLL(None)
        except (ImportError, OSError):
            _library = False
    try:
        return int(getattr(_library, function)())
    except AttributeError:
        return 0


def is_active() -> bool:
    """Whether this process is being profiled, and is not paused."""
    return bool(_call("pyprof_is_active"))


def pause() -> None:
    """Has no more stacks sampled, in all threads, until resume() was called as often as this.

    What the process uses meanwhile is [paused] in the profile. Children that it forks are paused, too.
    """
    _call("pyprof_pause")


def resume() -> None:
    """Takes back one pause()."""
    _call("pyprof_resume")


def _text(value: object) -> bytes:
    text = str(value).encode("utf-8", "replace").replace(b"%", b"%25")
    return text.replace(b";", b"%3B").replace(b"=", b"%3D").replace(b"\n", b"%0A")


class labels:
    """With labels(endpoint="/cart", tenant=7): samples of this thread or task have these labels.

    Within another one, the labels of both. They take 256 bytes at most; those that do not fit are left out.
    """

    def __init__(self, **values: object) -> None:
        self._values = {_text(key): _text(value) for key, value in values.items()}
        self._token: Optional[Token[bytes]] = None

    def __enter__(self) -> labels:
        outer = pyprof_labels.get(b"")
        pairs = dict(pair.split(b"=") for pair in outer.split(b";")) if outer else {}
        pairs.update(self._values)
        text = b";".join(key + b"=" + value for key, value in pairs.items())
        if len(text) > MOST_BYTES:
            text = text[: MOST_BYTES + 1].rpartition(b";")[0]
        self._token = pyprof_labels.set(text)
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            if self._token:
                pyprof_labels.reset(self._token)
        except ValueError:
            pass  # a generator that is closed in another context


def _endpoint(path: str) -> str:
    """The path without what numbers single things in it: few endpoints, not one for each customer."""
    parts = path.split("/")
    return "/".join("*" if part.isdigit() or (len(part) > 15 and not part.isalpha()) else part for part in parts)


def wsgi(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The same WSGI application, whose samples have the labels endpoint and method."""

    def labelled(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        scope = labels(
            endpoint=_endpoint(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")),
            method=environ.get("REQUEST_METHOD", ""),
        )
        with scope:
            body = application(environ, start_response)
        return _labelled_body(scope, body) if hasattr(body, "send") else body

    return labelled


def _labelled_body(scope: labels, body: Iterable[bytes]) -> Iterator[bytes]:
    with scope:
        yield from body


def asgi(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The same ASGI application, whose samples have the labels endpoint and method."""

    async def labelled(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await application(scope, receive, send)
        with labels(endpoint=_endpoint(scope.get("path", "")), method=scope.get("method", scope["type"])):
            return await application(scope, receive, send)

    return labelled
