"""context_sources.py LIBRARY: compares the ids and names that tests/unit/context_readers_preload.c reads with what OpenTelemetry
says: spans of this process and of others, of no SDK, not recorded, ended, in tasks."""
import asyncio
import contextvars
import ctypes
import sys

from opentelemetry import context, trace

library = ctypes.PyDLL(sys.argv[1])
assert library.readers_start() == 0


def read(plain):
    ids, text = (ctypes.c_uint64 * 3)(), ctypes.create_string_buffer(300)
    library.readers_find_sources()
    assert library.readers_source(b"opentelemetry", plain, ids, text) == 1
    return ids[0] | ids[1] << 64, ids[2], text.value.decode("latin-1")


def check(name):
    """Both ways to read have the ids of the current span, and the name that is wanted."""
    span = trace.get_current_span().get_span_context()
    for plain in 0, 1:
        assert read(plain) == (span.trace_id, span.span_id, name), (read(plain), span, name)


def without_sdk():
    check("")
    remote = trace.SpanContext(0x1234567890ABCDEF1234567890ABCDEF, 0xFEDCBA0987654321, is_remote=True)
    for parent in remote, trace.SpanContext(1, 1, True), trace.SpanContext(2**128 - 1, 2**64 - 1, True):
        token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(parent)))
        check("")
        with trace.get_tracer("none").start_as_current_span("of no SDK"):
            check("")
        context.detach(token)
        check("")


def with_sdk():
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    unsampled = TracerProvider(sampler=ALWAYS_OFF).get_tracer("unsampled")
    tracer = TracerProvider().get_tracer("sdk")
    with unsampled.start_as_current_span("not recorded"):
        check("")
    with tracer.start_as_current_span("outer") as outer:
        check("outer")
        with tracer.start_as_current_span("inn\u00e9r"):
            check("inn\u00e9r")
        outer.update_name("renamed")
        check("renamed")
        for i in range(60):  # more values in its context, its dict apart, more attributes than instances share
            setattr(outer, f"attribute_{i}", i)
            check("renamed")
        vars(outer)
        check("renamed")
        token = context.attach(context.set_value("other", 1))
        check("renamed")
        token_2 = context.attach(context.Context())
        check("")
        context.detach(token_2)
        context.detach(token)
        for i in range(40):
            contextvars.ContextVar(f"v{i}").set(i)
        check("renamed")
        contextvars.Context().run(check, "")
        asyncio.run(in_tasks(tracer))
    check("")


async def in_tasks(tracer):
    async def task(name):
        with tracer.start_as_current_span(name):
            check(name)
            await asyncio.sleep(0)
            check(name)
        check("renamed")

    check("renamed")
    await asyncio.gather(task("a"), task("b"), task("c"))


without_sdk()
with_sdk()
