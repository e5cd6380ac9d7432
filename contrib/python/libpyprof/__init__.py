# SPDX-License-Identifier: Apache-2.0
"""What a program may tell libpyprof, the profiler that it runs under.

`pyprof run -- python app.py` profiles a program; nothing here is needed for that. Without the profiler's library nothing
here does anything: labels() does not read its values, wsgi() and asgi() return the application itself. Importing this
costs less than a millisecond.

Which task has created a task is nowhere in memory. After task_creators(), called in a task of the loop, each task has the
label creator, and `pyprof report --by label:creator` shows whose background tasks took the CPU time.
"""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, Optional, Tuple, Type, TypeVar

    Application = TypeVar("Application")

__all__ = ["asgi", "is_active", "labels", "pause", "request", "resume", "task_creators", "wsgi"]

# The profiler finds this variable by its name.
pyprof_labels: ContextVar[bytes] = ContextVar("pyprof_labels")
# The scopes that this context is in, the outermost first: their labels, the object, how often it was entered there. The
# outermost of too many are one without an object: each of a chain of tasks may inherit those of the one before.
_scopes: ContextVar[Tuple[Tuple[Dict[bytes, bytes], Any, int], ...]] = ContextVar("pyprof_scopes", default=())
MOST_SCOPES = 32
MOST_BYTES = 256

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
        return str(value)
    except Exception:  # without the profiler it would be none
        return "?"


def _text(value: str) -> bytes:
    text = value.encode("utf-8", "replace").replace(b"%", b"%25")
    return text.replace(b";", b"%3B").replace(b"=", b"%3D").replace(b"\n", b"%0A")


def _set_scopes(scopes: Any) -> None:
    """Has the context their labels: of each key the innermost value, as long as there is room."""
    if len(scopes) > MOST_SCOPES:
        (outer, _, times), (inner, _, more) = scopes[:2]
        scopes = (({**outer, **inner}, None, times + more),) + scopes[2:]
    pairs: Dict[bytes, bytes] = {}
    for values, _, _ in scopes:
        pairs.update(values)
    text = b""
    for key, value in pairs.items():
        longer = (text and text + b";") + key + b"=" + value
        if len(longer) <= MOST_BYTES:
            text = longer
    _scopes.set(scopes)
    pyprof_labels.set(text)


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
        self._values = {_text(key): _text(value) for key, value in strings.items()}
        self._endpoint = strings["endpoint"] if values.get("endpoint") is not None else None

    def __enter__(self) -> labels:
        if self._is_used:
            scopes = _scopes.get()
            times = scopes[-1][2] if scopes and scopes[-1][1] is self else 0
            _set_scopes((scopes[:-1] if times else scopes) + ((self._values, self, times + 1),))
            if self._endpoint is not None:
                served = _served.get()
                if served is not None:
                    served.own = self._endpoint
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._is_used:
            scopes = _scopes.get()
            # Not there: a generator is closed in another context. Not the last: generators end in another order.
            for i in range(len(scopes) - 1, -1, -1):
                values, scope, times = scopes[i]
                if scope is self or scope is None:
                    _set_scopes(scopes[:i] + (((values, scope, times - 1),) if times > 1 else ()) + scopes[i + 1 :])
                    break


def wsgi(application: Application) -> Application:
    """The same WSGI application. Its requests are counted, with their CPU time; its samples have the label method, and
    endpoint if the application is not of Flask or Django, whose endpoints the profiler knows.
    """
    if not _function("pyprof_request"):
        return application
    from ._wsgi import wrap

    wrapped: Application = wrap(application)
    return wrapped


def asgi(application: Application) -> Application:
    """The same ASGI application. Its requests are counted, with the CPU time of their coroutines, without the tasks and
    threads that these start; its samples have the label method, and endpoint if the application is not of Starlette,
    FastAPI or Django, whose endpoints the profiler knows. Of ASGI 2 nothing is counted.
    """
    if not _function("pyprof_request"):
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
