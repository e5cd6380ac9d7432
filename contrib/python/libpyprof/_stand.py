# SPDX-License-Identifier: Apache-2.0
"""Makes objects that are called in place of what a program has made, and that the program cannot tell from it."""

from __future__ import annotations

import sys
from types import FunctionType

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
        real = real_of(self)
        if name == "__reduce_ex__":
            return object.__getattribute__(self, name)
        if name == "__mro_entries__" and issubclass(type(real), type):
            return lambda bases: (real,)  # a class of the program's that has this as a base
        try:
            return getattr(real, name)
        except AttributeError:
            if name == "__signature__" and "inspect" in sys.modules:
                return _signature(real)
            raise

    def __reduce_ex__(self, protocol: Any) -> Any:
        real = real_of(self)
        if isinstance(real, (FunctionType, type)):
            return real.__qualname__  # where this is found, for pickle; copies are the object itself
        return real.__reduce_ex__(protocol)

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

# These are called when a Stand is made, is asked for an attribute, or ends.
LEFT = "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__class__", "__getattr__", "__del__"


def _signature(real: Any) -> Any:
    """What inspect.signature finds by the type of an object without this attribute."""
    try:
        return sys.modules["inspect"].signature(real)
    except (TypeError, ValueError):
        raise AttributeError("__signature__") from None


def _of_type(kind: Any, name: str) -> Any:
    """An attribute as operators find it: in the type, not in the type's type."""
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)


def _special(name: str) -> Any:
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        real = real_of(self)
        method = _of_type(type(real), name)
        if hasattr(type(method), "__get__"):
            method = method.__get__(real, type(real))
        return method(*arguments, **named)

    return call


def stand(kind: type, real: Any, own: Any) -> Any:
    """Makes a Stand of this kind that has the operators of what it stands for, which Python looks up in its type."""
    attributes: Any = {"__slots__": ()}
    for name in dir(type(real)):
        if name[:2] != "__" or name in LEFT or _of_type(kind, name) is not _of_type(object, name):
            continue
        if _of_type(type(real), name) is not _of_type(object, name) and callable(getattr(type(real), name, None)):
            attributes[name] = _special(name)
    return type(kind.__name__, (kind,), attributes)(real, own)
