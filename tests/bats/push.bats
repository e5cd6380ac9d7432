# pyprof push: windows of CPU time go to a server, each once, whatever happens to it, to the pusher or to the clock.
# lib/push_server.py takes and refuses what Pyroscope, an OpenTelemetry collector and Parca do; the real collector: (long).
load lib/helper

SERVER=$ROOT/tests/bats/lib/push_server.py

setup() {
    prepare
    unset "${!OTEL_@}" "${!POD_@}" "${!K8S_@}" NODE_NAME CONTAINER_NAME http_proxy HTTP_PROXY
    export no_proxy=127.0.0.1 OTEL_SERVICE_NAME=shop
    echo ok >mode
}

end_of_test() {
    for pid in ${SERVER_PID:-} ${PUSHER:-} ${PROGRAM:-}; do
        kill -9 "$pid" 2>/dev/null || true
    done
}

# serve [CERTIFICATE KEY]: sets PORT; a second time on the same one.
serve() {
    rm -f port
    PORT=${PORT:-0} /usr/bin/python3 "$SERVER" port taken mode "$@" 2>server.err 3>&- &
    SERVER_PID=$!
    wait_until 30 test -e port
    PORT=$(cat port)
    touch taken
}

# begin: a program with two workers that use CPU until there is a file "stop", or for END seconds.
begin() {
    cat >shop.py <<'PY'
import os, sys, time
def render():
    return sum(i * i for i in range(5000))
end = time.time() + float(sys.argv[1])
os.fork()
while time.time() < end and not os.path.exists("stop"):
    render()
    time.sleep(0.002)
if len(sys.argv) > 2:
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
PY
    LD_PRELOAD=$LIBPYPROF "$PYTHON" shop.py "$@" 3>&- &
    PROGRAM=$!
}

record() {
    begin "$@"
    wait "$PROGRAM"
    PROGRAM=
}

# shown: the CPU that report has, of all runs.
shown() {
    "$PYPROF" info --json --all pyprof.out | judge 'total = json.load(sys.stdin)["total"]
print(total["cpu_ns"] - total["own_ns"] - total["difference_ns"])'
}

# each_once: the CPU that the server has when what was sent twice, by its id, counts once; it is the same then.
each_once() {
    judge 'sums = {}
for line in map(json.loads, open("taken")):
    if line["status"] == 200:
        assert sums.setdefault(line["id"], line["sum"]) == line["sum"], line
print(sum(sums.values()))'
}

sum() {
    /usr/bin/python3 "$SERVER" sum taken "$@"
}

# same SUM EXPECTED
same() {
    between $(($2 - $2 / 1000)) "$1" $(($2 + $2 / 1000)) "${3:-sum of the windows}"
}

# push PROTOCOL [OPTIONS]: --once to the server, from pyprof.out.
push() {
    local protocol=$1
    shift
    "$(command -v timeout)" 100 /usr/bin/env PATH="${CURL_PATH:-$PATH}" "$PYPROF" push --once --to "$protocol+http://127.0.0.1:$PORT" "$@" pyprof.out 2>push.err
}

# refused STATUS PATTERN PROTOCOL [OPTIONS]: one line that matches; with status 0 another one says what was sent.
refused() {
    local wanted=$1 pattern=$2 status=0
    shift 2
    push "$@" || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status: $(cat push.err)"
    lines_of push.err $((wanted ? 1 : 2)) "$pattern"
}

# usage ARGUMENTS...: status 2 after one line.
usage() {
    ends_with 2 "$PYPROF" "$@" 2>usage.err || fail "$*"
    [ "$(wc -l <usage.err)" -eq 1 ] || fail "$(cat usage.err)"
}

# start_pusher: with windows of a second.
start_pusher() {
    mkdir -p pyprof.out
    "$PYPROF" push --window 1s --to "pyroscope+http://127.0.0.1:$PORT" pyprof.out 2>>pusher.err 3>&- &
    PUSHER=$!
}

stop_pusher() {
    kill -TERM "$PUSHER"
    wait "$PUSHER"
    PUSHER=
}

requests() {
    grep -c "\"status\": $1" taken || true
}

differ() {
    ! cmp -s "$1" "$2"
}

has_taken() {
    [ "$(requests 200)" -ge "$1" ]
}

@test "what was recorded is in the server once, to the nanosecond, of each protocol; the service and the pod have their names" {
    record 1.2
    serve
    wanted=$(shown)
    for protocol in pyroscope otlp parca; do
        : >taken
        POD_NAME=shop-1 POD_NAMESPACE=web OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=a%20b push $protocol --window 2s
        [ "$(sum shop)" = "$wanted" ] || fail "$protocol: $(sum shop), report has $wanted"
        grep -q 'shop-1' taken && grep -q '"a b"' taken && grep -q '"web"' taken || fail "$(cat taken)"
        grep -q '"sample_labels": \[\]' taken || fail "labels: $(cat taken)"
        grep -q '"render' taken || fail "no render: $(cat taken)"
        # another file of the same name, as compact leaves it, has nothing new
        for log in pyprof.out/*.pyprof; do
            cp -p "$log" copy
            mv copy "$log"
        done
        push $protocol
        [ "$(sum shop)" = "$wanted" ] || fail "$protocol: sent twice"
        lines_of push.err 1 "sent [0-9]+ windows? |nothing is new for $protocol"
    done
    "$PYPROF" serve --listen 127.0.0.1:0 pyprof.out 2>served.txt 3>&- &
    PUSHER=$!
    wait_until 30 grep -q http served.txt
    curl -sS "$(grep -o 'http://[^ ]*' served.txt)metrics" >metrics.txt
    seconds=$(printf '%d.%09d' $((wanted / 1000000000)) $((wanted % 1000000000)))
    grep -qxF "pyprof_push_cpu_seconds_total{target=\"otlp+http://127.0.0.1:$PORT\"} $seconds" metrics.txt || fail "$wanted: $(cat metrics.txt)"
    grep -qE "^pyprof_push_last_success_timestamp_seconds\{target=\"parca.*\"\} $(date +%s | cut -c 1-7)" metrics.txt || fail "$(cat metrics.txt)"
    "$PYPROF" push --status pyprof.out >status.txt
    [ "$(grep -c "last success .* sent$" status.txt)" -eq 3 ] || fail "$(cat status.txt)"
    PYPROF_OUT=$PWD/pyprof.out "$PYPROF" doctor >doctor.txt || true
    [ "$(grep -c '^ok   push ' doctor.txt)" -eq 3 ] || fail "$(cat doctor.txt)"
}

@test "labels and endpoints are series only if they are asked for; a script names its service" {
    unset OTEL_SERVICE_NAME
    serve
    mkdir pyprof.out
    cat >web.py <<'PY'
import ctypes, os, time
library = ctypes.CDLL(os.environ["LD_PRELOAD"].split(":")[0])
library.pyprof_labels(b"tenant-id=acme")
end = time.time() + 1
while time.time() < end:
    sum(range(1000))
PY
    profiled "$PYTHON" web.py
    push parca --labels
    grep -q '"tenant_id", "acme"' taken || fail "$(cat taken)"
    [ "$(sum web.py)" = "$(shown)" ]
    : >taken
    push pyroscope
    grep -q '"sample_labels": \[\]' taken || fail "$(cat taken)"
}

@test "a program that ends by its own signal: what its threads have used since their last samples is sent, too" {
    serve
    cat >pool.py <<'PY'
import signal, threading, time
def use():
    end = time.thread_time() + 0.024
    while time.thread_time() < end:
        pass
    time.sleep(60)
for _ in range(20):
    threading.Thread(target=use, daemon=True).start()
time.sleep(1.5)
signal.raise_signal(signal.SIGTERM)
PY
    profiled "$PYTHON" pool.py || [ $? -eq 143 ]
    push otlp
    [ "$(sum)" = "$(shown)" ] || fail "$(sum) of $(shown) ns"
}

@test "a server that is slower than windows end: what is used meanwhile is in windows of its time" {
    serve
    cat >short.py <<'PY'
import os, time
end = time.time() + 11
while time.time() < end:
    if not os.fork():
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        os._exit(0)
    time.sleep(0.6)
    os.waitpid(-1, os.WNOHANG)
PY
    echo slow 3 >mode
    mkdir -p pyprof.out
    start_pusher
    profiled "$PYTHON" short.py
    echo ok >mode
    stop_pusher
    push pyroscope --window 1s
    [ "$(sum)" = "$(shown)" ] || fail "$(sum) of $(shown) ns"
    /usr/bin/python3 - <<'PY'
import collections, json
of = collections.Counter()
for p in map(json.loads, open("taken")):
    if p["status"] == 200:
        of[p["time"], p["duration"]] += p["sum"]
worst = max(of, key=of.get)
assert of[worst] < worst[1] + 1e9, [(t - min(of)[0], d, n) for (t, d), n in sorted(of.items())]
PY
}

@test "while the program runs: windows meet, and have the CPU that the program used; SIGTERM sends the last" {
    serve
    begin 30
    start_pusher
    wait_until 30 has_taken 3
    # a second one does not send, too
    status=0
    push pyroscope || status=$?
    [ "$status" -eq 1 ] && grep -q "process $PUSHER pushes" push.err || fail "status $status: $(cat push.err)"
    touch stop
    wait "$PROGRAM"
    stop_pusher
    same "$(sum)" "$(shown)"
    [ "$(/usr/bin/python3 "$SERVER" windows taken)" -ge 3 ]
    [ ! -s pusher.err ] || fail "$(cat pusher.err)"
}

@test "kill -9 of the pusher and of the server, 500 and 429, cut answers: nothing is missing, what comes again has its id" {
    serve
    begin 60
    for mode in 500 "429 1" half drop ok; do
        echo "$mode" >mode
        start_pusher
        sleep 0.$((RANDOM % 9))
        kill -9 "$SERVER_PID"
        sleep 0.3
        serve
        sleep 0.$((RANDOM % 9))
        kill -9 "$PUSHER"
        wait "$PUSHER" || true
    done
    start_pusher
    before=$(requests 200)
    wait_until 60 has_taken $((before + 2))
    touch stop
    wait "$PROGRAM"
    stop_pusher
    same "$(each_once)" "$(shown)"
}

@test "an outage is said once, and its end; what was used meanwhile is sent in windows of its time" {
    PORT=$(free_port /usr/bin/python3)
    begin 60
    start_pusher
    wait_until 30 grep -q "Connection refused\|connect" pusher.err
    sleep 2.5
    serve
    wait_until 60 has_taken 3
    touch stop
    wait "$PROGRAM"
    stop_pusher
    lines_of pusher.err 2 'takes profiles again'
    same "$(sum)" "$(shown)"
    [ "$(/usr/bin/python3 "$SERVER" windows taken)" -ge 3 ]
    [ "$(requests 400)" -eq 0 ]
}

# is_sent: the server has what the logs have.
is_sent() {
    [ "$(each_once)" = "$(shown)" ]
}

has_refused() {
    [ "$(requests 500)" -ge "$1" ]
}

@test "logs that begin and end while a server is away for minutes are sent, also by a pusher that begins meanwhile" {
    gcc -O1 -shared -fPIC -o set_clock.so "$WORKLOADS/lib/set_clock.c"
    serve
    for restarted in "" restarted; do
        rm -rf pyprof.out ahead taken
        touch taken
        echo 500 >mode
        record 0.5
        sleep 2.5 # windows that nothing ends in
        SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so start_pusher
        wait_until 30 has_refused 1
        [ -z "$restarted" ] || kill -9 "$PUSHER"
        record 0.5
        if [ -n "$restarted" ]; then
            refusals=$(requests 500)
            SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so start_pusher
            wait_until 30 has_refused $((refusals + 1))
        fi
        echo 300 >ahead
        echo ok >mode
        wait_until 30 is_sent || fail "${restarted:-not restarted}: $(each_once) of $(shown) ns"
        stop_pusher
        [ "$(each_once)" = "$(shown)" ] || fail "${restarted:-not restarted}: $(each_once), report has $(shown) ns"
    done
}

@test "logs that are removed before they were sent are counted, those that were found while a server is away too" {
    serve
    echo 500 >mode
    start_pusher
    record 0.5
    wait_until 30 has_refused 1
    record 0.5
    wait_until 60 has_refused $(($(requests 500) + 2))
    find pyprof.out -name '*.pyprof' -printf '%T@ %p\n' | sort -n | tail -n 2 | cut -d ' ' -f 2 | xargs rm
    wait_until 60 has_refused $(($(requests 500) + 2))
    echo ok >mode
    wait_until 60 has_taken 1
    stop_pusher
    [ "$(each_once)" = "$(shown)" ] || fail "$(each_once) of $(shown) ns"
    "$PYPROF" push --status pyprof.out >status.txt
    grep -q 'lost: 2 logs, .* removed before they were sent' status.txt || fail "$(cat status.txt)"
}

@test "a signal that ends the pusher and its group leaves the request that is on its way" {
    serve
    record 0.5
    echo slow 2 >mode
    start_pusher
    wait_until 30 pgrep -P "$PUSHER" curl
    for signal in TERM INT HUP; do
        pkill "-$signal" -P "$PUSHER" curl
    done
    wait_until 30 has_taken 1
    stop_pusher
    [ ! -s pusher.err ] || fail "$(cat pusher.err)"
}

@test "what a server answers is told in one line with what to do; what it will take later stays" {
    record 1
    serve
    wanted=$(shown)
    for protocol in pyroscope otlp parca; do
        echo token x >mode
        refused 1 "invalid token; check the token" $protocol
        PYPROF_PUSH_HEADERS='Authorization=Bearer%20y' refused 1 "401" $protocol
    done
    "$PYPROF" push --status pyprof.out >status.txt
    [ "$(grep -c "up to [1-9].* of logs wait" status.txt)" -eq 3 ] || fail "$(cat status.txt)"
    echo 404 >mode
    refused 1 "404 .*another kind of server" pyroscope
    echo page >mode
    refused 1 "another kind of server" otlp
    echo moved >mode
    refused 1 "301 .*http://127.0.0.1:1/elsewhere" parca
    echo never >mode
    push otlp --timeout 1s & waiting=$!
    wait_until 30 grep -q "timed out.*tried again, for 60 s at most" push.err
    kill -9 "$waiting"
    wait "$waiting" || true
    # nothing of it is lost
    for protocol in pyroscope otlp parca; do
        : >taken
        echo token x >mode
        printf '# ours\nAuthorization: Bearer x\n' >headers
        push $protocol --headers headers
        [ "$(sum)" = "$wanted" ] || fail "$protocol: $(sum) of $wanted: $(cat push.err)"
    done
}

@test "what was sent is compacted by the pusher; what was not stays, whoever compacts" {
    record 0.5
    serve
    push otlp
    touch -d '2 hours ago' pyprof.out/*.pyprof
    # as if it had grown since
    logs=(pyprof.out/*.pyprof)
    sent=${logs[0]}
    cp -p "$sent" whole
    head -c -1 whole >shorter
    /usr/bin/python3 - pyprof.out/push-*.state "$sent" "$(stat -c %s shorter)" <<'PY'
import os, re, sys, zlib
text, name = open(sys.argv[1]).read(), os.path.basename(sys.argv[2])
text = re.sub(r"(?m)^file .* %s\n" % re.escape(name), "", text)
text = text[: text.index("\nend ") + 1] + "file %s %s %d %s\n" % (sys.argv[3], sys.argv[3], os.stat(sys.argv[2]).st_ino, name)
open(sys.argv[1], "w").write(text + "end %08x\n" % zlib.crc32(text.encode()))
PY
    "$PYPROF" compact pyprof.out 2>said.txt
    grep -q "1 file stays until 'pyprof push' has sent it" said.txt || fail "$(cat said.txt)"
    cmp whole "$sent"
    "$PYPROF" push --window 1s --to "otlp+http://127.0.0.1:$PORT" pyprof.out 2>pusher.err 3>&- &
    PUSHER=$!
    wait_until 30 differ whole "$sent"
    stop_pusher
    [ "$(each_once)" = "$(shown)" ] || fail "$(each_once), report has $(shown)"
}

has_state() {
    compgen -G 'pyprof.out/push-*.state' >state.txt
}

@test "a window that was late, then a compaction, or a copy that grows: nothing is sent twice" {
    gcc -O1 -shared -fPIC -o set_clock.so "$WORKLOADS/lib/set_clock.c"
    serve
    # What ends while the logs are read, or by a clock that is slow, is in a window that ends before it.
    record 1
    echo -2 >ahead
    SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so push pyroscope
    [ "$(sum)" = "$(shown)" ] || fail "$(sum) of $(shown) ns"
    record 1
    SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so push pyroscope
    echo 7200 >ahead
    SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so "$PYPROF" compact pyprof.out 2>compact.err
    grep -q 'compacted 4 files' compact.err || fail "$(cat compact.err)"
    push pyroscope
    [ "$(sum)" = "$(shown)" ] || fail "after a compaction: $(sum) of $(shown) ns"
    echo -2 >ahead
    begin 60
    wait_until 30 has_shown_more
    SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so push pyroscope
    touch stop
    wait "$PROGRAM"
    find pyprof.out -name '*.pyprof' -newer compact.err | while read -r log; do
        cp "$log" copy
        mv copy "$log"
    done
    push pyroscope
    [ "$(sum)" = "$(shown)" ] || fail "after a copy: $(sum) of $(shown) ns"
}

@test "a compaction while a window is not taken, and a pusher that is killed twice: nothing is sent twice" {
    gcc -O1 -shared -fPIC -o set_clock.so "$WORKLOADS/lib/set_clock.c"
    serve
    record 1
    push pyroscope
    echo 500 >mode
    record 0.5
    start_pusher
    wait_until 30 has_refused 1
    kill -9 "$PUSHER"
    echo 7200 >ahead
    SET_CLOCK_FILE=ahead LD_PRELOAD=$PWD/set_clock.so "$PYPROF" compact pyprof.out 2>compact.err
    grep -q 'compacted 2 files' compact.err || fail "$(cat compact.err)"
    for _ in 1 2; do
        refusals=$(requests 500)
        start_pusher
        wait_until 30 has_refused $((refusals + 1))
        kill -9 "$PUSHER"
    done
    echo ok >mode
    push pyroscope
    [ "$(sum)" = "$(shown)" ] || fail "$(sum) of $(shown) ns"
}

has_shown_more() {
    [ "$(shown)" -gt $(($(sum) + 50000000)) ]
}

@test "what a pusher that has just begun has yet to send stays, also if its state is damaged" {
    record 0.3
    touch -d '2 hours ago' pyprof.out/*.pyprof
    logs=(pyprof.out/*.pyprof)
    cp -p "${logs[0]}" whole
    "$PYPROF" push --window 600s --to otlp+http://127.0.0.1:9 pyprof.out 2>pusher.err 3>&- &
    PUSHER=$!
    wait_until 10 has_state # it waits for up to a window before it reads
    kill -9 "$PUSHER"
    wait "$PUSHER" || true
    PUSHER=
    "$PYPROF" compact pyprof.out 2>said.txt
    lines_of said.txt 1 "until 'pyprof push' has sent .*remove $(cat state.txt) "
    echo damaged >"$(cat state.txt)"
    "$PYPROF" compact pyprof.out 2>said.txt
    lines_of said.txt 1 "$(cat state.txt), which is damaged, or another user's"
    cmp whole "${logs[0]}"
    rm "$(cat state.txt)"
    "$PYPROF" compact pyprof.out 2>said.txt
    lines_of said.txt 1 'compacted [0-9]+ file'
}

@test "what a server says it has taken is not sent again, though its answer never ends" {
    record 0.5
    serve
    for protocol in pyroscope otlp parca; do
        : >taken
        echo endless >mode
        push $protocol --timeout 1s
        echo ok >mode
        push $protocol
        [ "$(sum)" = "$(shown)" ] || fail "$protocol: $(sum), report has $(shown)"
    done
}

@test "what push needs does not grow with the logs, and little with their number" {
    serve
    # used PROCESSES INTERVALS: KB at most, for windows of the same length
    used() {
        mkdir pyprof.out
        "$BUILD/bench/grow_logs" pyprof.out "$1" "$2" 10 >ready 3>&- &
        PROGRAM=$!
        wait_until 60 grep -q ready ready
        kill -9 "$PROGRAM"
        /usr/bin/python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$PYPROF" push --once --window 10s --to "otlp+http://127.0.0.1:$PORT" pyprof.out 2>push.err
        rm -r pyprof.out ready
    }
    short=$(used 50 300)
    long=$(used 50 3000)
    many=$(used 200 300)
    [ "$long" -lt $((short * 5 / 4)) ] && [ "$many" -lt $((short * 2)) ] || fail "$short KB, ten times as long $long KB, four times as many $many KB"
}

@test "a window that is refused is given up and counted, a large one is divided" {
    record 1
    cp -r pyprof.out again
    serve
    wanted=$(shown)
    echo smaller 2 >mode
    push pyroscope
    [ "$(sum)" = "$wanted" ] && [ "$(requests 413)" -gt 0 ] || fail "$(sum) of $wanted: $(cat push.err)"
    echo 400 >mode
    refused 1 "400 .*as the test wants it; this window is given up" parca
    echo partial >mode
    refused 1 "too small; this window is given up" otlp
    "$PYPROF" push --status pyprof.out >status.txt
    ! grep "logs wait" status.txt || fail "nothing waits"
    [ "$(grep -c "1 window .* lost: refused" status.txt)" -eq 2 ] || fail "$(cat status.txt)"
    # Those that fail are first.
    record 0.5
    echo ok >mode
    push otlp
    "$PYPROF" push --status pyprof.out >status.txt
    [ "$(grep -v '^ ' status.txt | cut -d + -f 1 | tr '\n' ' ')" = "parca otlp pyroscope " ] || fail "$(cat status.txt)"
}

@test "--status says whose a state is, whether a pusher runs for it, and what to remove of a URL that was mistyped" {
    ! "$PYPROF" push --status missing >status.txt 2>push.err || fail "status 0: $(cat status.txt)"
    lines_of push.err 1 '^pyprof: missing: No such file or directory$'
    serve
    start_pusher
    has_pushed() {
        grep -q "process $PUSHER pushes to it; its state is in pyprof.out/push-.*\\.state\$" <("$PYPROF" push --status pyprof.out)
    }
    wait_until 30 has_pushed
    "$PYPROF" push --status --json pyprof.out >status.json
    [ "$(jq -r '.states[0].pusher_pid, .states[0].target' status.json | tr '\n' ' ')" = "$PUSHER pyroscope+http://127.0.0.1:$PORT " ] || fail "$(cat status.json)"
    stop_pusher
    record 0.3
    ! timeout 3 "$PYPROF" push --once --timeout 1s --to otlp+http://127.0.0.1:1/wrong pyprof.out 2>push.err || fail "$(cat push.err)"
    "$PYPROF" push --status pyprof.out >status.txt
    [ "$(grep -c 'no process pushes to it' status.txt)" = 2 ] || fail "$(cat status.txt)"
    [ "$("$PYPROF" push --status --json pyprof.out | jq '[.states[] | select(.pusher_pid)] | length')" = 0 ]
    eval "$(grep -A1 '^otlp.*/wrong: ' status.txt | sed -n 's/.* to forget it: //p')"
    "$PYPROF" push --status pyprof.out >status.txt
    lines_of status.txt 2 "^pyroscope"
    usage push --json --to "pyroscope+http://127.0.0.1:$PORT"
}

@test "a token is neither in curl's arguments nor in its environment" {
    record 1
    serve
    mkdir bin
    printf '#!/bin/sh\n{ echo "$@"; env; } >>%s/seen\nexec %s "$@"\n' "$PWD" "$(command -v curl)" >bin/curl
    chmod +x bin/curl
    CURL_PATH=$PWD/bin:$PATH PYPROF_PUSH_HEADERS='Authorization=Bearer%20hidden' push pyroscope
    grep -q 'Bearer hidden' taken || fail "$(cat taken)"
    [ -s seen ] && ! grep -qi 'hidden' seen || fail "$(cat seen)"
    rm bin/curl
    CURL_PATH=$PWD/bin refused 1 "install curl" otlp
}

@test "a wrong command line is refused with status 2" {
    PORT=1
    mkdir pyprof.out
    for url in http://a pyroscope+ftp://a otlp+http://a:99999 pyroscope+http://u:p@a ""; do
        usage push --to "$url"
    done
    usage push
    usage run --push http://a -- true
    grep -q -- "--push takes .*, not 'http://a'" usage.err || fail "$(cat usage.err)"
    usage push --to http://u:secret@a
    ! grep secret usage.err || fail "a password is said"
    PYPROF_PUSH_HEADERS=nothing refused 2 "PYPROF_PUSH_HEADERS is not" otlp
    PYPROF_PUSH_HEADERS='a=b%0ac: d' refused 2 "PYPROF_PUSH_HEADERS is not" otlp
    refused 2 "missing: No such file" otlp --headers missing
    refused 1 "no profiles there" pyroscope
    rm -r pyprof.out
    refused 1 "No such file" pyroscope
}

@test "a damaged or planted state is told, the last one holds, and nothing is sent twice" {
    record 0.5
    serve
    push pyroscope
    record 0.5
    push pyroscope
    state=$(echo pyprof.out/push-*.state)
    sed -i 's/^sent .*/sent 9 9/' "$state"
    before=$(requests 200)
    refused 0 "is damaged" pyroscope
    # the state before it does not know of the last window
    [ "$(each_once)" = "$(shown)" ] || fail "$(each_once), report has $(shown)"
    [ "$(requests 200)" -le $((before + 1)) ]
    rm "$state"*
    echo kept >target
    ln -s "$PWD/target" "$state"
    refused 0 "is damaged, or not ours" pyroscope
    [ "$(cat target)" = kept ] && [ ! -L "$state" ]
}

# set_until SECONDS [forget]: in the state, from now on; without its files.
set_until() {
    /usr/bin/python3 - "$1" pyprof.out/push-*.state "${2:-}" <<'PY'
import re, sys, time, zlib
text = open(sys.argv[2]).read()
if sys.argv[3]:
    text = re.sub("(?m)^file .*\n", "", text)
text = re.sub(r"until \d+", "until %d" % ((time.time() + float(sys.argv[1])) * 1e9), text)
text = text[: text.index("\nend ") + 1]
open(sys.argv[2], "w").write(text + "end %08x\n" % zlib.crc32(text.encode()))
PY
}

@test "the clock is set back or forward: everything is sent once, in time that the server takes" {
    record 0.5
    serve
    push pyroscope
    set_until 3000
    record 0.5
    refused 0 "clock was set back" pyroscope
    [ "$(sum)" = "$(shown)" ] || fail "$(sum), report has $(shown)"
    set_until -6000
    record 0.5
    push pyroscope
    [ "$(sum)" = "$(shown)" ] || fail "$(sum), report has $(shown)"
    [ "$(requests 400)" -eq 0 ]
}

@test "what is too old for Pyroscope is counted and told once; others take it, in windows of its time" {
    mkdir pyprof.out
    "$BUILD/bench/make_logs" pyprof.out 2 1 >made.txt
    serve
    push pyroscope
    [ "$(requests 200)" -eq 0 ]
    set_until -99999999 forget
    refused 0 "nothing older than 55 minutes" pyroscope
    "$PYPROF" push --status pyprof.out >status.txt
    grep -q "lost: too old" status.txt || fail "$(cat status.txt)"
    push otlp --window 10s
    same "$(sum)" "$(shown)"
}

@test "a certificate that does not fit is told; with its authority it is taken" {
    command -v openssl || skip "no openssl"
    record 0.5
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 2>openssl.err
    serve cert.pem key.pem
    url="otlp+https://127.0.0.1:$PORT"
    status=0
    "$PYPROF" push --once --to "$url" pyprof.out 2>push.err || status=$?
    [ "$status" -eq 1 ] && lines_of push.err 1 'certificate.*CURL_CA_BUNDLE'
    CURL_CA_BUNDLE=cert.pem "$PYPROF" push --once --to "$url" pyprof.out
    [ "$(sum)" = "$(shown)" ]
}

@test "pyprof run --push sends the run and its last window; the command does not see the token" {
    serve
    PYPROF_PUSH_HEADERS=x-scope-orgid=t1 "$PYPROF" run --push "pyroscope+http://127.0.0.1:$PORT" -- "$PYTHON" -c 'import os, time
end = time.time() + 1
while time.time() < end:
    sum(range(1000))
print(os.environ.get("PYPROF_PUSH_HEADERS"))' >out.txt 2>err.txt
    [ "$(cat out.txt)" = None ]
    grep -q '"X-Scope-OrgID": "t1"' taken || fail "$(cat taken)"
    [ "$(sum)" = "$(shown)" ] || fail "$(sum), report has $(shown): $(cat err.txt)"
    [ -z "$(find pyprof.out -name '*.state*')" ]
    # without a server the command is as without us, and what was not sent is in the logs
    kill -9 "$SERVER_PID"
    ends_with 7 "$PYPROF" run --push "pyroscope+http://127.0.0.1:$PORT" -- "$PYTHON" -c 'import sys; sum(range(9000000)); sys.exit(7)' 2>err.txt || fail "$(cat err.txt)"
}

@test "contrib: the unit, the side-car and the compose file are what systemd, Kubernetes and Docker take, with commands that there are" {
    sed "s,/usr/local/bin/pyprof,$PYPROF," "$ROOT/contrib/systemd/pyprof-push@.service" >pyprof-push@.service
    if command -v systemd-analyze; then
        systemd-analyze verify ./pyprof-push@app.service 2>verify.txt || ! grep 'pyprof-push' verify.txt || fail "$(cat verify.txt)"
        ! grep 'pyprof-push.*\(Unknown\|rror\)' verify.txt || fail "$(cat verify.txt)"
    fi
    serve
    record 0.5
    venv=$("$ROOT/tests/venv.sh" "$VENVS/yaml" /usr/bin/python3 pyyaml) || skip "no PyYAML"
    "$venv/bin/python" - "$ROOT/contrib" "$PYPROF" "$PORT" <<'PY'
import re, subprocess, sys, yaml
contrib, pyprof, port = sys.argv[1:]
pod = yaml.safe_load(open(contrib + "/kubernetes/pod.yaml"))["spec"]
(sidecar,) = yaml.safe_load(open(contrib + "/kubernetes/push.yaml"))["spec"]["initContainers"]
mounts = {m["mountPath"]: m["name"] for c in pod["containers"] for m in c["volumeMounts"]}
(mount,) = sidecar["volumeMounts"]
assert mounts[mount["mountPath"]] == mount["name"], mounts
assert sidecar["restartPolicy"] == "Always" and sidecar["securityContext"] == pod["containers"][0]["securityContext"]
services = yaml.safe_load(open(contrib + "/pyroscope/compose.yaml"))["services"]
dockerfile = open(contrib + "/docker/Dockerfile").read()
for service in services.values():
    assert "build" not in service or re.search(r" AS %s\n" % service["build"]["target"], dockerfile), service
unit = re.search(r"ExecStart=\S+ (.*)", open(contrib + "/systemd/pyprof-push@.service").read()).group(1)
for command in sidecar["args"], services["push"]["command"], unit.split():
    words = [re.sub(r"^(\w+\+http://).*|^\$.*", lambda m: (m.group(1) or "otlp+http://") + "127.0.0.1:" + port, w) for w in command]
    words[-1] = "pyprof.out"
    subprocess.run([pyprof, words[0], "--once", *words[1:]], check=True)
PY
    has_taken 2
}

# bats test_tags=long
@test "a real OpenTelemetry collector takes what is pushed, and has its sum, times and names" {
    command -v go || skip "no go"
    collector=$("$ROOT/tests/collector.sh" "$BUILD/collector" 2>collector.err 3>&-) || skip "the collector cannot be built: $(cat collector.err)"
    record 1.2
    PORT=$(free_port /usr/bin/python3)
    cat >collector.yaml <<END
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$PORT"}}}}
exporters: {file: {path: ./profiles.json}}
service: {telemetry: {metrics: {level: none}}, pipelines: {profiles: {receivers: [otlp], exporters: [file]}}}
END
    "$collector" --config collector.yaml --feature-gates=service.profilesSupport >collector.log 2>&1 3>&- &
    SERVER_PID=$!
    wait_until 60 grep -q 'Everything is ready' collector.log
    POD_NAME=shop-1 push otlp --window 1s
    kill -TERM "$SERVER_PID"
    wait "$SERVER_PID"
    SERVER_PID=
    /usr/bin/python3 - "$(shown)" <<'PY'
import json, sys, time
total = windows = 0
for line in open("profiles.json"):
    data = json.loads(line)
    strings = data["dictionary"]["stringTable"]
    for resource in data["resourceProfiles"]:
        keys = {strings[int(a["keyStrindex"])] if "keyStrindex" in a else a["key"]: a["value"] for a in resource["resource"]["attributes"]}
        texts = {k: v["stringValue"] if "stringValue" in v else strings[int(v["stringValueStrindex"])] for k, v in keys.items()}
        assert texts["service.name"] == "shop" and texts["k8s.pod.name"] == "shop-1", texts
        for profile in (p for s in resource["scopeProfiles"] for p in s["profiles"]):
            assert strings[int(profile["sampleType"]["typeStrindex"])] == "cpu", profile["sampleType"]
            assert abs(time.time() - int(profile["timeUnixNano"]) / 1e9) < 100 and int(profile["durationNano"]) > 4e8
            assert len(profile["profileId"]) == 32
            total += sum(int(v) for s in profile["samples"] for v in s["values"])
            windows += 1
assert windows and total == int(sys.argv[1]), (windows, total, sys.argv[1])
PY
}

# bats test_tags=long
@test "a day in minutes, beside compact: the server has each nanosecond once, and windows meet but where the clock was set" {
    gcc -O1 -shared -fPIC -o set_clock.so "$WORKLOADS/lib/set_clock.c"
    serve
    written=$(/usr/bin/python3 "$ROOT/tests/bats/lib/day.py" "$PYPROF" "$PWD/set_clock.so" "otlp+http://127.0.0.1:$PORT")
    [ "$(each_once)" = "$written" ] && [ "$(shown)" = "$written" ] || fail "$(each_once) of $written, report has $(shown)"
    [ "$(/usr/bin/python3 "$SERVER" breaks taken)" -eq 2 ] || fail "$(/usr/bin/python3 "$SERVER" breaks taken) breaks"
}
