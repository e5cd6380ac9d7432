# SPDX-License-Identifier: Apache-2.0
"""What a program may tell libpyprof, the profiler that it runs under.

`pyprof run -- python app.py` profiles a program; nothing here is needed for that. Without the profiler's library nothing
here does anything: labels() does not read its values, wsgi() and asgi() return the application itself. Importing this
costs less than a millisecond.

Which task has created a task is nowhere in memory. After task_creators(), called in a task of the loop, each task has the
label creator, and `pyprof report --by label:creator` shows whose background tasks took the CPU time.
"""

from __future__ import annotations

from _weakref import ref  # loaded already
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, List, Optional, Tuple, Type, TypeVar

    Application = TypeVar("Application")

__all__ = ["asgi", "is_active", "labels", "pause", "request", "resume", "task_creators", "wsgi"]

# The profiler finds this variable by its name.
pyprof_labels: ContextVar[bytes] = ContextVar("pyprof_labels")
# The innermost of the scopes that this context is in.
_scopes: ContextVar[Optional[_Scope]] = ContextVar("pyprof_scopes", default=None)
MAX_SCOPES = 1000  # that can be left, of a context
MAX_BYTES = 256

_library: Any = None  # False: not preloaded
_functions: dict[str, Any] = {}  # of the library, by name
_labels_known = False  # to the profiler, which else finds the variable an eighth of a second later, or a second
_request: Any = None  # pyprof_request; False: there is none
# What serves the request in this context; has an attribute `own` for its name (_requests.py).
_served: ContextVar[Any] = ContextVar("pyprof_served", default=None)


def _function(name: str) -> Any:
    """Returns the library's function, or False. The functions are short: the GIL is kept."""
    global _library
    if name in _functions:
        return _functions[name]
    if _library is None:
        try:
            import ctypes

            _library = ctypes.PyDLL(None)
        except (ImportError, OSError):
            _library = False
    found = _functions[name] = getattr(_library, name, False)
    return found


def _call(name: str) -> int:
    function = _function(name)
    return int(function()) if function else 0


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


def request(endpoint: str, cpu_ns: int = 0) -> None:
    """Counts a request that has ended, for CPU time per request.

    endpoint: its name in `pyprof report --by endpoint`. cpu_ns: the CPU time that it took, 0 if that is not known. Not
    for applications in wsgi() or asgi(), which count theirs. Of a process, 1,000 names are kept, then "(other)".
    """
    global _request
    if _request is None:
        _request = _function("pyprof_request")
        if _request:
            import ctypes

            _request.argtypes = ctypes.c_char_p, ctypes.c_uint64
    if _request:
        try:
            used = max(int(cpu_ns), 0)
        except Exception:  # without the profiler it would be none
            used = 0
        _request(_string(endpoint).encode("utf-8", "replace").replace(b"\0", b"?"), used)


def _string(value: object) -> str:
    try:
        return str.__str__(str(value))  # no subclass, of which each method may be the program's
    except Exception:  # without the profiler it would be none
        return "?"


def _text(value: str) -> bytes:
    text = value.encode("utf-8", "replace").replace(b"%", b"%25")
    return text.replace(b";", b"%3B").replace(b"=", b"%3D").replace(b"\n", b"%0A")


class _Scope:
    """An object's labels in a context, with those of the scopes outside it. It never changes: contexts share it."""

    __slots__ = "owner", "values", "outer", "pairs", "text", "depth", "limit"

    def __init__(self, owner: Any, values: Dict[bytes, bytes], outer: Optional[_Scope], limit: int = 32) -> None:
        self.owner = owner  # a weak reference to the object. Dead: nothing is left that could leave this scope
        self.values = values
        self.outer = outer
        self.depth: int = outer.depth + 1 if outer is not None else 1
        self.limit: int = outer.limit if outer is not None else limit
        self.pairs: Dict[bytes, bytes] = {}  # of each key the innermost value, as long as there is room
        text = b""
        for key, value in ({**outer.pairs, **values} if outer is not None else values).items():
            longer = (text and text + b";") + key + b"=" + value
            if len(longer) <= MAX_BYTES:
                text = longer
                self.pairs[key] = value
        self.text = text


def _set_scope(scope: Optional[_Scope]) -> None:
    _scopes.set(scope)
    pyprof_labels.set(scope.text if scope is not None else b"")


def _joined(scope: Optional[_Scope]) -> Optional[_Scope]:
    """The same labels in fewer scopes: each of a chain of tasks inherits those of the one before, and leaves its own only."""
    kept: List[Tuple[Any, Dict[bytes, bytes]]] = []  # the innermost first
    while scope is not None and len(kept) < MAX_SCOPES:
        if scope.owner is not None and scope.owner() is not None:
            kept.append((scope.owner, scope.values))
        elif kept and kept[-1][0] is None:
            kept[-1] = None, {**scope.values, **kept[-1][1]}
        else:
            kept.append((None, scope.values))
        scope = scope.outer
    if scope is not None:
        kept.append((None, scope.pairs))
    joined = None
    for owner, values in reversed(kept):
        joined = _Scope(owner, values, joined, max(32, 2 * len(kept)))
    return joined


class labels:
    """With labels(endpoint="/cart", tenant=7): samples of this thread or task have these labels.

    Within another one, the labels of both. They take 256 bytes at most; those that do not fit are left out. An object
    may be used again, by several threads and tasks and within itself too.
    """

    def __init__(self, **values: object) -> None:
        global _labels_known
        self._is_used = bool(_function("pyprof_find_contexts"))
        if not self._is_used:
            return
        if not _labels_known:
            _labels_known = True
            _call("pyprof_find_contexts")
        strings = {key: _string(value) for key, value in values.items()}
        self._values = {_text(_string(key)): _text(value) for key, value in strings.items()}
        self._last: Optional[_Scope] = None  # that was entered
        self._endpoint = strings["endpoint"] if values.get("endpoint") is not None else None

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__, _last=None)  # is of this object alone

    def __enter__(self) -> labels:
        if self._is_used:
            outer, scope = _scopes.get(), self._last
            if scope is None or scope.outer is not outer:
                if outer is not None and outer.depth >= outer.limit:
                    outer = _joined(outer)
                scope = self._last = _Scope(ref(self), self._values, outer)
            _scopes.set(scope)
            pyprof_labels.set(scope.text)
            if self._endpoint is not None:
                served = _served.get()
                if served is not None:
                    served.own = self._endpoint
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._is_used:
            scope, owner, inner = _scopes.get(), ref(self), []
            # Not the last: generators end in another order. Not there: a generator is closed in another context.
            while scope is not None and scope.owner is not owner:
                inner.append(scope)
                scope = scope.outer
            if scope is not None:
                scope = scope.outer
                for again in reversed(inner):
                    scope = _Scope(again.owner, again.values, scope)
                _set_scope(scope)


def wsgi(application: Application) -> Application:
    """The same WSGI application. Its requests are counted, with their CPU time; its samples have the label method, and
    endpoint if the application is not of Flask or Django, whose endpoints the profiler knows. What a request has gevent's
    greenlets and thread pool do is of its endpoint, until the request ends.
    """
    if not callable(application) or not _function("pyprof_request"):
        return application
    from ._wsgi import wrap

    wrapped: Application = wrap(application)
    return wrapped


def asgi(application: Application) -> Application:
    """The same ASGI application. Its requests are counted, with the CPU time of their coroutines, without the tasks and
    threads that these start; its samples have the label method, and endpoint if the application is not of Starlette,
    FastAPI or Django, whose endpoints the profiler knows. Of ASGI 2 nothing is counted.
    """
    if not callable(application) or not _function("pyprof_request"):
        return application
    from ._asgi import wrap

    wrapped: Application = wrap(application)
    return wrapped


def task_creators(loop: Any = None) -> None:
    """Gives each task of this loop (or the running one) the label creator: the name of the task that creates it.

    A task factory that the loop has already, eager ones too, still makes the tasks. It costs some microseconds a task. In
    CPython 3.13.0 it does nothing for a loop without a factory: asyncio would call all unnamed tasks None.
    """
    if _function("pyprof_is_active"):
        from ._tasks import set_factory

        set_factory(loop)
