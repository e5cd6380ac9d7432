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

each_model() {
    publishes
    publishes -mtls-dialect=gnu2
    publishes -ftls-model=initial-exec
    BEFORE=$PWD/thread_context.so publishes # loaded at the start
}

@test "what a thread publishes as OTEP 4947 has it: threads with and without Python, of each TLS model; not in event loops" {
    with_a_python each_model
}

new_ddtrace() {
    local venv version
    venv=$(PIP_ONLY_BINARY=:all: venv_with 'ddtrace>=4') || fail "$venv"
    version=$("$venv/bin/python" -c 'import ddtrace; print(ddtrace.__version__)' 2>/dev/null)
    for patched in "" asyncio; do
        DD_TRACE_AGENT_URL=http://127.0.0.1:1 DD_INSTRUMENTATION_TELEMETRY_ENABLED=false PYPROF_TRACES=1 PYPROF_HZ=250 \
            PYPROF_MAX_OVERHEAD=100 profiled "$venv/bin/python" "$WORKLOADS/ddtrace_spans.py" $patched >truth.json
        PYTHONPATH="$ROOT/tests/bats/lib" ${READ%% *} "$ROOT/tests/bats/lib/thread_context.py" truth.json
        [ "${VERSION%.*}" = 3.14 ] || [ "$patched" ] || sources \
            "asyncio tasks and what awaits them, spans of ddtrace $version (thread context, but not in event loops)"
        rm -r pyprof.out
    done
}

# bats test_tags=long
@test "traces of ddtrace 4 by what it publishes: of tasks where it has patched asyncio, and with 3.14" {
    with_pythons "$(list_pythons | grep ' 3\.\(12\|14\)\.')" new_ddtrace
}
