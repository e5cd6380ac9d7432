"""Sources of contexts.py that keep what a sample belongs to in context variables: the program's own labels, and spans of
OpenTelemetry and Sentry and endpoints of Flask where these are installed."""
import asyncio
import contextvars
import os
import sys

main = sys.modules["__main__"]
ENDPOINT, SPAN, LABELS = 4, 5, 8  # enum pp_context_kind
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


def scope_of(variable, objects):
    """Has the variable what stands for a value."""

    class Scope:
        def __init__(self, value):
            self.object = objects[value]

        def __enter__(self):
            self.token = variable.set(self.object)

        def __exit__(self, *error):
            variable.reset(self.token)

    scopes.append(Scope)


def prepare_labels():
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../contrib/python"))
    import libpyprof

    for value in VALUES:
        numbers[value] = main.number(LABELS, value)
    scope_of(libpyprof.pyprof_labels, {value: value.encode("latin-1") for value in VALUES})


def prepare_flask():
    import flask

    app = flask.Flask("torture")
    requests = {}
    for n, value in enumerate(VALUES):
        app.add_url_rule(f"/{value}/<int:item>", f"view{n}")
        requests[value] = app.test_request_context(f"/{value}/7")
        requests[value].match_request()
        numbers[value] = main.number(ENDPOINT, f"/{value}/<int:item>")
    scope_of(flask.globals._cv_request, requests)


def prepare_sentry():
    from sentry_sdk.scope import Scope, ScopeType, _current_scope
    from sentry_sdk.tracing import Span

    held = {}
    for value, name, trace_id, span_id in zip(VALUES, NAMES, TRACES, SPANS):
        held[value] = Scope(ty=ScopeType.CURRENT)
        held[value]._span = Span(trace_id=f"{trace_id:032x}", span_id=f"{span_id:016x}", description=name)
        numbers[value] = main.number(SPAN, f"{name} {trace_id:032x} {span_id:016x}")
    scope_of(_current_scope, held)


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
    "flask": (prepare_flask, lambda count: run(ENDPOINT, scopes[0], count)),
    "sentry": (prepare_sentry, lambda count: run(SPAN, scopes[0], count)),
    "opentelemetry": (prepare_spans, lambda count: run(SPAN, scopes[0], count)),
}
