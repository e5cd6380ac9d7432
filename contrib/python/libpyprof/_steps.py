# SPDX-License-Identifier: Apache-2.0
"""Measures what a coroutine takes."""

from __future__ import annotations

from time import thread_time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class pyprof_steps:
    """A coroutine, with the time that its thread's clock shows for its steps: from one suspension to the next.

    It stands between a coroutine and what that awaits, and passes all on. The profiler finds what is behind it by the
    name of this class, and in its first slot, by the alphabet; asyncio's call graph by the attributes of a coroutine.
    """

    __slots__ = "coroutine", "cpu_ns"

    def __init__(self, coroutine: Any) -> None:
        self.coroutine = coroutine
        self.cpu_ns = 0

    def __await__(self) -> pyprof_steps:
        return self

    def __iter__(self) -> pyprof_steps:
        return self

    def send(self, value: Any = None) -> Any:
        begun_ns = thread_time_ns()
        try:
            return self.coroutine.send(value)
        finally:
            self.cpu_ns += thread_time_ns() - begun_ns

    __next__ = send

    def throw(self, *error: Any) -> Any:
        begun_ns = thread_time_ns()
        try:
            return self.coroutine.throw(*error)
        finally:
            self.cpu_ns += thread_time_ns() - begun_ns

    def close(self) -> None:
        begun_ns = thread_time_ns()
        try:
            self.coroutine.close()
        finally:
            self.cpu_ns += thread_time_ns() - begun_ns

    @property
    def cr_frame(self) -> Any:
        return self.coroutine.cr_frame

    @property
    def cr_await(self) -> Any:
        return self.coroutine.cr_await
