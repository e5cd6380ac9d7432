"""traces.py REQUESTS P [baggage] [fork]: serves short requests, each in a trace of an unmodified opentelemetry-sdk, half of them in threads and half
in tasks; those that are to be selected work longer. A span is called "kept ID" ("kept" where there are many) or "left" by the
rule of TraceIdRatioBased, and one within it "kept ID inside"; baggage: two of three have a baggage that says it; fork: two
children serve them, which were forked while their parent served one. Prints as JSON {ID: [ns, {NAME: ID OF SPAN}]} of
the selected traces: what they used by their thread's clock."""
import asyncio
import json
import os
import sys
import threading
import time

from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

REQUESTS, P = int(sys.argv[1]), float(sys.argv[2])
NAMED = 300  # traces: more names would not fit into the log
KEPT_NS, LEFT_NS = 15e6, 20e3
tracer = TracerProvider().get_tracer("test")
BOUND = TraceIdRatioBased.get_bound_for_rate(P)
truth = {}


def work(ns):
    since = now = time.thread_time_ns()
    while now - since < ns:
        sum(range(200))
        now = time.thread_time_ns()
    return now - since


def request():
    """Begins a trace; its id says how long it takes. A span inside is another span of the same trace."""
    span = tracer.start_span("", context.Context())
    number = span.get_span_context().trace_id
    kept = number & (1 << 64) - 1 < BOUND
    within = trace.set_span_in_context(span)
    volume = [None, "highest", "off"][number % 3] if "baggage" in sys.argv else None
    if volume:
        kept = volume == "highest"
        within = baggage.set_baggage("tenant", "acme", within)
        within = baggage.set_baggage("splunk.trace.snapshot.volume", volume, within)
    name = f"{number:032x}"
    span.update_name("left" if not kept else f"kept {name}" if REQUESTS * P < NAMED else "kept")
    return span, name, kept, within


def ids(*spans):
    return {span.name: f"{span.get_span_context().span_id:016x}" for span in spans}


def serve(count):
    for _ in range(count):
        span, name, kept, within = request()
        token = context.attach(within)
        used = work(KEPT_NS if kept else LEFT_NS)
        if kept:
            with tracer.start_as_current_span(span.name + " inside") as inside:
                used += work(KEPT_NS / 3)
            truth[name] = used, ids(span, inside)
        context.detach(token)
        span.end()


async def serve_task():
    span, name, kept, within = request()
    token = context.attach(within)
    used = work(KEPT_NS / 2 if kept else LEFT_NS)
    await asyncio.sleep(0)
    used += work(KEPT_NS / 2 if kept else 0)
    if kept:
        truth[name] = used, ids(span)
    context.detach(token)
    span.end()


async def serve_tasks(count):
    for _ in range(count // 4):
        await asyncio.gather(*(serve_task() for _ in range(4)))


def fork():
    """Serves in children; what they used comes through pipes."""
    ends = []
    for _ in range(2):
        end, other = os.pipe()
        if not os.fork():
            serve_all()
            with os.fdopen(other, "w") as file:
                json.dump(truth, file)
            sys.exit()
        os.close(other)
        ends.append(os.fdopen(end))
    for end in ends:
        truth.update(json.load(end))
        os.wait()


def main():
    if "fork" in sys.argv:
        serve(REQUESTS // 10)
        span, name, kept, within = request()
        context.attach(within)
        if kept:
            truth[name] = 0, ids(span)  # what an event loop does between its tasks belongs to it
        fork()
    else:
        serve_all()
    print(json.dumps(truth))


def serve_all():
    threads = [threading.Thread(target=serve, args=(REQUESTS // 4,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    asyncio.run(serve_tasks(REQUESTS // 2))
    for thread in threads:
        thread.join()


main()
