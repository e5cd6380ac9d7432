# What samples belong to by context variables and frames: spans, endpoints, the program's labels. Each program measures what it
# uses for each value by its threads' clocks.
load lib/helper

readers() {
    timeout -k 5 300 "$PYTHON" "$WORKLOADS/context_readers.py" "$BUILD/unit/context_readers_preload.so" ||
        fail "the readers and the interpreter differ"
}

@test "context variables, ints, tuples, bytes, dicts and slots are read as the interpreter has them, at every instruction" {
    with_each_python readers
}

# served SOURCE KEY PACKAGE...
served() {
    local source=$1 key=$2 program=$PYTHON
    shift 2
    if [ $# -gt 0 ]; then
        with_packages "$@"
        program=$VENV/bin/python
    fi
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled PYTHONPATH="$ROOT/contrib/python" "$program" \
        "$WORKLOADS/requests_served.py" "$source" 3 >truth.json
    ${READ%% *} "$ROOT/tests/bats/lib/by_label.py" "$key" truth.json
}

# same_spans PACKAGE...
same_spans() {
    with_packages "$@"
    timeout -k 5 300 "$VENV/bin/python" "$WORKLOADS/context_sources.py" "$BUILD/unit/context_readers_preload.so"
}

opentelemetry() {
    served opentelemetry span opentelemetry-sdk
    same_spans opentelemetry-sdk
}

@test "spans of OpenTelemetry: threads, tasks, copied contexts, without the GIL" {
    with_a_python opentelemetry
}

# bats test_tags=long
@test "spans of OpenTelemetry with each interpreter" {
    with_each_python opentelemetry
}

# bats test_tags=long
@test "spans of older versions of OpenTelemetry" {
    use_python "$(list_pythons | grep ' 3\.8\.')"
    same_spans opentelemetry-sdk==1.15.0 'setuptools<70'
    same_spans opentelemetry-sdk==1.5.0 'setuptools<70'
}

# bats test_tags=long
@test "transactions and spans of Sentry" {
    served sentry span sentry-sdk
}

# bats test_tags=long
@test "spans of ddtrace up to 3" {
    with_pythons "$(list_pythons | grep ' 3\.\(8\|12\)\.')" served ddtrace span 'ddtrace<4'
}

@test "the program's own labels" {
    served labels customer
}

# bats test_tags=long
@test "endpoints of Flask by its context variable" {
    served flask endpoint flask
}

@test "endpoints of Bottle by its frames; what it mounts has the route of the mount" {
    served bottle endpoint bottle
}

# bats test_tags=long
@test "endpoints of Django by its frames" {
    served django endpoint django
}

# bats test_tags=long
class_named_cell() {
    mkdir -p django/core/handlers
    printf '%s\n' 'def convert_exception_to_response(get_response):' '    def inner(request):' '        return get_response(request)' \
        '    return inner' >django/core/handlers/exception.py
    # What a tuple has where a cell has its contents is its length.
    profiled "$PYTHON" -c '
import sys, time
sys.path.append("django/core/handlers")
from exception import convert_exception_to_response
class cell(tuple):
    pass
def view(request):
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    return len(request)
assert convert_exception_to_response(view)(cell(range(200000))) == 200000' || fail "status $?"
    "$PYPROF" export --format collapsed >stacks.txt
    grep -q ';view (' stacks.txt || fail "$(cat stacks.txt)"
}

@test "a request whose class has the name of a type of CPython's is not read as one" {
    with_each_python class_named_cell
}

@test "endpoints of Django's views that asyncio hands to a thread" {
    served django-async endpoint django
}

# bats test_tags=long
@test "endpoints of Starlette by its frames, in threads too; a mount and a route in it are one path" {
    served starlette endpoint starlette
}

mounted() {
    profiled PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 "$PYTHON" "$WORKLOADS/mounted_routes.py"
    "$PYPROF" report --json --by endpoint | judge '
used = {row["value"]: row["cpu_ns"] / 1e9 for row in json.load(sys.stdin)["by"]}
for endpoint in ("/api/api", "/api/v1/api", "/{tenant}/api", "/shop/items"):
    assert 0.2 < used.get(endpoint, 0) < 0.4, used'
}

@test "a route in the middleware of a mounted application is not taken for the mount, whatever its path is" {
    with_each_python mounted
}

@test "endpoints of FastAPI, of included routers and in threads too" {
    served fastapi endpoint fastapi
}

# bats test_tags=long
@test "endpoints of FastAPI on uvloop" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    served fastapi-uvloop endpoint fastapi uvloop
}

# bats test_tags=long
@test "endpoints of Starlette in tasks that its middleware starts" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    served middleware endpoint starlette
}

# bats test_tags=long
@test "endpoints of Flask in greenlets of gevent" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    served gevent-flask endpoint flask gevent
}

# bats test_tags=long
@test "spans of what aiohttp serves" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    served aiohttp span aiohttp opentelemetry-sdk
}

# bats test_tags=long
@test "tasks of Celery by the spans of Sentry" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    served celery span celery sentry-sdk
}

# around KIND SERVER PATH... -- PACKAGE...: SERVER is as in around_routes.py, or a kind of worker of gunicorn.
around() {
    local kind=$1 server=$2 paths=() port command
    shift 2
    while [ "$1" != -- ]; do
        paths+=("$1=$1/{}*60")
        shift
    done
    shift
    with_packages "$@"
    port=$(free_port "$PYTHON")
    command=("$WORKLOADS/around_routes.py")
    case $server in
    *thread | sync) command=(-m gunicorn -k "$server" -w 1 -b "127.0.0.1:$port" around_routes:app) ;;
    esac
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 LD_PRELOAD=$LIBPYPROF KIND=$kind SERVER=$server PORT=$port PYTHONPATH=$WORKLOADS \
        "$VENV/bin/python" "${command[@]}" >server.log 2>&1 3>&- &
    server=$!
    "$PYTHON" "$WORKLOADS/counted_client.py" "$port" "${paths[@]}" >/dev/null || fail "$(tail -n 5 server.log)"
    stop_server "$server" TERM
    ${READ%% *} "$ROOT/tests/bats/lib/by_label.py" endpoint truth.json || fail "$(tail -n 5 server.log)"
    why_no_route "${paths[*]}"
}

# info names as many samples of requests without a known endpoint as the report has.
why_no_route() {
    local counted shown
    info >info.json
    counted=$(reader truncated info.json |
        awk '/^(request without a known endpoint|endpoint not known): / { sum += $NF } END { print sum + 0 }')
    shown=$("$PYPROF" report --by endpoint --json | judge 'print(sum(row["samples"] for row in json.load(sys.stdin)["by"] if row["value"] == "(unknown route)"))')
    [ "${counted:-0}" -eq "$shown" ] || fail "$counted named, $shown shown"
    [ "$shown" -gt 0 ] || ! grep -q nowhere <<<"$1" || fail "none shown of $1"
}

@test "a request whose route is not known yet, or any more, is known as a request: Flask, streamed bodies, gunicorn" {
    around flask sync /plain /streams /nowhere -- flask gunicorn
}

@test "middleware of FastAPI: before the route is known, and after it; of a mounted application, too" {
    around fastapi h11 /plain /thread /router /mount/in /nowhere -- fastapi uvicorn
}

around_with_a_root_path() {
    export ROOT_PATH=/api
    around fastapi h11 /plain /router /mount/in -- fastapi uvicorn
}

# Before 3.11 the functions of a route and of a mount have one name.
@test "middleware of FastAPI where clients see it under another path" {
    with_pythons "$(list_pythons | grep ' 3\.\(9\|13\)\.')" around_with_a_root_path
}

@test "middleware of Django: before the route is known, and after it" {
    around django gthread /plain /streams /nowhere -- django gunicorn
}

@test "endpoints of aiohttp: its middleware has them too; in threads, and in an application within another one" {
    around aiohttp aiohttp /first /plain /thread /streams /mount/in /nowhere -- aiohttp
    info | grep -qF 'endpoints of aiohttp 3.'
}

# bats test_tags=long
@test "middleware on other servers, and where Django and Starlette are asynchronous" {
    around flask gthread /plain /streams /nowhere -- flask gunicorn
    around flask werkzeug /plain /streams /nowhere -- flask
    around flask waitress /plain /streams /nowhere -- flask waitress
    around django wsgiref /plain /streams /nowhere -- django
    around django-async h11 /plain /streams /nowhere -- django uvicorn
    around starlette httptools /plain /thread /mount/in /nowhere -- starlette uvicorn httptools
}

# gathered LIBRARY PACKAGE...
gathered() {
    local library=$1
    shift
    with_packages "$@"
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$VENV/bin/python" "$WORKLOADS/gathered.py" "$library" >truth.json
    "$PYPROF" report --json --by endpoint >by.json
    "$PYPROF" info --json >info.json
    # Half of it are system calls: on a busy machine a part of these is in no sample.
    judge '
truth, by = json.load(open("truth.json")), {row["value"]: row for row in json.load(open("by.json"))["by"]}
total = json.load(open("info.json"))["total"]
elsewhere = 2 * total["unsampled_ns"] / total["cpu_ns"]  # as lib/by_label.py has it: the more of it is a function'"'"'s the more it makes
for name, seconds in truth.items():
    row = by[name]
    print(name, seconds, row, elsewhere)
    slack = 5 * (seconds * row["cpu_ns"] / 1e9 / row["samples"]) ** 0.5 + 0.03
    assert -slack - elsewhere * seconds < row["cpu_ns"] / 1e9 - seconds < slack, (name, seconds, row)'
}

@test "what tasks do that an endpoint gathers is the endpoint's, and what its thread has the event loop do" {
    gathered asyncio starlette
}

@test "on trio, what the tasks of an endpoint's nursery and its threads do is the endpoint's" {
    gathered trio starlette trio
}

# run_by_gevent KIND PACKAGE...
run_by_gevent() {
    local kind=$1
    shift
    with_packages "$@"
    PYTHONPATH=$ROOT/contrib/python PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$VENV/bin/python" "$WORKLOADS/gevent_requests.py" "$kind"
    "$PYPROF" export --format collapsed --unit samples --by endpoint >stacks.txt
    ${READ%% *} -c '
import collections, re
counts = collections.defaultdict(collections.Counter)
for line in open("stacks.txt"):
    endpoint, function, count = re.match(r"([^;]*);.*\bburn_(\w+) \(.* (\d+)$", line).groups() if "burn_" in line else (0, 0, 0)
    counts[function][endpoint] += int(count)
del counts[0]
print({function: dict(of) for function, of in counts.items()})
for function in "direct", "spawned", "pool", "nested", "applied", "given":
    of = counts[function]
    assert of["/" + function] > 2 and of["/" + function] > 0.9 * sum(of.values()), (function, of)
for function, of in counts.items():
    assert not of.keys() - {"(none)", "/" + function}, (function, of)
for function in "worker", "thread":
    assert counts[function].keys() == {"(none)"}, (function, counts[function])'
}

@test "what a counted request of Flask has gevent run is its endpoint's until it ends; what runs for others then is nobody's" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    run_by_gevent flask flask gevent
}

# bats test_tags=long
@test "what a counted request of Django or of no framework has gevent run is its endpoint's" {
    run_by_gevent django django gevent
    run_by_gevent plain gevent
}

@test "labels that threads set by pyprof_labels, without Python too; those of the context come first" {
    gcc -O1 -g -shared -fPIC -o labelled.so "$WORKLOADS/lib/labelled_threads.c" -lpthread -ldl
    cat >labelled.py <<'END'
import ctypes
import threading
import time

import libpyprof

library = ctypes.CDLL(None)


def spin(name):
    exec(compile("def %s():\n end = time.thread_time() + 0.3\n while time.thread_time() < end: sum(range(200))" % name, "spin.py", "exec"), globals())
    globals()[name]()


def python():
    assert library.pyprof_labels(b"job=third") == 0
    spin("by_thread")
    with libpyprof.labels(job="fourth"):
        spin("by_context")
    spin("by_thread_again")
    library.pyprof_labels(None)
    spin("by_none")


spin("start")  # until the module has been found
time.sleep(1.2)
thread = threading.Thread(target=python)
thread.start()
thread.join()
ctypes.CDLL("./labelled.so").labelled_run()
END
    PYTHONPATH=$ROOT/contrib/python PYPROF_HZ=250 PYPROF_MAX_OVERHEAD=50 profiled "$PYTHON" labelled.py
    "$PYPROF" export --format collapsed --unit samples --by label:job >stacks.txt
    for pair in first:labelled_first second:labelled_second third:by_thread fourth:by_context third:by_thread_again; do
        grep -qE "^${pair%:*};.*;${pair#*:} \(" stacks.txt || fail "$pair: $(cat stacks.txt)"
        wrong=$(grep -E ";${pair#*:} \(" stacks.txt | grep -v "^${pair%:*};" || true)
        [ -z "$wrong" ] || fail "$wrong"
    done
    ! grep -E ';(labelled_none|by_none) \(' stacks.txt | grep -v '^(none);' || fail "labels that were taken back"
    "$PYPROF" export --format collapsed --by label:kind | grep -q '^a:b;.*labelled_first' || fail "the second label"
    adds_up
}
