# Requests that contrib/python/libpyprof counts: as many as were answered, CPU time per request, comparisons by it.
load lib/helper

# with_packages PACKAGE...: sets $program.
with_packages() {
    local venv
    venv=$(PIP_ONLY_BINARY=:all: venv_with "$@") || fail "$venv"
    program=$venv/bin/python
}

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
        "$program" "${command[@]//PORT/$port}" >server.log 2>&1 3>&- &
    server=$!
    trap 'stop_server "$server" TERM' EXIT
    "$PYTHON" "$WORKLOADS/counted_client.py" "$port" "$@" >truth.json || fail "$(tail -n 5 server.log)"
    stop_server "$server" TERM
}

compare() {
    ${READ%% *} "$ROOT/tests/bats/lib/counted.py" truth.json "$@" || fail "$(tail -n 5 server.log)"
}

gunicorn=(-m gunicorn -w 2 -b 127.0.0.1:PORT counted_app:app)
uvicorn=(-m uvicorn --workers 2 --port PORT --log-level warning counted_app:app)

flask() {
    with_packages gunicorn flask
    served flask "${gunicorn[@]}" -- '/light/<name>=/light/{}*200' '/heavy/<int:number>=/heavy/{}*60' '/fails=/fails*7' '=/nowhere/{}*5' \
        '/streams/<int:number>=/streams/3*9' 'own name=/labelled*21'
    compare measured
}

@test "requests of Flask in two workers of gunicorn are counted and measured: errors, streams, own labels" {
    with_a_python flask
}

threads() {
    with_packages gunicorn flask
    served flask "${gunicorn[@]}" -k gthread --threads 3 -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40'
    compare measured
}

# bats test_tags=long
@test "requests of Flask in threads are counted and measured" {
    with_a_python threads
}

gevent() {
    with_packages gunicorn flask gevent packaging
    served flask "${gunicorn[@]}" -k gevent -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40' '/streams/<int:number>=/streams/3*9'
    compare
}

# bats test_tags=long
@test "requests in greenlets of gevent are counted, not measured" {
    with_pythons "$(list_pythons | grep ' 3\.12\.')" gevent
}

django() {
    with_packages gunicorn django
    served django "${gunicorn[@]}" -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40' '/fails=/fails*7' '=/nowhere/{}*5'
    compare measured
}

@test "requests of Django in two workers of gunicorn are counted and measured" {
    with_a_python django
}

django_async() {
    with_packages uvicorn django
    served django-async "${uvicorn[@]}" -- '/light/<name>=/light/{}*150' '/heavy/<int:number>=/heavy/{}*40' '/fails=/fails*7' '=/nowhere/{}*5'
    compare
}

# bats test_tags=long
@test "requests of Django as an ASGI application are counted" {
    with_a_python django_async
}

starlette() {
    with_packages uvicorn starlette
    served starlette "${uvicorn[@]}" -- '/light/{name}=/light/{}*150' '/in/{tenant}/heavy/{number:int}=/in/some/heavy/{}*40' '/fails=/fails*7' \
        '=/nowhere/{}*5' '/in/{tenant}=/in/some/nowhere*3'
    compare
}

# bats test_tags=long
@test "requests of Starlette below BaseHTTPMiddleware, in mounts and in threads too, are counted" {
    with_a_python starlette
}

fastapi() {
    with_packages uvicorn fastapi
    served fastapi "${uvicorn[@]}" -- '/light/{name}=/light/{}*150' '/in/heavy/{number}=/in/heavy/{}*30' '/router/heavy/{number}=/router/heavy/{}*30' \
        '/fails=/fails*7' '=/nowhere/{}*5'
    compare
}

@test "requests of FastAPI in two workers of uvicorn are counted, of mounts and included routers too" {
    with_a_python fastapi
}

plain() {
    with_packages gunicorn
    served plain "${gunicorn[@]}" -- '/light=/light*150' '/heavy/*=/heavy/{}*40' '/fails=/fails*3'
    compare measured
}

# bats test_tags=long
@test "requests of an application without a framework are counted by path" {
    with_a_python plain
}

forked() {
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
count("", 2)
count("/a\0b\udc80", 1)
if FIRST:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
END
    "$PYPROF" run -- env PYTHONPATH="$ROOT/contrib/python" "$PYTHON" forked.py 2>run.err || fail "$(cat run.err)"
    "$PYPROF" report --json --by endpoint >by.json
    ${READ%% *} -c '
import json
rows = {row["value"]: row for row in json.load(open("by.json"))["by"]}
counts = {value: row.get("requests") for value, row in rows.items()}
assert counts == {None: 4, "/parent": 22, "/child": 50, "/threads": 160_000, "/a?b?": 2}, counts
child = rows["/child"]
assert child["measured_requests"] == 50 and child["measured_ns"] == 50 * 20_000_000, child
assert 14e6 < child["p50_ns"] < 26e6 and 14e6 < child["p99_ns"] < 26e6, child
assert "p50_ns" not in rows["/parent"] and "cpu_per_request_ns" not in rows["/parent"], rows'
}

@test "request() counts in forked children too, however they end, in threads, and before exec; not while it is paused" {
    with_a_python forked
}
