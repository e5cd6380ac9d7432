# pyprof serve: what it answers to polite and to hostile clients, to pprof and to Prometheus.
load lib/helper

# serve [OPTIONS...]: sets SERVER, AT (host and port) and URL.
serve() {
    "$PYPROF" serve --listen 127.0.0.1:0 "$@" 2>served.txt 3>&- 5>&- &
    SERVER=$!
    wait_until 30 grep -q '^pyprof: http' served.txt || fail "$(cat served.txt)"
    URL=$(grep -o 'http://[^/]*' served.txt)
    AT=${URL#http://}
}

# begin PROCESSES NAME...: endpoints.py under the library.
begin() {
    mkfifo orders
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 LD_PRELOAD=$LIBPYPROF PYTHONPATH=$ROOT/contrib/python \
        "$PYTHON" "$WORKLOADS/endpoints.py" "$@" <orders >truth.txt 2>err.txt 3>&- &
    PROGRAM=$!
    exec 5>orders
}

has_lines() {
    [ "$(wc -l <truth.txt)" -ge "$1" ]
}

end() {
    exec 5>&-
    wait "$PROGRAM"
    # its children, too
    wait_until 60 has_lines "$1"
}

end_of_test() {
    exec 5>&-
    for process in ${SERVER:-} ${PROGRAM:-} ${OTHER:-}; do
        kill "$process" 2>/dev/null || true
    done
}

get() {
    curl -g -s -S --fail-with-body --max-time 60 "$URL$1" "${@:2}"
}

# status PATH [OPTIONS OF curl...]
status() {
    curl -g -s -o body.txt -w '%{http_code}' --max-time 60 "$URL$1" "${@:2}"
}

client() {
    ${READ%% *} "$ROOT/tests/bats/lib/http_clients.py" "$1" "$AT" "${@:2}" || fail "is not answered so"
}

# metric NAME: the sum of its values.
metric() {
    get /metrics | awk -v name="$1" '$1 == name || index($1, name "{") == 1 { sum += $NF } END { printf "%.9f\n", sum }'
}

# has_line TEXT: /metrics has it.
has_line() {
    get /metrics | grep -qF "$1"
}

has_samples() {
    [ "$(status /flame)" = 200 ]
}

has_requests() {
    [ "$(metric pyprof_endpoint_requests_total)" != 0.000000000 ]
}

runs() {
    [ "$(metric pyprof_processes)" = "$1.000000000" ]
}

has_all() {
    local cpu
    cpu=$(metric pyprof_cpu_seconds_total)
    [ "$cpu" = "$(info | reader_of 'total["cpu_ns"] / 1e9')" ]
}

# reader_of EXPRESSION: of the JSON of info.
reader_of() {
    judge 'total = json.load(sys.stdin)["total"]
print(f"{eval(sys.argv[1]):.9f}")' "$1"
}

need_promtool() {
    command -v promtool >/dev/null && return
    [ -z "${CI:-}" ] || fail "promtool is missing (package prometheus)"
    skip "promtool is missing (package prometheus)"
}

@test "no runs yet, then two processes with endpoints: /metrics counts what the program and info say" {
    serve
    grep -q 'nothing is yet' served.txt || fail "$(cat served.txt)"
    [ "$(status /metrics)" = 200 ] || fail "$(cat body.txt)"
    [ "$(status /flame)" = 404 ] || fail "$(cat body.txt)"
    grep -q 'No such file' body.txt || fail "$(cat body.txt)"
    # The page shows in its frame why there is no graph.
    get /flame -D head.txt >body.txt || true
    grep -q "Content-Security-Policy: default-src 'none'; frame-ancestors 'self'" head.txt || fail "$(cat head.txt)"
    begin 2 /cart '/search "odd\name"'
    wait_until 60 runs 2
    wait_until 60 has_requests
    get /metrics >metrics.txt
    [ "$(grep -c '^pyprof_process_cpu_seconds_total{' metrics.txt)" = 2 ] || fail "$(cat metrics.txt)"
    grep -q 'endpoint="/search \\"odd\\\\name\\""' metrics.txt || fail "$(cat metrics.txt)"
    end 4
    wait_until 60 has_all || fail "$(get /metrics) $(info)"
    [ "$(metric pyprof_processes)" = 0.000000000 ] || fail "$(get /metrics)"
    [ "$(metric pyprof_own_cpu_seconds_total)" = "$(info | reader_of 'total["own_ns"] / 1e9')" ]
    [ "$(metric pyprof_samples_total)" = "$(info | reader_of 'total["samples"]')" ]
    [ "$(metric pyprof_unsampled_cpu_seconds_total)" = "$(info | reader_of 'total["unsampled_ns"] / 1e9')" ]
    # By endpoint as the report has it, and as many requests as the program made.
    get '/api/report.json?by=endpoint' >report.json
    get /metrics >metrics.txt
    ${READ%% *} - <<'END'
import json, re

metrics = {}
for line in open("metrics.txt"):
    found = re.match(r'pyprof_endpoint_(cpu_seconds|requests)_total\{endpoint="((?:[^"\\]|\\.)*)"\} ([0-9.]+)$', line)
    if found:
        metrics[found[1], found[2].replace('\\"', '"').replace("\\\\", "\\")] = float(found[3])
for row in json.load(open("report.json"))["by"]:
    name = row["value"] or "(none)"
    assert abs(metrics["cpu_seconds", name] - row["cpu_ns"] / 1e9) < 0.05, (name, row, metrics)
truth = {}
for line in open("truth.txt"):
    name, used, count = line.rsplit(" ", 2)
    truth[name] = truth.get(name, 0) + int(count)
for name in truth:
    assert metrics["requests", name] == truth[name], (name, truth, metrics)
END
}

@test "promtool has nothing to say about /metrics, which knows what is paused" {
    need_promtool
    serve
    begin 1 /cart
    wait_until 60 has_requests
    timeout 3 "$PYPROF" push --once --timeout 1s --to otlp+http://127.0.0.1:1 pyprof.out || true
    get /metrics >metrics.txt
    for metric in 'cpu_seconds_total{target="otlp+http://127.0.0.1:1"} 0.000000000' 'lost_cpu_seconds_total{target="otlp+http://127.0.0.1:1"} 0.000000000' \
        'last_success_timestamp_seconds{target="otlp+http://127.0.0.1:1"} 0.000000000'; do
        grep -qxF "pyprof_push_$metric" metrics.txt || fail "$(cat metrics.txt)"
    done
    get /metrics | promtool check metrics >said.txt 2>&1 || fail "$(cat said.txt)"
    [ ! -s said.txt ] || fail "$(cat said.txt)"
    "$PYPROF" ctl pause >said.txt
    wait_until 60 has_line 'pyprof_processes{state="paused"} 1' || fail "$(get /metrics)"
}

@test "each path has its content; a page runs no script but its own" {
    begin 1 /cart
    serve
    wait_until 60 has_samples
    cp body.txt flame.html
    grep -q 'Content-Security-Policy' flame.html
    [ "$(status /)" = 200 ]
    grep -q "connect-src 'self'; frame-src 'self'; script-src 'sha256-" body.txt || fail "$(head body.txt)"
    get /api/runs.json | ${READ%% *} -c 'import json, sys; assert len(json.load(sys.stdin)["runs"]) == 1'
    get /api/status.json | ${READ%% *} -c 'import json, sys; assert json.load(sys.stdin)["running"] == 1'
    get '/api/report.json?by=endpoint&focus=endpoint%3D%2Fcart' | judge 'values = json.load(sys.stdin)["by"]
assert [row["value"] for row in values if row["cpu_ns"]] == ["/cart"], values'
    [ "$(status '/api/report.json?focus=[')" = 400 ] || fail "$(cat body.txt)"
    grep -q 'regular expression' body.txt || fail "$(cat body.txt)"
    [ "$(status '/api/report.json?focus=nothing_like_this')" = 404 ] || fail "$(cat body.txt)"
    [ "$(status /debug/pprof/heap)" = 404 ] && [ "$(status /debug/pprof/)" = 404 ] && [ "$(status /favicon.ico)" = 404 ]
    # Native functions are those that the report shows.
    for native in '' '&native=all'; do
        get "/debug/pprof/profile?seconds=1$native" | gzip -dc >"profile$native"
    done
    ! grep -aq _PyEval_EvalFrame profile || fail "has the interpreter's functions"
    [ "$(wc -c <'profile&native=all')" -gt "$(wc -c <profile)" ] || fail "native=all has no more than the default"
    [ "$(status '/debug/pprof/profile?seconds=0')" = 400 ] && [ "$(status '/debug/pprof/profile?native=x')" = 400 ]
    [ "$(status '/api/report.json?from=x')" = 400 ] && grep -q '^from takes' body.txt || fail "$(cat body.txt)"
    [ "$(status '/debug/pprof/profile?seconds=x')" = 400 ] && [ "$(status '/debug/pprof/profile?seconds=99999')" = 400 ]
}

@test "an error names the whole path, whatever it ends in" {
    mkdir app.pyprof
    touch app.pyprof/pyprof:\ x.pyprof
    serve app.pyprof
    [ "$(status '/api/report.json?all')" = 404 ] || fail "$(cat body.txt)"
    grep -qF './app.pyprof/pyprof: x.pyprof: not a pyprof profile' body.txt || fail "$(cat body.txt)"
}

@test "an address that others reach needs a token; a request without it, or with another, is refused" {
    ! "$PYPROF" serve --listen 0.0.0.0:0 2>said.txt || fail "is served"
    grep -q -e '--token-file' said.txt || fail "$(cat said.txt)"
    ! "$PYPROF" serve --listen '[::]:0' 2>said.txt || fail "is served"
    ! "$PYPROF" serve --listen example.com:80 2>said.txt || fail "is served"
    ! "$PYPROF" serve --listen 127.0.0.1:99999 2>said.txt || fail "is served"
    echo short >token
    ! "$PYPROF" serve --token-file token 2>said.txt || fail "is served"
    ! "$PYPROF" serve --token-file missing 2>said.txt || fail "is served"
    echo 0123456789abcdef0123456789abcdef >token
    serve --listen 0.0.0.0:0 --token-file token
    URL=http://127.0.0.1:${URL##*:}
    [ "$(status /metrics)" = 401 ] || fail "$(cat body.txt)"
    for wrong in 'Bearer 0123456789abcdef0123456789abcdee' 'Bearer 0123456789abcdef' 'Bearer' 'Basic 0123456789abcdef0123456789abcdef' \
        'Bearer 0123456789abcdef0123456789abcdef0'; do
        [ "$(status /metrics -H "Authorization: $wrong")" = 401 ] || fail "accepted: $wrong"
    done
    right='Authorization: Bearer 0123456789abcdef0123456789abcdef'
    [ "$(status /metrics -H "$right")" = 200 ] || fail "$(cat body.txt)"
    # A name of the machine does no harm to requests that have a secret.
    [ "$(status /metrics -H "$right" -H 'Host: app.example:4040')" = 200 ] || fail "$(cat body.txt)"
}

@test "a port that is taken, a file in place of a directory, two directories: one line" {
    serve
    ! "$PYPROF" serve --listen "$AT" 2>said.txt || fail "is served"
    grep -q 'already in use' said.txt || fail "$(cat said.txt)"
    touch file
    ! "$PYPROF" serve file 2>said.txt || fail "is served"
    ! "$PYPROF" serve a b 2>said.txt || fail "is served"
    [ "$(wc -l <said.txt)" = 1 ]
}

@test "in a directory that all may write to, what another user wrote is not served" {
    [ "$(id -u)" = 0 ] || skip "only root can give a file away"
    LD_PRELOAD=$LIBPYPROF "$PYTHON" "$WORKLOADS/spin.py" 60 3>&- &
    PROGRAM=$!
    serve
    wait_until 60 runs 1 || fail "$(get /metrics)"
    wait_until 60 has_samples || fail "$(cat body.txt)"
    chmod 1777 pyprof.out
    chown 12345 pyprof.out/*.pyprof
    [ "$(status '/api/report.json?all')" = 404 ] || fail "$(cat body.txt)"
    kill "$SERVER"
    serve
    runs 0 || fail "$(get /metrics)"
}

@test "only GET and HEAD of HTTP/1, and nothing that is not well formed" {
    serve
    client strict
}

@test "a thousand connections that send nothing, half a request, or a byte now and then, keep no other client out" {
    serve
    client crowd
}

@test "clients that do not take their answers, or wait for long, keep no other client out" {
    begin 1 /cart
    serve
    wait_until 60 has_samples
    client unread
    client waiting
}

@test "memory after a thousand requests is that after ten" {
    begin 1 /cart
    serve
    wait_until 60 has_samples
    client memory "$SERVER"
}

@test "the directory vanishes and comes back; SIGKILL leaves no process and no port" {
    begin 1 /cart
    serve
    wait_until 60 has_samples
    end 1
    rm -r pyprof.out
    [ "$(status /flame)" = 404 ] || fail "$(cat body.txt)"
    [ "$(status /metrics)" = 200 ] || fail "$(cat body.txt)"
    rm orders
    begin 1 /again
    wait_until 60 has_line /again || fail "$(get /metrics)"
    status '/debug/pprof/profile?seconds=30' >status.txt 3>&- 5>&- &
    OTHER=$!
    kill -KILL "$SERVER"
    wait "$OTHER" || true
    [ -z "$(pgrep -P "$SERVER")" ]
    serve --listen "$AT"
    [ "$(status /flame)" = 200 ] || fail "$(cat body.txt)"
}

# raw SECONDS: what pprof makes of the endpoint, in SECONDS.txt.
raw() {
    PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -raw "$URL/debug/pprof/profile?seconds=$1" >"$1.txt" 2>"$1.err" 3>&- 5>&- || fail "$(cat "$1.err")"
}

# window SECONDS: sets FROM and TO, as --from and --to take them, and NS, the sum of the samples.
window() {
    read -r FROM TO NS < <(${READ%% *} - "$1.txt" <<'END'
import datetime, re, sys

text = open(sys.argv[1]).read()
day, clock, fraction = re.search(r"^Time: (\S+) (\d+:\d+:\d+)\.?(\d*) \+0000", text, re.M).groups()
duration = float(re.search(r"^Duration: ([0-9.]+)", text, re.M)[1])
end = datetime.datetime.fromisoformat(f"{day}T{clock}") + datetime.timedelta(seconds=duration)
lines = text.split("\nSamples:\n")[1].split("\nLocations\n")[0].splitlines()
at = [name.split("/")[0] for name in lines[0].replace("[dflt]", "").split()].index("cpu")
rows = [re.match(r" +((?:-?\d+ +)*-?\d+):", line) for line in lines[1:]]
fraction = f".{fraction}" if fraction else ""
print(f"{day}T{clock}{fraction}Z", f"{end.isoformat()}{fraction}Z", sum(int(row.group(1).split()[at]) for row in rows if row))
END
    )
}

@test "go tool pprof scrapes two windows at once: each is the report of its own time, and another client is served meanwhile" {
    need_go
    serve
    begin 2 /cart
    wait_until 60 has_samples
    raw 3 &
    OTHER=$!
    raw 2
    [ "$(status /metrics)" = 200 ]
    wait "$OTHER"
    for seconds in 2 3; do
        grep -qE "^Duration: $seconds(\$|[^.0-9])" $seconds.txt || fail "$(head -n 8 $seconds.txt)"
        # pprof would ask for what a mapping lacks.
        ! sed -n '/^Mappings/,$p' $seconds.txt | tail -n +2 | grep -vF '[FN]' || fail "not resolved"
        window $seconds
        "$PYPROF" report --json --all --from "$FROM" --to "$TO" >report.json 2>report.err
        [ "$NS" -gt 100000000 ] || fail "$NS in $seconds s"
        between $((NS - NS / 1000)) "$(reader field report.json shown_ns)" $((NS + NS / 1000)) "of $FROM to $TO"
    done
    cat <<'END' >headers.txt
content-type: application/octet-stream
x-content-type-options: nosniff
content-disposition: attachment; filename="profile"
END
    curl -s -D said.txt -o one.pb.gz "$URL/debug/pprof/profile?seconds=1"
    [ "$(grep -ciFf headers.txt said.txt)" = 3 ] || fail "$(cat said.txt)"
    ! grep -qi '^content-encoding' said.txt || fail "$(cat said.txt)"
}

@test "a window in which nothing ran is an empty profile" {
    need_go
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.2
    serve
    raw 1
    window 1
    [ "$NS" = 0 ] || fail "$(cat 1.txt)"
}

@test "contrib/prometheus: rules hold what their tests say, each expression parses, each metric is there" {
    need_promtool
    contrib=$ROOT/contrib/prometheus
    promtool check rules "$contrib/rules.yml" >said.txt 2>&1 || fail "$(cat said.txt)"
    promtool test rules "$contrib/rules_test.yml" >said.txt 2>&1 || fail "$(cat said.txt)"
    promtool check config "$contrib/prometheus.yml" >said.txt 2>&1 || fail "$(cat said.txt)"
    serve
    get /metrics >metrics.txt
    ${READ%% *} - "$contrib" metrics.txt <<'END' >dashboard.yml
import json, re, sys

contrib, metrics = sys.argv[1:]
there = set(re.findall(r"^# TYPE (\S+)", open(metrics).read(), re.M))
dashboard = json.load(open(contrib + "/dashboard.json"))
expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
assert len(expressions) >= 8 and all(panel["title"] for panel in dashboard["panels"])
queries = [variable["query"] for variable in dashboard["templating"]["list"]]
rules = open(contrib + "/rules.yml").read()
for text in [*expressions, *queries, rules]:
    for name in re.findall(r"(?<![\w:])pyprof_\w+", text):
        assert name in there, f"{name} is not in /metrics"
print("groups:\n  - name: dashboard\n    rules:")
for number, expression in enumerate(expressions):
    expression = expression.replace("$__rate_interval", "5m").replace("$job", "a").replace("$instance", "b")
    assert "$" not in expression, expression
    print(f"      - record: panel:{number}\n        expr: {json.dumps(expression)}")
END
    promtool check rules dashboard.yml >said.txt 2>&1 || fail "$(cat said.txt)"
}

@test "contrib/systemd/pyprof-serve.service as it is" {
    command -v systemd-analyze >/dev/null || skip "systemd-analyze is missing"
    mkdir units
    sed "s|=pyprof|=$PYPROF|" "$ROOT/contrib/systemd/pyprof-serve.service" >units/pyprof-serve.service
    SYSTEMD_UNIT_PATH=$PWD/units: systemd-analyze verify --man=no ./units/pyprof-serve.service >verify.txt 2>&1 || fail "$(cat verify.txt)"
    [ ! -s verify.txt ] || fail "$(cat verify.txt)"
}

@test "the page shows in a browser what runs, with its flame graph, and breaks no policy of its own" {
    browser=$(command -v chromium chromium-browser google-chrome | head -n 1)
    [ -n "$browser" ] || skip "chromium is missing"
    shown() {
        "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" --virtual-time-budget=5000 --enable-logging=stderr \
            --dump-dom "$URL/" >page.html 2>browser.log 3>&- 5>&-
    }
    serve
    shown
    ! grep -E "CONSOLE.*(Refused|frame)" browser.log || fail "the frame of an empty directory is broken"
    kill "$SERVER"
    begin 1 /cart
    serve
    wait_until 60 has_samples
    shown
    grep -q '1 process, [0-9.]* cores busy' page.html || fail "$(cat page.html)"
    grep -q '<td title="sampled">sampled</td><td [^>]*endpoints.py' page.html || fail "$(cat page.html)"
    ! grep CONSOLE browser.log || fail "the page has an error"
}

# bats test_tags=long
@test "Debian's Prometheus scrapes it with a token, and computes what the rules ask for" {
    need_promtool
    echo 0123456789abcdef0123456789abcdef >token
    serve --token-file token
    begin 1 /cart
    port=$(free_port "$PYTHON")
    sed "s|127.0.0.1:4040|$AT|; s|15s|1s|; s|# *authorization:|authorization:|; s|# *credentials_file:.*|  credentials_file: $PWD/token|" \
        "$ROOT/contrib/prometheus/prometheus.yml" >prometheus.yml
    cp "$ROOT/contrib/prometheus/rules.yml" .
    prometheus --config.file prometheus.yml --storage.tsdb.path data --web.listen-address "127.0.0.1:$port" >prometheus.log 2>&1 3>&- 5>&- &
    OTHER=$!
    asked() {
        curl -s -G "127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" | judge 'result = json.load(sys.stdin)["data"]["result"]
sys.exit(not result or float(result[0]["value"][1]) <= 0)'
    }
    for expression in 'up{job="pyprof"}' 'rate(pyprof_endpoint_cpu_seconds_total{endpoint="/cart"}[30s])' 'rate(pyprof_endpoint_requests_total{endpoint="/cart"}[30s])' \
        'pyprof_processes{state="running"}'; do
        wait_until 60 asked "$expression" || fail "$expression: $(tail -n 5 prometheus.log)"
    done
}

@test "as process 1 of a container it answers all paths, and SIGTERM ends it" {
    unshare -pf --mount-proc true 2>/dev/null || {
        [ -z "${CI:-}" ] || fail "unshare -p is refused"
        skip "unshare -p is refused"
    }
    profiled "$PYTHON" -c 'sum(i * i for i in range(3_000_000))'
    unshare -pf --mount-proc "$PYPROF" serve --listen 127.0.0.1:0 2>served.txt 3>&- &
    OTHER=$!
    wait_until 30 grep -q '^pyprof: http' served.txt || fail "$(cat served.txt)"
    URL=$(grep -o 'http://[^/]*' served.txt)
    [ "$(status /flame)" = 200 ] || fail "$(cat body.txt)"
    [ "$(status /api/report.json)" = 200 ] || fail "$(cat body.txt)"
    pkill -TERM -P "$OTHER"
    wait "$OTHER" || fail "it ended with status $?"
}
