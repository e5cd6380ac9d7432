# Requests that contrib/python/libpyprof counts: as many as were answered, CPU time per request, comparisons by it.
load lib/helper

# served FRAMEWORK SERVER... -- NAME=PATH*COUNT...: truth.json has what the client saw.
served() {
    local framework=$1 command=()
    shift
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    port=$(free_port "$PYTHON")
    # below the server's address, which has no room in its words
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 LD_PRELOAD=$LIBPYPROF PYTHONPATH=$WORKLOADS:$ROOT/contrib/python FRAMEWORK=$framework \
        "$VENV/bin/python" "${command[@]//PORT/$port}" >server.log 2>&1 3>&- &
    server=$!
    "$PYTHON" "$WORKLOADS/counted_client.py" "$port" "$@" >truth.json || fail "$(tail -n 5 server.log)"
    stop_server "$server" TERM
}

compare() {
    ${READ%% *} "$ROOT/tests/bats/lib/counted.py" truth.json "$@" || fail "$(tail -n 5 server.log)"
}

gunicorn=(-m gunicorn -w 2 -b 127.0.0.1:PORT counted_app:app)
uvicorn=(-m uvicorn --workers 2 --port PORT --log-level warning counted_app:app)

@test "requests of Flask in two workers of gunicorn are counted and measured: errors, streams, own labels" {
    with_packages gunicorn flask
    served flask "${gunicorn[@]}" -- '/light/<name>=/light/{}*200' '/heavy/<int:number>=/heavy/{}*60' '/fails=/fails*7' '(unknown route)=/nowhere/{}*5' \
        '/streams/<int:number>=/streams/3*9' 'own name=/labelled*21'
    compare measured
}

# bats test_tags=long
@test "requests of Flask in threads are counted and measured" {
    with_packages gunicorn flask
    served flask "${gunicorn[@]}" -k gthread --threads 3 -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40'
    compare measured
}

# bats test_tags=long
@test "requests in greenlets of gevent are counted, not measured" {
    use_python "$(list_pythons | grep ' 3\.12\.')"
    with_packages gunicorn flask gevent packaging
    served flask "${gunicorn[@]}" -k gevent -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40' '/streams/<int:number>=/streams/3*9'
    compare
}

@test "requests of Django in two workers of gunicorn are counted and measured" {
    with_packages gunicorn django
    served django "${gunicorn[@]}" -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40' '/fails=/fails*7' '(unknown route)=/nowhere/{}*5'
    compare measured
}

# bats test_tags=long
@test "requests of Django as an ASGI application are counted; views in threads are not in what is measured" {
    with_packages uvicorn django
    served django-async "${uvicorn[@]}" -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40' '/fails=/fails*7' '(unknown route)=/nowhere/{}*5'
    compare measured light heavy
}

# bats test_tags=long
@test "requests of Starlette below BaseHTTPMiddleware, in mounts and in threads too, are counted; its tasks are not in what is measured" {
    with_packages uvicorn starlette
    served starlette "${uvicorn[@]}" -- '/light/{name}=/light/{}*150' '/in/{tenant}/heavy/{number:int}=/in/some/heavy/{}*40' '/fails=/fails*7' \
        '(unknown route)=/nowhere/{}*5' '/in/{tenant}=/in/some/nowhere*3'
    compare measured light heavy
}

@test "requests of FastAPI in two workers of uvicorn are counted and measured, of mounts and included routers too" {
    with_packages uvicorn fastapi
    served fastapi "${uvicorn[@]}" -- '/light/{name}=/light/{}*150' '/in/heavy/{number}=/in/heavy/{}*30' '/router/heavy/{number}=/router/heavy/{}*30' \
        '/fails=/fails*7' '(unknown route)=/nowhere/{}*5'
    compare measured heavy
}

# bats test_tags=long
@test "requests of an application without a framework are counted by path" {
    with_packages gunicorn
    served plain "${gunicorn[@]}" -- '/light=/light*150' '/heavy/*=/heavy/{}*40' '/fails=/fails*3'
    compare measured
}

@test "request() counts in forked children too, however they end, in threads, and before exec; not while it is paused" {
    cat >forked.py <<'END'
import os, signal, sys, threading, time
import libpyprof

FIRST = "again" not in sys.argv


def children(count, end):
    for _ in range(count):
        child = os.fork()
        if not child:
            for _ in range(5):
                libpyprof.request("/child", 20_000_000)
            end()
            os._exit(0)
        os.waitpid(child, 0)


def count(name, times):
    for n in range(times):
        libpyprof.request(name)


count("/parent", 10)
children(2, lambda: None)
children(1, sys.exit)
children(1, lambda: os.kill(os.getpid(), signal.SIGTERM))
children(1, lambda: os.execv("/bin/true", ["true"]))
libpyprof.pause()
count("/paused", 3)
libpyprof.resume()
threads = [threading.Thread(target=count, args=("/threads", 20_000)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
count("/parent", 1)
for n in range(2):
    libpyprof.request("", 20_000_000)
count("/a\0b\udc80", 1)
if FIRST:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
END
    "$PYPROF" run -- env PYTHONPATH="$ROOT/contrib/python" "$PYTHON" forked.py 2>run.err || fail "$(cat run.err)"
    "$PYPROF" report --json --by endpoint >by.json
    judge '
rows = {row["value"]: row for row in json.load(open("by.json"))["by"]}
counts = {value: row.get("requests") for value, row in rows.items()}
assert counts == {None: None, "(unknown route)": 4, "/parent": 22, "/child": 50, "/threads": 160_000, "/a?b?": 2}, counts
child = rows["/child"]
assert child["measured_requests"] == 50 and child["measured_ns"] == 50 * 20_000_000, child
assert 14e6 < child["p50_ns"] < 26e6 and 14e6 < child["p99_ns"] < 26e6, child
assert "p50_ns" not in rows["/parent"] and "cpu_per_request_ns" not in rows["/parent"], rows'
    "$PYPROF" report --by endpoint >report.txt
    shows report.txt 1 ' 50 +- +[0-9.]+ ms +[0-9.]+ ms  /child *$'
    shows report.txt 1 ' 4 +- +- +-  \(unknown route\) *$'
}

# shows FILE COUNT REGEX: so many of its lines match.
shows() {
    [ "$(grep -cE "$3" "$1")" -eq "$2" ] || fail "$1 has not $2 lines that match /$3/: $(cat "$1")"
}

# calls OUT LIGHT HEAVY SETTING...
calls() {
    local out=$1 light=$2 heavy=$3
    shift 3
    profiled FRAMEWORK=plain PYPROF_OUT="$out" PYTHONPATH="$ROOT/contrib/python" "$@" "$PYTHON" "$WORKLOADS/counted_calls.py" "$light" "$heavy"
}

@test "diff --by endpoint compares CPU per request: another load is no change, slower endpoints are" {
    calls a 300 20
    calls b 100 60
    calls slower 100 60 SCALE=2.5
    # Ten times as much of one than of the other: the shares say so, and CPU per request does not.
    "$PYPROF" diff --by endpoint --by share a b >shares.txt
    unwrapped <shares.txt | grep -q '^Shares of the CPU: .* says --by endpoint' || fail "$(cat shares.txt)"
    shows shares.txt 2 '\*.* (/light|/heavy/\*)$'
    "$PYPROF" diff --fail-above 1% a b >same.txt || fail "$(cat same.txt)"
    unwrapped <same.txt | grep -qE '^No sure change: .* of CPU per request, [-+][0-9.]+ ± [0-9.]+ % One run ' || fail "$(cat same.txt)"
    grep -q '^Milliseconds of CPU per request; ' same.txt || fail "$(cat same.txt)"
    "$PYPROF" diff --by endpoint a b | diff - <(sed '/^Functions: --by share$/,$d' same.txt | sed '$d') || fail "endpoints are not what is compared"
    grep -q '^More or fewer requests are no change of it' same.txt || fail "$(cat same.txt)"
    grep -qxF 'Not compared (--by share does): what ran outside of all requests' same.txt || fail "$(cat same.txt)"
    grep -q 'no change is more than chance' same.txt || fail "$(cat same.txt)"
    "$PYPROF" diff --by endpoint --json a b >same.json
    "$PYPROF" diff --by endpoint a slower >slower.txt
    shows slower.txt 2 ' \+[0-9.]+\* .* (300 +100 +/light|20 +60 +/heavy/\*)$'
    unwrapped <slower.txt | head -n 1 | grep -qE '^1[0-9]{2} % slower than before: .* of CPU per request, ± [0-9.]+ %' || fail "$(cat slower.txt)"
    [ "$("$PYPROF" diff --by endpoint --fail-above 5% a slower >/dev/null 2>gate.err && echo 0 || echo $?)" = 1 ] || fail "$(cat gate.err)"
    # A part of the stacks is not what the requests took.
    "$PYPROF" diff --by endpoint --focus spin a b >focus.txt
    grep -q '^Per cent of the CPU; ' focus.txt || fail "$(cat focus.txt)"
    unwrapped <focus.txt | grep -q '^Not known whether it is slower: this is a part of what requests use' || fail "$(cat focus.txt)"
    judge '
same = json.load(open("same.json"))
rows = {row["value"]: row for row in same["values"]}
assert same["by"] == "request" and set(rows) == {"/light", "/heavy/*"}, same
assert rows["/light"]["requests"] == [300, 100] and rows["/heavy/*"]["requests"] == [20, 60], rows
for name, ms in ("/light", 4), ("/heavy/*", 15):
    for side, each in enumerate(rows[name]["cpu_per_request_ns"]):
        sigma = each / rows[name]["self_samples"][side] ** 0.5
        assert abs(each - ms * 1e6) < 5 * sigma + 0.05 * each, (name, each)
    assert not rows[name]["self_significant"], rows'
}

@test "diff --by endpoint: what requests take by their own clock tells a change that so few samples do not, in any width" {
    cat >app.py <<'END'
import sys, time
import libpyprof

SCALE, PATHS = float(sys.argv[1]), ["/", "/search"] + sys.argv[2:]

def application(environ, start_response):
    # By the thread's clock: two runs on a busy machine do not have its speed in common.
    end = time.thread_time() + (0.0012 * SCALE if environ["PATH_INFO"] == "/search" else 0.0006)
    start_response("200 OK", [])
    while time.thread_time() < end:
        sum(range(100))
    return [b""]

app = libpyprof.wsgi(application)
time.sleep(1.5)  # what was imported is found once a second
for path in PATHS * 1000:
    app({"PATH_INFO": path, "REQUEST_METHOD": "GET"}, lambda *_: None)
END
    profiled PYPROF_OUT=a PYTHONPATH="$ROOT/contrib/python" "$PYTHON" app.py 1
    profiled PYPROF_OUT=b PYTHONPATH="$ROOT/contrib/python" "$PYTHON" app.py 1
    profiled PYPROF_OUT=slower PYTHONPATH="$ROOT/contrib/python" "$PYTHON" app.py 1.5 /new
    "$PYPROF" diff --by endpoint a b >same.txt
    ! grep -F 'own clock' same.txt || fail "$(cat same.txt)"
    unwrapped <same.txt | grep -qE '^No sure change: .* ± 1[3-6] %' || fail "$(cat same.txt)"
    "$PYPROF" diff --by endpoint a slower >slower.txt
    grep -A1 -E '^ +[0-9.]+ +[0-9.]+ +[+-][0-9.]+\*? +1000 +1000 +/search$' slower.txt |
        grep -qE '^ +\+[3-7][0-9] %\* [0-9.]+ (µs|ms), then [0-9.]+ (µs|ms) by the requests. own clock \(mean\)$' || fail "$(cat slower.txt)"
    shows slower.txt 1 'own clock'
    "$PYPROF" diff --by endpoint slower a >faster.txt
    shows faster.txt 1 ' -[2-4][0-9] %\* .*own clock'
    run -1 "$PYPROF" diff --by endpoint --fail-above 2% -o gate.txt a slower
    [[ $output == *"% of A's CPU: /search"* ]] || fail "$output"
    "$PYPROF" diff --by endpoint --json a slower | judge '
rows = {row["value"]: row for row in json.load(sys.stdin)["values"]}
assert {value: row["measured_significant"] for value, row in rows.items()} == {"/": False, "/search": True}, rows
before, after = rows["/search"]["measured_mean_ns"]
assert 1.3 < after / before < 1.7 and rows["/search"]["measured_requests"] == [1000, 1000], rows'
    for columns in 60 80; do
        /usr/bin/python3 "$ROOT/tests/bats/lib/on_terminal.py" $columns "$PYPROF" diff --by endpoint a slower |
            sed 's/\x1b\[[0-9;]*[mK]//g; s/\r$//; s/.*\r//' >screen.txt
        unwrapped <screen.txt | grep -qF '1 value without requests on both sides' || fail "$(cat screen.txt)"
        ! grep -E ".{$((columns + 1))}" screen.txt || fail "wider than $columns"
    done
}

@test "report and top show requests, CPU per request and its spread" {
    calls a 200 30
    "$PYPROF" report endpoints a >report.txt
    grep -qE '^ +CPU +REQUESTS +CPU/REQ +p50 +p99 +ENDPOINT +MOST OF IT IN$' report.txt || fail "$(cat report.txt)"
    shows report.txt 1 ' % +200 +[34]\.[0-9]+ ms +[345]\.[0-9]+ ms +[4-9]\.[0-9]+ ms +/light +[0-9]+ % '
    unwrapped <report.txt | grep -q 'p50 and p99, to an eighth: requests by their thread' || fail "$(cat report.txt)"
    "$PYPROF" diff a a | grep -q '^Functions: --by share$' || fail "$("$PYPROF" diff a a)"
    [ "$("$PYPROF" diff --json a a | jq -r '.by, has("functions")' | xargs)" = 'share true' ]
    "$PYPROF" report --json --by endpoint --sort cpu-per-request a | judge '
each = [row.get("cpu_per_request_ns", 0) for row in json.load(sys.stdin)["by"]]
assert each == sorted(each, reverse=True) and each[0] > 0, each'
    "$PYPROF" report --ci --by endpoint a >ci.txt
    shows ci.txt 1 ' 200 +[34]\.[0-9]+ ms +[0-9.]+ ms–[0-9.]+ ms +'
    "$PYPROF" top --by endpoint --count 1 a >top.txt
    grep -qE '^ +CPU +RUN: CPU +REQ/S +CPU/REQ +ENDPOINT' top.txt || fail "$(cat top.txt)"
    shows top.txt 1 ' s +[0-9.]+ +[34]\.[0-9]+ ms +/light$'
    # Requests are a process's, and of no single thread or stack.
    "$PYPROF" report --by endpoint --focus spin a >focus.txt
    ! grep -q 'REQ' focus.txt || fail "$(cat focus.txt)"
    # The costliest endpoint's own report, as it is offered; the pattern is a regular expression.
    grep -qF "pyprof report --focus 'endpoint=/light\$' a " report.txt || fail "$(tail -n 4 report.txt)"
    "$PYPROF" report --focus 'endpoint=/light$' a >next.txt
    shows next.txt 1 '^ +[0-9.]+ s +(100|9[0-9])\.[0-9] % +(100|9[0-9])\.[0-9] % +spin \('
    for columns in 80 60 120; do
        /usr/bin/python3 "$ROOT/tests/bats/lib/on_terminal.py" "$columns" "$PYPROF" report a >narrow.txt
        grep -q 'REQUESTS.*CPU/REQ' narrow.txt || fail "$(cat narrow.txt)"
        # What most is in goes to a line of its own before it is left out.
        grep -qE ' 200 .*  /light +[0-9]+ % |^ +[0-9]+ % of it (in|at) ' narrow.txt || fail "$columns: $(cat narrow.txt)"
        # Rows of no endpoint leave the lines to endpoints.
        ! grep -A1 -F '(none)' narrow.txt | grep -F 'of it in ' || fail "$columns: $(cat narrow.txt)"
    done
}

awaited() {
    cat >awaited.py <<'EOF'
import asyncio, time
import libpyprof
from cpu import spin

async def part():
    await asyncio.sleep(0.01)
    spin(0.3)

async def application(scope, receive, send):
    await asyncio.gather(part(), part())

async def main():
    spin(0.1)
    time.sleep(1.4)  # what was imported is found within a second
    await libpyprof.asgi(application)({"type": "http", "path": "/parts", "method": "GET"}, None, None)

asyncio.run(main())
EOF
    PYTHONPATH=$ROOT/contrib/python:$WORKLOADS profiled "$PYTHON" awaited.py
    "$PYPROF" export --format collapsed --native=none >stacks.txt
    grep -qE ';(.*\.)?counted [^;]*;application [^;]*;\[task part\];part ' stacks.txt || fail "$(cat stacks.txt)"
}

@test "the frames of a request that awaits tasks are in their stacks, below what measures it" {
    with_each_python awaited
}

# An application whose scope is Starlette's, without the package.
@test "what tasks do that a request has made and does not await is of its endpoint, where requests are counted" {
    cat >background.py <<'EOF'
import asyncio, sys, time, types
import libpyprof
from cpu import spin

sys.modules["starlette"] = types.ModuleType("starlette")  # names its endpoints

async def in_background(seconds):
    await asyncio.sleep(0.01)
    spin(seconds)

async def forgotten(tasks):
    tasks.append(asyncio.create_task(in_background(0.5)))

async def application(scope, receive, send):
    route = types.SimpleNamespace(path="/report/{n}")
    scope.update(router=types.SimpleNamespace(routes=[]), endpoint=forgotten, route=route)
    await forgotten(scope["tasks"])
    await send({"type": "http.response.start"})

async def request(served, tasks):
    async def send(message): pass
    await served({"type": "http", "path": "/report/7", "method": "GET", "tasks": tasks}, None, send)

async def main():
    served, tasks = libpyprof.asgi(application), []
    for _ in range(3):
        await asyncio.create_task(request(served, tasks))
        if len(tasks) == 1:
            spin(0.2)
            time.sleep(1.8)  # what was imported is found within a second
    await asyncio.gather(*tasks)
    await asyncio.create_task(in_background(0.2))  # of no request

asyncio.run(main())
EOF
    PYTHONPATH=$ROOT/contrib/python:$WORKLOADS PYPROF_HZ=500 profiled "$PYTHON" background.py
    "$PYPROF" export --format collapsed --unit samples --by endpoint >stacks.txt
    ours=$(awk '/^\/report\/{n};.*in_background \(/ { n += $NF } END { print n + 0 }' stacks.txt)
    none=$(awk '/^\(none\);.*in_background \(/ { n += $NF } END { print n + 0 }' stacks.txt)
    echo "$ours $none"
    # 1.5 s of three requests, 0.2 s of none
    [ "$none" -gt 10 ] && [ "$ours" -gt $((none * 4)) ]
}

# An application whose framework is not known, and whose executor has no copy of the context.
@test "what threads of an executor do for a counted request of an unknown framework is its endpoint's" {
    cat >executor.py <<'EOF'
import asyncio, json, time
import libpyprof

used = {}

def compute(path, ms):
    start = time.thread_time()
    while time.thread_time() - start < ms / 1000:
        sum(range(100))
    used[path] = used.get(path, 0) + time.thread_time() - start

async def application(scope, receive, send):
    path = scope["path"]
    if path == "/named":
        libpyprof.labels(endpoint="a name").__enter__()
    await asyncio.get_running_loop().run_in_executor(None, compute, path, 4 if path == "/a" else 9)

async def none(path, seconds):
    await asyncio.get_running_loop().run_in_executor(None, compute, path, seconds)

async def main():
    served = libpyprof.asgi(application)
    await none("none", 200)
    time.sleep(1.5)  # what was imported is found within a second
    for _ in range(60):
        requests = [served({"type": "http", "path": path, "method": "GET"}, None, None) for path in ("/a", "/b", "/named")]
        await asyncio.gather(none("none", 3), *requests)

asyncio.run(main())
print(json.dumps(used))
EOF
    PYTHONPATH=$ROOT/contrib/python PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" executor.py >truth.json
    "$PYPROF" report --json --by endpoint >by.json
    judge '
truth, by = json.load(open("truth.json")), {row["value"]: row for row in json.load(open("by.json"))["by"]}
for path, seconds in truth.items():
    row = by[{"none": None, "/named": "a name"}.get(path, path)]
    print(path, seconds, row)
    sigma = (seconds * row["cpu_ns"] / 1e9 / row["samples"]) ** 0.5
    assert abs(row["cpu_ns"] / 1e9 - seconds) < 5 * sigma + 0.03 + (path == "none") * 0.2, (path, seconds, row)
    assert path == "none" or row["requests"] == 60'
}

@test "report says where samples and the requests' own clock contradict each other" {
    cat >contradicted.py <<'END'
import time
import libpyprof
from cpu import spin
time.sleep(1.5)  # what was imported is found once a second
for _ in range(50):
    with libpyprof.labels(endpoint="/page"):
        spin(0.01)
    libpyprof.request("/page", cpu_ns=2_000_000)
    with libpyprof.labels(endpoint="/stream"):
        spin(0.002)
    spin(0.008)
    libpyprof.request("/stream", cpu_ns=10_000_000)
END
    profiled PYTHONPATH="$ROOT/contrib/python:$WORKLOADS" "$PYTHON" contradicted.py
    "$PYPROF" report endpoints | unwrapped >report.txt
    unwrapped <report.txt | grep -q 'CPU/REQ of /page has more than its requests. own thread used, 2.00 ms each' || fail "$(cat report.txt)"
    grep -qF 'Requests of /stream took 10.0 ms each by' report.txt || fail "$(cat report.txt)"
}
