# Where contexts come from: a thread's own record, versions of libraries, what is unknown and so left out, what changes.
load lib/helper

# sources TEXT: what the profile says of them.
sources() {
    local text
    text=$("$PYPROF" info --json | ${READ%% *} -c 'import json, sys; print(json.load(sys.stdin)["processes"][0]["contexts"])')
    [ "$text" = "$1" ] || fail "sources: $text, expected: $1"
}

# publishes FLAG...: with a library that the compiler made with these.
publishes() {
    gcc -O1 -g -shared -fPIC "$@" -o thread_context.so "$WORKLOADS/lib/thread_context.c" -lpthread
    PYPROF_TRACES=1 PYPROF_HZ=250 PYPROF_MAX_OVERHEAD=100 profiled LD_PRELOAD="$LIBPYPROF:$BEFORE" "$PYTHON" "$WORKLOADS/thread_context.py" "$PWD/thread_context.so" >truth.json
    PYTHONPATH="$ROOT/tests/bats/lib" ${READ%% *} "$ROOT/tests/bats/lib/thread_context.py" truth.json
    sources "asyncio tasks and what awaits them, spans of thread_context.so (thread context, but not in event loops)"
    rm -r pyprof.out
}

@test "what a thread publishes as OTEP 4947 has it: threads with and without Python, of each TLS model; not in event loops" {
    publishes
    publishes -mtls-dialect=gnu2
    publishes -ftls-model=initial-exec
    BEFORE=$PWD/thread_context.so publishes # loaded at the start
}

@test "a library that publishes as OTEP 4947 has it is unloaded, and its number is given to another: no read where it was" {
    gcc -O1 -g -shared -fPIC -ftls-model=global-dynamic -DPUBLISHES -o publishes.so "$WORKLOADS/lib/thread_context_gone.c"
    gcc -O1 -g -shared -fPIC -ftls-model=global-dynamic -o follows.so "$WORKLOADS/lib/thread_context_gone.c"
    cat >gone.py <<'END'
import _ctypes, ctypes, threading, time
from cpu import spin

first = ctypes.CDLL("./publishes.so")
first.publish()
spin(0.3)
time.sleep(1.3)
spin(0.3)
time.sleep(1.2)  # by now the library has been found


def follow():
    _ctypes.dlclose(first._handle)
    ctypes.CDLL("./follows.so").use_cpu(ctypes.c_uint64(200000000))


thread = threading.Thread(target=follow)
thread.start()
thread.join()
print("alive")
END
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled PYTHONPATH="$WORKLOADS" "$PYTHON" gone.py >out.txt
    grep -qx alive out.txt
}

new_ddtrace() {
    local version
    with_packages 'ddtrace>=4'
    version=$("$VENV/bin/python" -c 'import ddtrace; print(ddtrace.__version__)' 2>/dev/null)
    for patched in "" asyncio; do
        DD_TRACE_AGENT_URL=http://127.0.0.1:1 DD_INSTRUMENTATION_TELEMETRY_ENABLED=false PYPROF_TRACES=1 PYPROF_HZ=250 \
            PYPROF_MAX_OVERHEAD=100 profiled "$VENV/bin/python" "$WORKLOADS/ddtrace_spans.py" $patched >truth.json
        PYTHONPATH="$ROOT/tests/bats/lib" ${READ%% *} "$ROOT/tests/bats/lib/thread_context.py" truth.json
        # shellcheck disable=SC2153 # the suites' own VERSION
        [ "${VERSION%.*}" = 3.14 ] || [ "$patched" ] || sources \
            "asyncio tasks and what awaits them, spans of ddtrace $version (thread context, but not in event loops)"
        rm -r pyprof.out
    done
}

# bats test_tags=long
@test "traces of ddtrace 4 by what it publishes: of tasks where it has patched asyncio, and with 3.14" {
    with_pythons "$(list_pythons | grep ' 3\.\(12\|14\)\.')" new_ddtrace
}

# faked KIND: see tests/workloads/fake_sources.py.
faked() {
    PYPROF_HZ=250 profiled "$PYTHON" "$WORKLOADS/fake_sources.py" "$1" >truth.json
    "$PYPROF" info --json >info.json
}

unknown() {
    faked unknown
    sources "; not asyncio tasks (_asyncio.Task is not of the size that it has in this version of CPython); \
not tasks of trio 9.0 (its tasks are not laid out as they are known); \
not greenlets 8.1 (the class greenlet, or its C interface, is not of a size and form that is known); \
not spans of OpenTelemetry (its context is not used yet, or OTEL_PYTHON_CONTEXT selects another class than contextvars_context, or \
opentelemetry.trace.propagation has no _SPAN_KEY); \
not spans of ddtrace (its spans are not the objects of Python that they are up to 3.x); \
not spans of Sentry 1.9 (its scopes and spans are not those of 2.x); \
not endpoints of Flask 1.1 (flask.globals has no context variable _cv_request, as since 2.2); \
not endpoints of Django 9.8 (convert_exception_to_response.<locals>.inner of django.core.handlers.exception is not as it is known); \
not the program's labels (libpyprof.pyprof_labels is no context variable)"
    "$PYPROF" info >info.txt
    [ "$(grep -c "but not to" info.txt)" -eq 9 ] || fail "$(cat info.txt)"
    for by in task greenlet endpoint span label:customer; do
        [ "$("$PYPROF" report --json --by "$by" | ${READ%% *} -c 'import json, sys; print(len([row for row in json.load(sys.stdin)["by"] if row["value"]]))' 2>/dev/null || echo 0)" -eq 0 ] ||
            fail "$by: $("$PYPROF" report --by "$by")"
    done
}

@test "packages of unknown layout are left out, each with one line that says why" {
    with_each_python unknown
}

renamed() {
    faked renamed
    sources "endpoints of Starlette 9.2 (in part: Route.handle of starlette.routing is not as it is known); \
not endpoints of Django 9.1 (WSGIHandler.__call__ of django.core.handlers.wsgi is not as it is known); \
not endpoints of aiohttp 9.3 (RequestHandler._handle_request of aiohttp.web_protocol is not as it is known)"
}

@test "a function by whose frames endpoints are known is renamed, or its local: it is said" {
    with_each_python renamed
}

wrapped() {
    faked wrapped
    sources "endpoints of Starlette 9.2, endpoints of Django 9.1; \
not endpoints of aiohttp 9.3 (RequestHandler._handle_request of aiohttp.web_protocol is not as it is known)"
}

@test "a function by whose frames endpoints are known is wrapped: nothing is said of it" {
    with_each_python wrapped
}

# another MODULE: in turns with the main interpreter another one runs, in which that was imported.
another() {
    cat >another.py <<'END'
import asyncio, sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
code = "import time\nend = time.thread_time() + 0.3\nwhile time.thread_time() < end: sum(range(1000))"
other = interpreters.create()
interpreters.run_string(other, "import " + sys.argv[1])
for _ in range(5):
    exec(code)
    interpreters.run_string(other, code)
interpreters.destroy(other)
END
    profiled "$PYTHON" another.py "$1"
}

@test "contexts of another interpreter are not read: it is said, if it has any" {
    another asyncio
    sources "asyncio tasks and what awaits them; not spans of another interpreter, its tasks, endpoints and labels \
(those of one interpreter in a process are read)"
    info >info.json
    [ "$(reader truncated info.json | sed -n 's/^context not read: of another interpreter .*: //p')" -gt 20 ] ||
        fail "not named: $(cat info.json)"
    rm -r pyprof.out
    another math
    sources "asyncio tasks and what awaits them"
}

# by_is KEY: the rows of --by are those of truth.json, and nothing else but requests without a route, each with about its
# seconds: half a second has few ticks on a loaded machine.
by_is() {
    "$PYPROF" report --json --by "$1" >by.json
    judge '
truth = json.load(open("truth.json"))
by = {row["value"]: row["cpu_ns"] / 1e9 for row in json.load(open("by.json"))["by"] if row["value"]}
by.pop("(unknown route)", None)
assert set(by) == set(truth), (by, truth)
assert all(abs(by[name] - truth[name]) < 0.4 * truth[name] for name in truth), (by, truth)'
}

frames() {
    faked frames
    by_is endpoint
}

@test "functions with the names of known ones have no route without the locals, and none of other objects" {
    with_each_python frames
}

@test "a module that was replaced under its name, and a name in it, are noticed" {
    faked replaced
    # The 0.3 s that the program computes for a change to be noticed may have the value before.
    by_is label:customer
}

# Names are found by their hashes, which each interpreter makes with a key of its own.
many_modules() {
    rm -rf pyprof.out
    cat >many.py <<'END'
import asyncio, sys, time, types
for n in range(3000):
    sys.modules[f"made_{n}"] = types.ModuleType(f"made_{n}")

async def work():
    end = time.process_time() + 0.8
    while time.process_time() < end:
        sum(range(200))
        await asyncio.sleep(0)

async def main():
    await asyncio.create_task(work(), name="found")

asyncio.run(main())
END
    PYTHONHASHSEED=$1 profiled strace -f -qq -e trace=process_vm_readv -o trace.txt "$PYTHON" many.py
    collapsed --unit samples --by task >tasks.txt
    grep -q found tasks.txt || fail "no task: $(cat tasks.txt)"
    copied=$(awk 'NR == 1 { main = $1 } $1 != main' trace.txt | grep -oE '\], [0-9]+, 0\)' | tr -dc '0-9,\n' |
        awk -F, '{ n += $2 } END { print n + 0 }')
    [ "$copied" -le 2500 ] || fail "$copied places copied by the flush thread, of a program with 3,000 modules"
}

each_hash() {
    many_modules 0
    many_modules random
}

@test "names are found in a large sys.modules without reading all of them" {
    with_each_python each_hash
}
