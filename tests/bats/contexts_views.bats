# What the views make of contexts of samples: tasks, endpoints, greenlets, labels. The log is made (tests/web/logs.py), so that
# all of it is known.
load lib/helper

# service NAME [SLOWER]: writes NAME.pyprof
service() {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" service "$1.pyprof" "${2:-1}"
}
WHOLE=3657000001

# collapsed ARGUMENTS...: stacks, without the line of accounting
collapsed() {
    "$PYPROF" export --format collapsed "$@" | grep -v '^\[accounting'
}

sum() {
    awk '{ n += $NF } END { printf "%.0f\n", n }'
}

@test "tasks are in the stacks, below those that await them; the event loop is one frame" {
    service app
    collapsed app.pyprof >all.txt
    [ "$(grep -cF '[loop];[task serve];[task handle_request];checkout (app.py:20);total (app.py:30) 800000000' all.txt)" -eq 1 ] || fail "$(cat all.txt)"
    grep -qF '[loop];[task refresh];refresh (app.py:80) 200000000' all.txt
    grep -qF '[task serve];[task handle_request];_WorkItem.run (concurrent/futures/thread.py:50);thumbnail (app.py:50) 400000000' all.txt
    grep -qF '<module> (app.py:1);run (asyncio/runners.py:160);BaseEventLoop._run_once (asyncio/base_events.py:1900) 50000000' all.txt
    [ "$(sum <all.txt)" = "$WHOLE" ]
    collapsed --native=all app.pyprof >whole.txt
    grep -qF '_start (python3.12);<module> (app.py:1);run (asyncio/runners.py:160);Handle._run (asyncio/events.py:80);[task refresh];refresh' whole.txt
    [ "$(sum <whole.txt)" = "$WHOLE" ]
}

@test "report --by task: many names that differ in their numbers only are one row, but for what takes much" {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" numbered many.pyprof
    "$PYPROF" report --by task --top 20 many.pyprof >report.txt
    grep -qE '^ +0\.50 s +45\.8 % +499  audit-\* \(499 names\) +67 % scan ' report.txt || fail "$(cat report.txt)"
    grep -qE '^ +0\.40 s +36\.7 % +1  audit-17 +100 % scan ' report.txt || fail "$(cat report.txt)"
    [ "$(grep -cE '^ +0\.02 s +1\.8 % +2  worker-[0-7] +100 % work ' report.txt)" -eq 8 ] || fail "$(cat report.txt)"
    grep -qE '^ +0\.03 s +2\.8 % +3  \(none\) +100 % main ' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report many.pyprof | grep -qE '^ +0\.50 s +45\.8 % +499  audit-\* \(499 names\) ' || fail "$("$PYPROF" report many.pyprof)"
    "$PYPROF" report --by task --focus 'task=audit-222$' many.pyprof >report.txt
    grep -qE '^ +0\.00 s 100\.0 % +1  audit-222 ' report.txt || fail "$(cat report.txt)"
    run "$PYPROF" flame -o x.html --focus foo=audit-1 many.pyprof
    [ "$status" -eq 1 ] && [[ $output == *" fits --focus foo=audit-1; no sample has a context or label foo; this profile has: task" ]] || fail "$status $output"
    run "$PYPROF" report --focus task=audits many.pyprof
    [ "$status" -eq 1 ] && [[ $output == *" fits --focus task=audits" ]] || fail "$status $output"
    "$PYPROF" report --json --by task many.pyprof | judge '
report = json.load(sys.stdin)
values = {one["value"]: one["cpu_ns"] for one in report["by"]}
assert len(values) == 509 and values["audit-222"] == 1000222 and values[None] == 30000000, values
assert sum(values.values()) == report["shown_ns"], report'
}

@test "--no-awaiters leaves out the tasks that await, not the task, and no CPU time" {
    service app
    collapsed --no-awaiters app.pyprof >all.txt
    ! grep -F 'task serve' all.txt || fail "an awaiter is there"
    grep -qF '[loop];[task handle_request];search (app.py:60);rank (app.py:70) 800000000' all.txt
    grep -qE '^_WorkItem.run .*;thumbnail' all.txt
    [ "$(sum <all.txt)" = "$WHOLE" ]
    for view in report "report --json" "annotate app.py" "export --format pprof" "diff app.pyprof" "flame -o -"; do
        # shellcheck disable=SC2086 # words
        "$PYPROF" $view --no-awaiters app.pyprof >/dev/null || fail "$view"
    done
}

@test "report: what has no endpoint is named by what it did, not by what started the server, and explained" {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" launched app.pyprof
    "$PYPROF" report endpoints app.pyprof >report.txt
    grep -qE '^ +1\.10 s +44\.0 % +110  /cart +91 % cart \(shop\.py:20\)$' report.txt || fail "$(cat report.txt)"
    grep -qE '^ +0\.55 s +22\.0 % +55  \(none\) +51 % accept \(server/core\.py:40\)$' report.txt || fail "$(cat report.txt)"
    grep -qE '^ +0\.15 s +6\.0 % +15  \[imports\] +100 % in shop$' report.txt || fail "$(cat report.txt)"
    # What is no endpoint comes last, however much it is.
    [ "$(grep -oE '  (/cart|\(none\)|\[imports\]|\(unknown route\)) ' report.txt | tr -d '\n')" = '  /cart   [imports]   (unknown route)   (none) ' ] || fail "$(cat report.txt)"
    grep -qE '^ +0\.70 s +28\.0 % +70  \(unknown route\) +71 % rows \(shop\.py:30\)$' report.txt || fail "$(cat report.txt)"
    unwrapped <report.txt >lines.txt
    grep -qF '(none): no request is known: the event loop' lines.txt || fail "$(cat report.txt)"
    grep -qF '(unknown route): requests before their route is found' lines.txt || fail "$(cat report.txt)"
    "$PYPROF" report app.pyprof | grep -qF '(unknown route): before a route is found, as in middleware' || fail "$("$PYPROF" report app.pyprof)"
    # What counts requests is no function of the application, wherever it lies.
    ! grep -E '^ .*% +counted .*_requests' <("$PYPROF" report functions app.pyprof | sed -n '/FUNCTION OF THE APPLICATION/,/^$/p') || fail "$(cat report.txt)"
    "$PYPROF" report --by package app.pyprof >report.txt
    grep -qE '^ +0\.10 s +4\.0 % +10  libpyprof ' report.txt || fail "$(cat report.txt)"
    # Where no route is known at all, what to do is said.
    unknown=$(/usr/bin/python3 - "$ROOT/tests/web" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from logs import Log, python
log = Log()
for endpoint, ns in (("(unknown route)", 600), (None, 300)):
    log.sample("MainThread", [python("handle", "/srv/app/app.py", 20)], ns * 1000000, 0, True, ns // 10, (("endpoint", endpoint),) if endpoint else ())
log.write("unknown.pyprof")
END
    "$PYPROF" report endpoints unknown.pyprof | unwrapped)
    [[ $unknown == *"(unknown route): all requests, as the routes of this framework are not read"*"libpyprof.wsgi(app)"* ]] || fail "$unknown"
    [[ $("$PYPROF" report --by endpoint --focus 'endpoint=(unknown route)' app.pyprof | unwrapped) != *"all requests"* ]]
    ! grep -F 'all requests' lines.txt || fail "$(cat lines.txt)"
    # A small part needs no sentence.
    service service
    ! "$PYPROF" report endpoints service.pyprof | grep -F 'unknown route' || fail "$("$PYPROF" report endpoints service.pyprof)"
}

@test "report: on the first screen no endpoint is hidden by less that is none" {
    /usr/bin/python3 - "$ROOT/tests/web" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from logs import Log, pseudo, python
log = Log()
parts = [(f"/{n}", 900 - n * 50) for n in range(9)] + [("(unknown route)", 260), (None, 2000)]
for endpoint, ms in parts:
    log.sample("MainThread", [python("handle", "/srv/app/app.py", 20)], ms * 1000000, 0, True, ms // 10, (("endpoint", endpoint),) if endpoint else ())
log.sample("MainThread", [pseudo("[paused]")], 240 * 1000000, 0, True, 0, ())
log.write("many.pyprof")
END
    "$PYPROF" report many.pyprof >report.txt
    [ "$(grep -oE '  (/[0-9]|\(none\)|\[paused\]|\(unknown route\)) ' report.txt | tr -d ' \n')" = "/0/1/2/3(none)" ] || fail "$(cat report.txt)"
    "$PYPROF" report endpoints many.pyprof >report.txt
    [ "$(grep -cE '  (/[0-9]|\(none\)|\[paused\]|\(unknown route\)) ' report.txt)" = 12 ] || fail "$(cat report.txt)"
}

@test "report: where no endpoint is read, the framework or the server is named, and what names its requests" {
    /usr/bin/python3 - "$ROOT/tests/web" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from logs import Log, python
def package(name, file):
    return python(name, f"/venv/lib/python3.12/site-packages/{file}", 1)
own, other = python("handle", "/srv/app/app.py", 20), python("middle", "/srv/app/app.py", 40)
def write(name, *samples):
    log = Log()
    for stack, labels, ms in samples:
        log.sample("MainThread", stack, ms * 1000000, 0, True, ms // 10, labels)
    log.write(f"{name}.pyprof")
unknown, task = ("endpoint", "(unknown route)"), ("task", "Task-1")
server, framework = package("run", "server/h11.py"), package("call", "smallweb/app.py")
asgi, wsgi = package("run", "server/asgi.py"), package("WSGIGateway.respond", "server/gate.py")
waits = ([package("select", "server/loop.py")], (), 400)
write("asgi_by_task", ([server, other, framework, own], (unknown, task), 600), waits)
write("wsgi_by_label", ([server, framework, own], (unknown,), 600), waits)
write("asgi_alone", ([asgi, own], (), 600), waits)
write("wsgi_alone", ([wsgi, framework, own, package("dumps", "json5/all.py")], (), 600), waits)
write("known", ([wsgi, framework, own], (("endpoint", "/a"),), 600), ([server, own], (unknown,), 900))
write("seldom", ([wsgi, framework, own], (), 20), waits)
END
    hint() { "$PYPROF" report "$1.pyprof" >report.txt; sed -n 's/^Hint: app = //p' report.txt; }
    [ "$(hint asgi_by_task)" = "libpyprof.asgi(app) names the endpoints; smallweb's are not read" ] || fail "$(cat report.txt)"
    # One row "(unknown route)" is no answer: the functions are.
    grep -qE ' handle \(app\.py:20\) ' report.txt && ! grep -F ENDPOINT report.txt || fail "$(cat report.txt)"
    [ "$(hint wsgi_by_label)" = "libpyprof.wsgi(app) names the endpoints; smallweb's are not read" ] || fail "$(cat report.txt)"
    [ "$(hint asgi_alone)" = "libpyprof.asgi(app) names the endpoints; server's are not read" ] || fail "$(cat report.txt)"
    [ "$(hint wsgi_alone)" = "libpyprof.wsgi(app) names the endpoints; smallweb's are not read" ] || fail "$(cat report.txt)"
    [ -z "$(hint known)$(hint seldom)" ] || fail "$(hint known; hint seldom)"
    [[ $("$PYPROF" report endpoints asgi_by_task.pyprof | unwrapped) == *"the routes of smallweb are not read: app = libpyprof.asgi(app)"* ]]
}

# by WORD FILE: "CPU value" of each value, from report --json.
by() {
    "$PYPROF" report --json --by "$1" "$2" | judge '
report = json.load(sys.stdin)
rows = report["by"]
assert sum(row["cpu_ns"] for row in rows) == report["shown_ns"] == report["program_ns"], rows
assert sum(row["samples"] for row in rows) == 368, rows
assert [set(row) for row in rows] == [{"value", "cpu_ns", "samples"}] * len(rows), rows
assert [row["cpu_ns"] for row in rows] == sorted((row["cpu_ns"] for row in rows), reverse=True)
for row in rows:
    print(row["cpu_ns"], row["value"])'
}

@test "report --by: the values of each context, whose CPU in sum is the program's to the nanosecond" {
    service app
    by endpoint app.pyprof >values.txt
    printf '1600000000 /checkout\n1257000001 None\n800000000 /search/{query}\n' | diff - values.txt
    # A task has also what it gave to a thread.
    by task app.pyprof >values.txt
    printf '2400000000 handle_request\n1057000001 None\n200000000 refresh\n' | diff - values.txt
    by greenlet app.pyprof >values.txt
    printf '2857000001 None\n400000000 [hub]\n400000000 crawl\n' | diff - <(sort -k1,1nr -k2 values.txt)
    by thread app.pyprof >values.txt
    printf '2250000000 MainThread\n800000000 gevent\n400000000 asyncio_0\n200000000 metrics\n7000001 None\n' | diff - values.txt
    by span app.pyprof >values.txt
    printf '2457000001 None\n1200000000 POST /checkout\n' | diff - values.txt
    by label:tenant app.pyprof >values.txt
    printf '2457000001 None\n800000000 acme\n400000000 globex\n' | diff - values.txt
    by package app.pyprof >values.txt
    printf '3650000000 app\n7000001 [unsampled]\n' | diff - values.txt
}

# rows: of the table of values in report.txt, with what is in it most
rows() {
    awk '/^ +CPU SAMPLES/ { on = 1; next } !NF || !/ %/ { on = 0 } on' report.txt
}

@test "report --by endpoint: which endpoint, and where its CPU went, in 80 columns" {
    service app
    "$PYPROF" report --by endpoint app.pyprof >report.txt
    rows >rows.txt
    grep -qE '^ +1\.60 s +43\.8 % +160  /checkout +50 % checkout → total \(app\.py:30\)$' rows.txt || fail "$(cat report.txt)"
    grep -qE '^ +0\.80 s +21\.9 % +80  /search/\{query\} +100 % search → rank \(app\.py:70\)$' rows.txt || fail "$(cat report.txt)"
    [ "$(grep -vc ' of it at ' rows.txt)" -eq 3 ]
    "$PYPROF" report --by endpoint --lines --ci --top 1 app.pyprof >report.txt
    grep -qE '^ +1\.60 s +43\.8 % +[0-9.]+–[0-9.]+ +160  /checkout ' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report --by thread --top 1 app.pyprof >report.txt
    grep -qF 'and 3 more (--by thread --top 4)' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report --by endpoint --threads app.pyprof >report.txt
    [ "$(grep -cE '^ +CPU SAMPLES  ENDPOINT' report.txt)" -eq 5 ] || fail "$(cat report.txt)"
    grep -A3 '^Thread asyncio_0' report.txt | grep -qE '100\.0 % +40  /checkout' || fail "$(cat report.txt)"
}

@test "report: below the costliest endpoints what most of them awaits, and in which line; as JSON of each" {
    cat >shop.py <<'END'
def timing(): pass
async def cart(): pass
async def prices(): pass
async def search(): pass
async def rank(): pass
@decorated
async def fetch(): pass
def login(): pass
def price(): pass
END
    touch -d 2020-01-01 shop.py
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 - <<'END'
import os
import logs
from logs import at, pseudo

log = logs.Log()
timing, cart, prices, search, rank, fetch, _, login, price = (
    logs.python(name, os.path.abspath("shop.py"), line + 1)
    for line, name in enumerate("timing cart prices search rank fetch - login price".split()))
wait = logs.python("wait", "/usr/lib/python3.12/asyncio/tasks.py", 400)
serving = (("task", "run_asgi"),)


def add(endpoint, ms, frames, labels=serving):
    log.sample("MainThread", [logs.python("run", "/usr/lib/python3.12/asyncio/base_events.py", 600), *frames], ms * 1000000, 0,
               True, ms // 10, (*labels, ("endpoint", endpoint)))


# Tasks with numbers in their names are one; a generator, which has no `async def`, is not awaited.
for number in range(30):
    add("/cart", 10, [pseudo("[awaiter]"), timing, at(cart, 34), wait, pseudo("[task]"), at(prices, 36), price],
        (("task", f"prices-{number}"), ("awaiter", "run_asgi")))
add("/cart", 200, [pseudo("[task]"), timing, at(cart, 35)])
add("/search", 300, [pseudo("[task]"), timing, at(search, 40), at(rank, 50), at(fetch, 60), wait])
add("/search", 100, [pseudo("[task]"), timing, at(search, 41)])
add("/login", 90, [pseudo("[awaiter]"), timing, at(login, 70), wait, pseudo("[awaited]"), price], (("awaiter", "run_asgi"),))
add("/plain", 50, [pseudo("[task]"), timing, price])
log.write("app.pyprof")
END
    "$PYPROF" report app.pyprof >report.txt
    [ "$(grep -c ' of it awaited ' report.txt)" -eq 2 ] || fail "$(cat report.txt)"
    grep -A1 '  /cart ' report.txt | grep -qxE ' +60 % of it awaited at shop\.py:34 in cart: task prices-\* \(30 names\)' || fail "$(cat report.txt)"
    grep -A1 '  /search ' report.txt | grep -qxE ' +75 % of it awaited at shop\.py:50 in rank: fetch' || fail "$(cat report.txt)"
    /usr/bin/python3 "$ROOT/tests/bats/lib/on_terminal.py" 60 "$PYPROF" report app.pyprof >narrow.txt
    grep -qE 'of it awaited at shop\.py:34 in cart: ta' narrow.txt || fail "$(cat narrow.txt)"
    "$PYPROF" report --json --by endpoint app.pyprof | judge '
rows = {row["value"]: row.get("awaited") for row in json.load(sys.stdin)["by"]}
print(rows)
assert rows["/login"]["kind"] == "thread" and rows["/login"]["line"] == 70 and rows["/login"]["cpu_ns"] == 90000000
assert rows["/cart"]["kind"] == "task" and rows["/cart"]["function"] == "cart" and rows["/plain"] is None'
    # Without its source it is not known which function is a coroutine; tasks are.
    rm shop.py
    "$PYPROF" report app.pyprof >report.txt
    [ "$(grep -o 'awaited at .*' report.txt | tr '\n' ';')" = 'awaited at shop.py:34 in cart: task prices-* (30 names);awaited at shop.py:70 in login: a thread;' ] ||
        fail "$(cat report.txt)"
}

# A service with middleware, whose own code is little, around endpoints whose own code is much or nothing.
wrapped() {
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 - <<'END'
import logs
from logs import at, pseudo


def library(name, file):
    return logs.python(name, "/srv/venv/lib/python3.12/site-packages/" + file, 10)


log = logs.Log()
audit, hashed, cart, tenant, prices = (logs.python(name, "/srv/app/svc.py", line) for name, line in (
    ("audit", 20), ("hashed", 25), ("cart", 40), ("tenant_report", 50), ("prices", 60)))
run = logs.python("run", "/usr/lib/python3.12/asyncio/base_events.py", 600)
loads = logs.python("loads", "/usr/lib/python3.12/json/__init__.py", 300)
router, send = library("Router.app", "starlette/routing.py"), library("send", "h11/_connection.py")


def add(endpoint, ms, *frames, awaiter=()):
    log.sample("MainThread", [run, library("run_asgi", "uvicorn/protocols.py"), *frames], ms * 1000000, 0, True, ms // 10,
               (*(awaiter or (("task", "run_asgi"),)), *((("endpoint", endpoint),) if endpoint else ())))


for endpoint, own, ms in (("/cart", cart, 100), ("/tenant", tenant, 280)):
    add(endpoint, ms, at(audit, 21), router, own, loads)
    add(endpoint, 150, at(audit, 21), router)
    add(endpoint, 150, at(audit, 21), router, send, loads)
    add(endpoint, 10, audit)
add("/cart", 290, pseudo("[awaiter]"), at(audit, 21), router, at(cart, 41), pseudo("[task]"), prices,
    awaiter=(("task", "prices"), ("awaiter", "run_asgi")))
add("/ping", 60, at(audit, 21), router, loads)
add("/ping", 40, at(audit, 21), router, send)
add("/ping", 20, at(audit, 22), hashed)
add("(unknown route)", 70, at(audit, 21), router, loads)
add("(unknown route)", 30, at(audit, 22), hashed)
add(None, 10)
log.write("app.pyprof")
END
}

@test "report: what most of an endpoint is in is its own function, or a package, but not the middleware that calls both" {
    wrapped
    "$PYPROF" report app.pyprof >report.txt
    rows >rows.txt
    grep -qE '  /cart +41 % cart → prices \(svc\.py:60\)$' rows.txt || fail "$(cat report.txt)"
    grep -qE '  /tenant +47 % tenant_report \(svc\.py:50\)$' rows.txt || fail "$(cat report.txt)"
    grep -qE '  /ping +50 % in starlette$' rows.txt || fail "$(cat report.txt)"
    grep -qE '  \(unknown route\) +70 % in starlette$' rows.txt || fail "$(cat report.txt)"
    "$PYPROF" report --by package app.pyprof >report.txt
    rows >rows.txt
    grep -qE '  h11 +88 % loads \(json/__init__\.py:300\)$' rows.txt || fail "$(cat report.txt)"
    ! grep -F audit rows.txt || fail "$(cat report.txt)"
}

@test "report --focus on an endpoint says of it what the report of all says" {
    wrapped
    # of ENDPOINT FILE
    of() {
        grep -A1 "  $1 " "$2" | grep -oE "$1 .*|[0-9]+ % of it awaited at .*" | tr -s ' '
    }
    "$PYPROF" report endpoints app.pyprof >report.txt
    for endpoint in /cart /tenant /ping; do
        "$PYPROF" report --focus "endpoint=$endpoint\$" app.pyprof | grep -q 'OWN FUNCTION' || fail "a table of one row"
        "$PYPROF" report endpoints --focus "endpoint=$endpoint\$" app.pyprof >focused.txt
        diff <(of "$endpoint" report.txt) <(of "$endpoint" focused.txt) || fail "$(cat report.txt focused.txt)"
    done
    of /cart report.txt | grep -qxF '41 % of it awaited at svc.py:41 in cart: task prices' || fail "$(cat report.txt)"
}

@test "report without options has a short table of endpoints, else of tasks, else of greenlets" {
    service app
    "$PYPROF" report app.pyprof >report.txt
    rows >rows.txt
    [ "$(grep -v ' of it ' rows.txt | awk '{ print $6 }' | tr '\n' ' ')" = "/checkout /search/{query} (none) " ] || fail "$(cat report.txt)"
    "$PYPROF" report --full app.pyprof >report.txt
    grep -qxF 'Others: --by task, greenlet, span, label:tenant, thread, package' report.txt || fail "$(cat report.txt)"
    [ "$(head -n 12 report.txt | grep -c '/checkout')" -eq 1 ] || fail "not on the first screen: $(cat report.txt)"
    "$PYPROF" report --thread gevent app.pyprof >report.txt
    rows | grep -qE ' 50\.0 % +40  crawl +100 % crawl' || fail "$(cat report.txt)"
    "$PYPROF" report --full --focus refresh app.pyprof >report.txt
    rows | grep -qE ' 100\.0 % +20  refresh ' || fail "$(cat report.txt)"
    "$PYPROF" report --thread metrics app.pyprof >report.txt
    ! grep -E 'SAMPLES|--by' report.txt || fail "a table of nothing"
    # A task with little of the CPU time is no answer.
    cat >aside.py <<'END'
import asyncio, time
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
async def start(): compute(0.03)
asyncio.run(start())
compute(0.8)
END
    PYPROF_HZ=500 profiled "$PYTHON" aside.py
    "$PYPROF" report >report.txt
    grep -q 'OWN FUNCTION' report.txt || fail "$(cat report.txt)"
}

@test "what a profile has no context for is said, with what it has" {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" example plain.pyprof
    service app
    for view in report "report --json" "export --format collapsed" "export --format pprof" "flame -o x.svg" "flame -o x.html" diff; do
        # shellcheck disable=SC2046,SC2086 # words
        run -1 "$PYPROF" $view --by endpoint plain.pyprof $([ "$view" != diff ] || echo app.pyprof)
        [[ $output == "pyprof: --by endpoint: no sample has one; they come from Flask, Django, Starlette, FastAPI, aiohttp, Bottle, Quart, Litestar, Falcon, Pyramid, Sanic, Tornado and gRPC, "*". This profile has: --by thread, package" ]] || fail "$view: $output"
        [ ! -e x.svg ] && [ ! -e x.html ]
    done
    run -1 "$PYPROF" report --by label:shop app.pyprof
    [[ $output == *"--by label:shop: no sample has one; "*" --by endpoint, task, greenlet, span, label:tenant, thread, package" ]] || fail "$output"
    for word in banana label: Endpoint ""; do
        run -2 "$PYPROF" report --by "$word" app.pyprof
        [[ $output == *"--by takes 'function', 'endpoint', "*" or 'label:KEY', not '$word'" ]] || fail "$output"
    done
}

@test "exports --by: the value is the root frame; without it nothing changes" {
    service app
    collapsed --by endpoint app.pyprof >all.txt
    [ "$(grep '^/checkout;' all.txt | sum)" = 1600000000 ]
    [ "$(grep '^(none);' all.txt | sum)" = 1257000001 ]
    grep -qF '/search/{query};[loop];[task serve];[task handle_request];search (app.py:60)' all.txt || fail "$(cat all.txt)"
    [ "$(sum <all.txt)" = "$WHOLE" ]
    for by in thread task greenlet span package label:tenant; do
        collapsed --by "$by" app.pyprof >all.txt
        [ "$(sum <all.txt)" = "$WHOLE" ] || fail "$by"
        # Without the roots they are the same stacks.
        sed 's/^[^;]*;//' all.txt | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' | sort >without.txt
        collapsed app.pyprof | sort | diff - without.txt || fail "$by"
    done
    collapsed --by function app.pyprof | diff - <(collapsed app.pyprof)
    for format in svg speedscope firefox callgrind perf otlp; do
        "$PYPROF" export --by endpoint --format "$format" app.pyprof | grep -qaF '/search/{query}' || fail "$format"
    done
    # Attributes of OTLP, each once; they are there without --by, too.
    "$PYPROF" export --format otlp app.pyprof >app.otlp
    for key in task awaiter endpoint greenlet span tenant; do
        grep -qaF "process.context.label.$key" app.otlp || fail "$key"
    done
    "$PYPROF" flame --by endpoint -o app.svg app.pyprof
    "$PYPROF" export --by endpoint --format svg app.pyprof | cmp - app.svg
}

@test "pprof has contexts as labels, for -tagfocus" {
    service app
    "$PYPROF" export -o app.pb.gz app.pyprof
    command -v go >/dev/null || skip "go is missing"
    export PPROF_TMPDIR=$PWD
    go tool pprof -sample_index=cpu -tagfocus=endpoint=/checkout -top app.pb.gz >top.txt 2>&1
    grep -qE 'Showing nodes accounting for 1600ms' top.txt || fail "$(cat top.txt)"
    go tool pprof -tags app.pb.gz >tags.txt 2>&1
    for value in handle_request serve crawl 'POST /checkout' globex; do
        grep -qF "$value" tags.txt || fail "$value: $(cat tags.txt)"
    done
}

@test "--focus and --ignore match contexts, --not-thread leaves threads out" {
    service app
    total() {
        collapsed "$@" app.pyprof | sum
    }
    [ "$(total --focus endpoint=/checkout)" = 1600000000 ]
    [ "$(total --focus '^endpoint=/search')" = 800000000 ]
    [ "$(total --ignore endpoint=)" = 1257000001 ]
    [ "$(total --focus 'tenant=(acme|globex)$' --ignore deflate)" = 800000000 ]
    [ "$(total --focus 'task=refresh|greenlet=crawl')" = 600000000 ]
    [ "$(total --focus '\[task serve\]')" = 2400000000 ]
    # a task that only awaits uses no CPU itself
    run "$PYPROF" report --focus task=serve app.pyprof
    [ "$status" -eq 1 ] && [[ $output == *" fits --focus task=serve; what tasks await: --focus 'awaiter=serve'" ]] || fail "$status $output"
    [ "$(total --focus awaiter=serve)" = 2400000000 ]
    # the row that tables call (none) is selected by that name, as it is shown or as a regular expression
    for key in endpoint task greenlet span tenant; do
        by=$key
        [ $key != tenant ] || by=label:tenant
        none=$(collapsed --by $by app.pyprof | grep '^(none);' | sum)
        for pattern in "$key=(none)" "^$key=\\(none\\)\$"; do
            [ "$none" -gt 0 ] && [ "$(total --focus "$pattern")" = "$none" ] || fail "$pattern: $none"
            [ "$(total --ignore "$pattern")" = $((WHOLE - none)) ] || fail "not $pattern: $none"
        done
    done
    # so is every other value as it is shown
    [ "$(total --focus 'endpoint=/search/{query}')" = 800000000 ]
    [ "$(total --focus '^endpoint=/search/{query}$')" = 800000000 ]
    [ "$(total --focus 'label:endpoint=/search/{query}')" = 800000000 ]
    # a table of what has none
    "$PYPROF" report --by endpoint --focus 'endpoint=(none)' app.pyprof >none.txt || fail "$(cat none.txt)"
    grep -qE ' 100.0 % .* \(none\) ' none.txt || fail "$(cat none.txt)"
    PYTHONPATH="$ROOT/tests/web" /usr/bin/python3 -c '
import logs
log = logs.Log()
for i, route in enumerate(("(unknown route)", "/a+b(c)?", "/a")):
    log.sample("MainThread", [logs.python("cart")], 10000000 << i, 0, True, 1 << i, (("endpoint", route),))
log.write("odd.pyprof")'
    [ "$(collapsed --focus 'endpoint=(unknown route)' odd.pyprof | sum)" = 10000000 ]
    [ "$(collapsed --focus 'endpoint=/a+b(c)?' odd.pyprof | sum)" = 20000000 ]
    run "$PYPROF" report --focus 'endpont=(none)' app.pyprof
    [ "$status" -eq 1 ] && [[ $output == *"; no sample has a context or label endpont; this profile has: "* ]] || fail "$status $output"
    [ "$(total --not-thread 'gevent|metrics')" = $((WHOLE - 1000000000)) ]
    [ "$(total --not-thread 103)" = $((WHOLE - 200000000)) ]
    [ "$(total --thread 'a' --not-thread '^MainThread$')" = 400000000 ]
    run -1 "$PYPROF" report --not-thread . app.pyprof
    [[ $output == *"no sample of 3.66 s CPU fits --not-thread .; threads: MainThread, "* ]] || fail "$output"
}

@test "diff --by endpoint: a service that imported more is not slower for it" {
    PYTHONPATH="$ROOT/tests/web" /usr/bin/python3 -c '
import logs
for name, imports in (("few", 200), ("many", 900)):
    log = logs.Log()
    log.sample("MainThread", [logs.python("cart")], 3000000000, 0, True, 300, (("endpoint", "/cart"),))
    log.sample("MainThread", [logs.python("_load", "<frozen importlib._bootstrap>", 1), logs.python("x")], imports * 1000000, 0, True, imports // 10)
    log.sample("MainThread", [logs.python("loop")], 500000000, 0, True, 50)
    log.write(f"{name}.pyprof")'
    "$PYPROF" diff --by endpoint --by cpu --top 9 few.pyprof many.pyprof >diff.txt
    grep -qE '^ +0\.20 +0\.90 +\+0\.70   \[imports\]$' diff.txt && grep -qE '^ +0\.50 +0\.50 +\+0\.00   \(none\)$' diff.txt || fail "$(cat diff.txt)"
    "$PYPROF" diff --by endpoint --fail-above 3% few.pyprof many.pyprof >diff.txt || fail "$(cat diff.txt)"
    ! grep -E '\*  (\[imports\]|\(none\))$' diff.txt || fail "$(cat diff.txt)"
}

@test "diff --by endpoint marks the endpoint that has become slower, and fails for it" {
    service app
    service slower 2
    "$PYPROF" diff app.pyprof slower.pyprof >unasked.txt
    unwrapped <unasked.txt | grep -q '^Not known whether it is slower: requests are not counted on both sides' || fail "$(cat unasked.txt)"
    "$PYPROF" diff --by endpoint app.pyprof slower.pyprof >diff.txt
    diff diff.txt <(sed '/^Functions: --by share$/d' unasked.txt | sed '$d') || fail "endpoints are not what is compared"
    grep -qE '^ +43\.8 +60\.9 +\+17\.1\*  /checkout$' diff.txt || fail "$(cat diff.txt)"
    grep -qE '^  CPU A +B  CHANGE +ENDPOINT$' diff.txt || fail "$(cat diff.txt)"
    "$PYPROF" diff --by endpoint --by cpu app.pyprof slower.pyprof >diff.txt
    grep -qE '^ +1\.60 +3\.20 +\+1\.60\*  /checkout$' diff.txt || fail "$(cat diff.txt)"
    ! grep search diff.txt || fail "not slower"
    run -1 "$PYPROF" diff --by endpoint --by cpu --fail-above 3% app.pyprof slower.pyprof
    [[ $output == *"slower by 43.8 % of A's CPU: /checkout"* ]] || fail "$output"
    "$PYPROF" diff --json --by endpoint app.pyprof slower.pyprof | judge '
diff = json.load(sys.stdin)
assert diff["group"] == "endpoint" and "functions" not in diff, diff
values = {row["value"]: row["self_ns"] for row in diff["values"]}
assert values == {"/checkout": [1600000000, 3200000000], "/search/{query}": [800000000] * 2, None: [1257000001] * 2}, values'
    "$PYPROF" diff --by endpoint --by cpu --format collapsed app.pyprof slower.pyprof >stacks.txt
    grep -qF '/checkout;[loop];[task serve];[task handle_request];checkout (app.py);total (app.py) 800000000 1600000000' stacks.txt || fail "$(cat stacks.txt)"
}

@test "top --by: the values of a run, and what there is when it has none" {
    service app
    "$PYPROF" top --count 1 --by endpoint app.pyprof >top.txt
    grep -qE '^ +CPU +RUN: CPU  ENDPOINT$' top.txt || fail "$(cat top.txt)"
    printf '43.8 1.60 /checkout\n34.4 1.26 (none)\n21.9 0.80 /search/{query}\n' | diff - <(awk '$2 == "%" { print $1, $3, $5 }' top.txt)
    "$PYPROF" top --count 1 --top 100 --native=none app.pyprof >top.txt
    grep -qE ' 65\.6 % .* \[task serve\]$' top.txt || fail "$(cat top.txt)"
    "$PYPROF" top --count 1 --top 100 --no-awaiters app.pyprof >top.txt
    ! grep -F '[task serve]' top.txt || fail "an awaiter is there"
    grep -qE ' 54\.7 % .* \[task handle_request\]$' top.txt || fail "$(cat top.txt)"
    "$PYPROF" top --count 1 --by label:shop app.pyprof >top.txt
    grep -qF 'no sample has one; there are: endpoint, task, greenlet, span, label:tenant, thread, package' top.txt || fail "$(cat top.txt)"
}

@test "tables of values fit 80 columns whatever the names are, and show nothing that a terminal could obey" {
    export LC_ALL=C.UTF-8
    /usr/bin/python3 "$ROOT/tests/web/logs.py" endpoints odd.pyprof
    for options in "" "--by endpoint" "--by endpoint --ci --top 3"; do
        # shellcheck disable=SC2086 # words
        /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" 80 "$PYPROF" report $options odd.pyprof | tr -d '\r' | sed 's/\x1b\[[0-9;]*m//g' >screen.txt
        grep -qE '^ +CPU .*SAMPLES  ENDPOINT' screen.txt || fail "$options: $(cat screen.txt)"
        /usr/bin/python3 -c '
import sys, unicodedata
for line in open("screen.txt", encoding="utf-8"):
    line = line.rstrip("\n")
    width = sum(0 if unicodedata.category(c) == "Cf" else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
    assert width <= 80 and not any(unicodedata.category(c) == "Cc" or c in "\u202e\u2066" for c in line), (width, line)' || fail "$options"
    done
    "$PYPROF" report --by endpoint --top 20 odd.pyprof >report.txt
    ! grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\x{202e}' report.txt || fail "$(cat -v report.txt)"
    [ "$(collapsed --by endpoint odd.pyprof | sum)" = 1200000066 ]
}
