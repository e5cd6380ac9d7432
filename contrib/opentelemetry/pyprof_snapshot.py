# SPDX-License-Identifier: Apache-2.0
"""Marks the traces whose samples libpyprof keeps one by one (PYPROF_TRACES), as Splunk's snapshot profiling does.

    provider.add_span_processor(SnapshotSpanProcessor())

Nothing happens where the profiler is not preloaded, or keeps no traces.
"""

from __future__ import annotations

import ctypes
import os
import re
from typing import Any, Optional

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

ATTRIBUTE = "splunk.snapshot.profiling"
VOLUME = "splunk.trace.snapshot.volume"
LOW_64_BITS = (1 << 64) - 1


def _library() -> Any:
    """The preloaded library, None if there is none."""
    library = ctypes.CDLL(None)
    return library if hasattr(library, "pyprof_traces_begin") else None


def _bound() -> int:
    """Selected are the traces whose low 64 bits are below this."""
    part = os.environ.get("PYPROF_TRACES", "").split(",")[0]
    if not re.fullmatch(r"\d*\.?\d{0,15}", part) or not re.search(r"\d", part):  # the profiler takes no other
        return 0
    return TraceIdRatioBased.get_bound_for_rate(float(part)) if 0 < float(part) <= 1 else 0


class SnapshotSpanProcessor(SpanProcessor):
    """Sets ATTRIBUTE on the entry spans of selected traces, and tells the profiler when these begin and end."""

    def __init__(self) -> None:
        self._bound = _bound()
        self._library = _library() if self._bound else None
        self._begun: set[int] = set()
        if self._library:
            os.register_at_fork(after_in_child=self._begun.clear)  # the profiler begins there without any, too

    def _selects(self, span: Span, context: Optional[Context]) -> bool:
        volume = baggage.get_baggage(VOLUME, context)
        if volume in ("highest", "off"):
            return volume == "highest"
        return span.get_span_context().trace_id & LOW_64_BITS < self._bound

    def on_start(self, span: Span, parent_context: Optional[Context] = None) -> None:
        is_entry = span.parent is None or span.parent.is_remote
        if self._library and is_entry and self._selects(span, parent_context):
            span.set_attribute(ATTRIBUTE, True)
            self._begun.add(span.get_span_context().span_id)
            self._library.pyprof_traces_begin()

    def on_end(self, span: ReadableSpan) -> None:
        number = span.get_span_context().span_id
        if number in self._begun:
            self._begun.discard(number)
            self._library.pyprof_traces_end()
