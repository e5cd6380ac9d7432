# SPDX-License-Identifier: Apache-2.0
"""Has the greenlets that a request spawns with gevent, and the work that it gives to gevent's thread pool, known as its own.

gevent gives them no copy of the context.
"""

from __future__ import annotations

import sys
from functools import wraps

from . import _served
from ._requests import Spawned, django_name, flask_name, name_of
from ._stand import Stand, own_of, real_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Context
    from typing import Any, Optional

DEPTH = 100  # frames between what spawns and Django's handler


def _context() -> Optional[Context]:
    """A context for what the running request has run; None: there is no request."""
    served = _served.get()
    if served is None or served.ended:
        return None
    if type(served) is Spawned:
        spawned = served
    else:
        if not served.name:  # else it would be known when the response starts
            served.name = name_of(flask_name) or name_of(django_name, sys._getframe(1), DEPTH) or served.name
        if served.spawned is None:
            served.spawned = Spawned(served)
        spawned = served.spawned
    return spawned.context.copy() if spawned.context is not None else None


def _spawned(greenlet: Any) -> None:
    try:
        # Threads of Python are greenlets where gevent has patched them. Those of an executor work for other requests, too.
        if _served.get() is None or getattr(greenlet._run, "__module__", None) == "threading":
            return
        if greenlet.gr_context is None:
            greenlet.gr_context = _context()
    except Exception:
        pass  # a greenlet without contexts, or one that runs: without the profiler it would be no error


class _Work(Stand):
    """What a thread is to call."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return own_of(self).run(real_of(self), *arguments, **named)


def _follow_greenlets(greenlet: Any) -> None:
    greenlet.add_spawn_callback(_spawned)


def _follow_threads(pool: Any) -> None:
    real = pool.spawn

    def spawn(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        context = name_of(_context) if _served.get() is not None else None
        return real(self, func if context is None else _Work(func, context), *args, **kwargs)

    pool.spawn = wraps(real)(spawn)  # its name and signature


# What is not followed yet: it may be imported later.
_left: Any = {
    "gevent.greenlet": ("Greenlet", _follow_greenlets),
    "gevent.threadpool": ("ThreadPool", _follow_threads),
}


def _follow(module: str) -> None:
    kind, follow_it = _left[module]
    found = getattr(sys.modules.get(module), kind, None)  # it may be being imported
    if found is not None and _left.pop(module, None):
        follow_it(found)


def follow() -> None:
    """Follows those parts of gevent that are imported. Another thread may do so meanwhile, and change what is left."""
    for module in tuple(_left):
        if module in sys.modules:
            name_of(_follow, module)
