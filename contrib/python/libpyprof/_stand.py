# SPDX-License-Identifier: Apache-2.0
"""Makes objects that are called in place of what a program has made, and that the program cannot tell from it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stand:
    """Is called in place of another object. Its class, its attributes and what it is equal to are the other object's."""

    __slots__ = "pyprof_real", "pyprof_own", "__weakref__"  # what it stands for; what its calls need besides

    def __init__(self, real: Any, own: Any) -> None:
        object.__setattr__(self, "pyprof_real", real)
        object.__setattr__(self, "pyprof_own", own)

    def __getattribute__(self, name: str) -> Any:
        return getattr(real_of(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(real_of(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(real_of(self), name)

    def __eq__(self, other: object) -> Any:
        return real_of(self) == other

    def __hash__(self) -> int:
        return hash(real_of(self))

    def __repr__(self) -> str:
        return repr(real_of(self))

    def __str__(self) -> str:
        return str(real_of(self))


# The attributes themselves.
real_of: Any = Stand.__dict__["pyprof_real"].__get__
own_of: Any = Stand.__dict__["pyprof_own"].__get__

# These would be called when a Stand is asked for an attribute, or ends.
LEFT = "__getattr__", "__del__"


def _special(name: str) -> Any:
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(real_of(self), name)(*arguments, **named)

    return call


def stand(kind: type, real: Any, own: Any) -> Any:
    """Makes a Stand of this kind that has the operators of what it stands for, which Python looks up in its type."""
    attributes: Any = {"__slots__": ()}
    for name in dir(type(real)):
        if name[:2] == "__" and not hasattr(kind, name) and name not in LEFT and callable(getattr(type(real), name, None)):
            attributes[name] = _special(name)
    return type(kind.__name__, (kind,), attributes)(real, own)
