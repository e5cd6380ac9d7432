# SPDX-License-Identifier: Apache-2.0
"""The task factory of libpyprof.task_creators."""

from __future__ import annotations

import asyncio

from . import labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


def _name(task: Any) -> Optional[str]:
    """The task's name, its coroutine's where asyncio only numbers it (3.13.0 calls those of a factory None). None for tasks
    of another kind."""
    try:
        name = str(task.get_name())
        unnamed = name.startswith("Task-") or name == "None"
        return getattr(task.get_coro(), "__qualname__", name) if unnamed else name
    except Exception:
        return None


def _renames_tasks() -> bool:
    """Whether asyncio calls each unnamed task None that a factory has made, as in 3.13.0."""
    return "set_name" in asyncio.BaseEventLoop.create_task.__code__.co_names


def _make(loop: Any, coroutine: Any, **options: Any) -> Any:
    return asyncio.Task(coroutine, loop=loop, **options)


def set_factory(loop: Any) -> None:
    loop = loop or asyncio._get_running_loop()
    if loop is None:  # without the profiler that is no error
        return
    if loop.get_task_factory() is None and _renames_tasks():
        return
    make = loop.get_task_factory() or _make

    def factory(loop: Any, coroutine: Any, **options: Any) -> Any:
        creator = asyncio.current_task(loop)
        name = _name(creator) if creator is not None else None
        context = options.get("context")
        if name is None:
            return make(loop, coroutine, **options)
        scope = labels(creator=name)
        if context is None:
            with scope:  # the task copies the context
                return make(loop, coroutine, **options)
        try:
            context.run(scope.__enter__)
        except RuntimeError:
            pass  # the creator runs in it: the label would be the creator's, too
        return make(loop, coroutine, **options)

    loop.set_task_factory(factory)
