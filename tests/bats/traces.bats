# PYPROF_TRACES: samples of selected traces, one by one, of an unmodified OpenTelemetry.
load lib/helper

# served TRACES REQUESTS P MIN [baggage]: with PYPROF_TRACES; the rest as in tests/workloads/traces.py and lib/traces.py.
served() {
    local traces=$1 least=$4
    with_packages opentelemetry-sdk
    set -- "$2" "$3" "${@:5}"
    PYPROF_TRACES=$traces PYPROF_HZ=250 PYPROF_MAX_OVERHEAD=100 profiled "$VENV/bin/python" "$WORKLOADS/traces.py" "$@" >truth.json
    "$PYPROF" report --json --by trace >report.json
    ${READ%% *} "$ROOT/tests/bats/lib/traces.py" truth.json "$least" report.json | tee traces.json
}

one_of_a_hundred() {
    served 0.01 10000 0.01 80
    grep -q '"left": [1-9]' traces.json
}

@test "one trace of a hundred: those that TraceIdRatioBased selects, all their samples and no other's; sums are equal" {
    with_a_python one_of_a_hundred
}

# bats test_tags=long
@test "one trace of a hundred with each interpreter" {
    with_each_python one_of_a_hundred
}

# bats test_tags=long
@test "one of a hundred of 100,000 traces" {
    served 0.01 100000 0.01 80
}

@test "what the baggage says of a trace wins over its id" {
    served 0.3 300 0.3 80 baggage
}

@test "with 1 all traces are kept" {
    served 1 200 1 80
    grep -q '"left": 0' traces.json
}

only() {
    served 0.01,only 10000 0.01 50
    grep -q '"left": 0, "not_selected": \[[1-9][0-9]*, [1-9]' traces.json
    adds_up
}

@test "only: what is not selected has no stack, and is counted; sums are equal, and the accounting closes" {
    with_a_python only
}

# bats test_tags=long
@test "only, with each interpreter" {
    with_each_python only
}

@test "children of fork" {
    served 0.3,only 300 0.3 50 fork
    grep -q '"left": 0, ' traces.json
    adds_up
}

# Some CPU in more than a minute; 5 seconds of which timers are to be slow; what ends that; 3 seconds.
paused() {
    with_packages opentelemetry-sdk
    PYPROF_TRACES=0.000001,only profiled "$VENV/bin/python" - "$1" <<'END'
import ctypes, sys, time
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider

def use(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

for _ in range(63):
    use(0.01)
    time.sleep(1)
use(5)
if sys.argv[1] == "begin":
    assert ctypes.CDLL(None).pyprof_traces_begin() == 0
else:
    within = baggage.set_baggage("splunk.trace.snapshot.volume", "highest")
    context.attach(trace.set_span_in_context(TracerProvider().get_tracer("").start_span("kept"), within))
use(3)
END
    info | judge '
total = json.load(sys.stdin)["total"]
print(total)
assert 100 < total["samples"] < 420, total["samples"]'
    adds_up
}

# bats test_tags=long
@test "after a minute without a selected trace timers are slow, until one begins" {
    paused begin
}

# bats test_tags=long
@test "after a minute without a selected trace timers are slow, until a sample meets one" {
    paused meet
}

# Each request is a trace of its own, whose id is the answer, or one that the header `traceparent` names.
@test "gunicorn with the application loaded before its workers: samples of the traces that are marked" {
    local port
    with_packages gunicorn opentelemetry-sdk
    cat >app.py <<'END'
import os
import time
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pyprof_snapshot import SnapshotSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SnapshotSpanProcessor())
tracer = provider.get_tracer("app")

def app(environ, start_response):
    headers = {"traceparent": environ.get("HTTP_TRACEPARENT", "")}
    with tracer.start_as_current_span("request", context=TraceContextTextMapPropagator().extract(headers)) as span:
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            sum(range(1000))
        marked = "splunk.snapshot.profiling" in span.attributes
        start_response("200 OK", [])
        return [f"{span.get_span_context().trace_id:032x} {int(marked)} {os.getpid()}\n".encode()]
END
    port=$(free_port "$PYTHON")
    LD_PRELOAD=$LIBPYPROF PYPROF_TRACES=0.5,only PYTHONPATH=$ROOT/contrib/opentelemetry:$PWD PYTHONDONTWRITEBYTECODE=1 \
        "$VENV/bin/gunicorn" --preload -w 2 -b "127.0.0.1:$port" app:app >gunicorn.log 2>&1 3>&- &
    server=$!
    "$PYTHON" - "$port" <<'END' >answers.txt || fail "$(cat gunicorn.log)"
import concurrent.futures, sys, time, urllib.request

def ask(number):
    headers = {"traceparent": f"00-{number:016x}{(number % 2) << 63 | number:016x}-00f067aa0ba902b7-01"} if number % 4 < 2 else {}
    request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/", headers=headers)
    for _ in range(300):
        try:
            return urllib.request.urlopen(request, timeout=60).read().decode()
        except OSError:
            time.sleep(0.2)

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(*pool.map(ask, range(1, 121)), sep="", end="")
END
    stop_server "$server" TERM
    "$PYPROF" report --json --by trace >report.json
    judge '
kept, workers = set(), set()
for line in open("answers.txt"):
    trace, marked, pid = line.split()
    workers.add(pid)
    assert (int(trace[16:], 16) < 1 << 63) == (marked == "1"), line
    if marked == "1":
        kept.add(trace)
rows = {row["value"]: row["cpu_ns"] for row in json.load(open("report.json"))["by"]}
print(len(workers), "workers,", len(kept), "traces marked,", len(rows), "sampled")
assert len(workers) == 2 and not set(rows) - kept and len(rows) > 0.5 * len(kept) > 20, (rows, kept)'
}

# The processor of contrib/opentelemetry, as its README adds it.
processor() {
    with_packages opentelemetry-sdk
    # shellcheck disable=SC2016 # not the shell's backquotes
    sed -n '/^```python/,/^```/{/^```/!p}' "$ROOT/contrib/opentelemetry/README.md" >app.py
    cat >>app.py <<'END'
import os
import sys
from opentelemetry import baggage
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

snapshot = provider._active_span_processor._span_processors[0]
tracer = trace.get_tracer("test")
if sys.argv[1] == "inert":
    with tracer.start_as_current_span("entry") as span:
        assert "splunk.snapshot.profiling" not in span.attributes
    sys.exit()


class Calls:
    """Counts what the real library is told."""

    def __init__(self, library):
        self.library, self.begun, self.active = library, 0, 0

    def pyprof_traces_begin(self):
        self.begun, self.active = self.begun + 1, self.active + 1
        assert self.library.pyprof_traces_begin() == 0

    def pyprof_traces_end(self):
        self.active -= 1
        assert self.library.pyprof_traces_end() == 0


calls = snapshot._library = Calls(snapshot._library)
BOUND = round(0.5 * 2**64)


def entry(within=None):
    """An entry span with another span inside; whether it is marked, and its trace."""
    begun, active = calls.begun, calls.active
    with tracer.start_as_current_span("entry", context=within) as span:
        kept = span.attributes.get("splunk.snapshot.profiling", False)
        with tracer.start_as_current_span("inner") as inner:
            assert "splunk.snapshot.profiling" not in inner.attributes
            assert (calls.begun - begun, calls.active - active) == (int(kept), int(kept))
    assert calls.active == active
    return kept, span.get_span_context().trace_id


def remote(trace_id):
    return set_span_in_context(NonRecordingSpan(SpanContext(trace_id, 1, True, TraceFlags(1))))


for _ in range(200):
    kept, number = entry()
    assert kept == (number % 2**64 < BOUND)
assert 20 < calls.begun < 180
assert entry(remote(1))[0] and entry(remote((7 << 64) + BOUND - 1))[0] and not entry(remote(BOUND))[0]
for volume, number, expected in ("highest", 2**64 - 1, True), ("off", 1, False), ("other", 1, True):
    assert entry(baggage.set_baggage("splunk.trace.snapshot.volume", volume, remote(number)))[0] == expected
calls.active = 0
with tracer.start_as_current_span("entry", context=remote(1)) as outer:
    child = os.fork()
    if not child:
        assert entry(remote(1))[0]
        outer.end()  # the parent's: the profiler does not know it here
        os._exit(calls.active != 1)
    assert os.waitpid(child, 0)[1] == 0
assert calls.active == 0
END
    export PYTHONPATH=$ROOT/contrib/opentelemetry PYTHONDONTWRITEBYTECODE=1
    PYPROF_TRACES=0.5,only profiled "$VENV/bin/python" app.py kept
    PYPROF_TRACES=0.5 "$VENV/bin/python" app.py inert
    PYPROF_TRACES=all profiled "$VENV/bin/python" app.py inert 2>/dev/null
    profiled "$VENV/bin/python" app.py inert
    unset PYTHONPATH
}

@test "contrib/opentelemetry marks the entry spans of selected traces, and does nothing without the profiler" {
    with_a_python processor
}

# bats test_tags=long
@test "contrib/opentelemetry with each interpreter" {
    with_each_python processor
}

@test "a value of PYPROF_TRACES that is none: one line, and no traces" {
    for value in 0 1.5 1% 0.01,all '0.01,' ',' ,only 0,only -1 1e-3 0.0000000000000001; do
        PYPROF_TRACES=$value profiled "$PYTHON" -c 'sum(range(10**6))' 2>err.txt
        lines_of err.txt 1 "^pyprof: PYPROF_TRACES=$value is not a number above 0 and up to 1, or that and \",only\" \(0\.01,only\): no traces are kept$"
    done
    PYPROF_TRACES='' profiled "$PYTHON" -c 'sum(range(10**6))' 2>err.txt
    [ ! -s err.txt ]
}

@test "pauses among samples that are left out, by perf events: the sums close" {
    cat >pauses.py <<'END'
import ctypes
import time

library = ctypes.CDLL(None)


def spin():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        sum(range(200))


for _ in range(25):
    spin()
    library.pyprof_pause()
    spin()
    library.pyprof_resume()
END
    PYPROF_CLOCK=perf PYPROF_TRACES=0.5,only profiled "$PYTHON" pauses.py
    adds_up
}
