"""Sources of contexts.py that keep what a sample belongs to in context variables: the program's own labels, and spans of
OpenTelemetry where it is installed."""
import asyncio
import contextvars
import os
import sys

main = sys.modules["__main__"]
SPAN, LABELS = 5, 6  # enum pp_context_kind
VALUES = ["one", "two", "three \u00e9"]
# Of spans: two have one name; their ids are ints of one digit to five.
NAMES = ["GET /items", "GET /items", "three \u00e9"]
TRACES, SPANS = [1, 0xABCDEF << 64 | 1, (1 << 128) - 1], [1 << 63 | 7, 5, (1 << 64) - 1]
numbers = {"": main.NONE}  # of the values, among the texts of their kind


def marked(kind, value):
    """Computes while the samples belong to this; "": to none."""
    main.MARKS[kind] = numbers[value]
    main.compute(3)
    main.MARKS[kind] = 0


def run(kind, scope, count):
    """Values one within another, in copies of the context, in other contexts and in tasks."""
    outer, inner = VALUES[count % 3], VALUES[(count + 1) % 3]

    async def task(value):
        with scope(value):
            marked(kind, value)
            await asyncio.sleep(0)
            marked(kind, value)
        marked(kind, outer)

    async def tasks():
        await asyncio.gather(task(inner), task(outer))

    loop = asyncio.new_event_loop()
    main.begin()
    marked(kind, "")
    with scope(outer):
        marked(kind, outer)
        with scope(inner):
            marked(kind, inner)
        marked(kind, outer)
        copied = contextvars.copy_context()
        contextvars.Context().run(marked, kind, "")
        if count % 2:
            loop.run_until_complete(tasks())
            marked(kind, outer)
    marked(kind, "")
    copied.run(marked, kind, outer)
    main.end()
    loop.close()


def prepare_labels():
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../contrib/python"))
    import libpyprof

    variable = libpyprof.pyprof_labels
    for value in VALUES:
        numbers[value] = main.number(LABELS, value)

    class Scope:
        def __init__(self, value):
            self.value = value.encode("latin-1")

        def __enter__(self):
            self.token = variable.set(self.value)

        def __exit__(self, *error):
            variable.reset(self.token)

    scopes.append(Scope)


def prepare_spans():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import RandomIdGenerator, TracerProvider

    ids = RandomIdGenerator()
    ids.generate_trace_id, ids.generate_span_id = iter(TRACES).__next__, iter(SPANS).__next__
    tracer = TracerProvider(id_generator=ids).get_tracer("torture")
    spans = {value: tracer.start_span(name) for value, name in zip(VALUES, NAMES)}  # to make one takes 50,000 instructions
    for value, name, trace_id, span_id in zip(VALUES, NAMES, TRACES, SPANS):
        numbers[value] = main.number(SPAN, f"{name} {trace_id:032x} {span_id:016x}")
    scopes.append(lambda value: trace.use_span(spans[value]))


scopes = []
SOURCES = {
    "labels": (prepare_labels, lambda count: run(LABELS, scopes[0], count)),
    "opentelemetry": (prepare_spans, lambda count: run(SPAN, scopes[0], count)),
}
