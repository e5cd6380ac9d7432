# Views and exports of the samples of traces that PYPROF_TRACES kept. What is known before comes from a made log
# (tests/web/logs.py); what readers of OpenTelemetry and pprof see is compared with the log's own records.
load lib/helper

made() {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" traces "$@"
}
CART=4bf92f3577b34da6a3ce929d0e0e4736
SEARCH=4bf92f3577b34da6ffffffffffffffff

@test "report --trace: one trace over two services, its spans with their times, in 80 columns" {
    made logs
    "$PYPROF" report --trace 4BF92F3577B34DA6A logs >report.txt
    grep -qxF "Trace $CART" report.txt || fail "$(cat report.txt)"
    grep -A1 -F '10 samples of 0.10 s CPU in 2 processes and 3 threads; the first after 0.100 s' report.txt |
        grep -qF 'the last 0.060 s later' || fail "$(cat report.txt)"
    grep -qE '^ +0\.04 s +40\.0 % +4 +0\.000 s +0\.030 s  00f067aa0ba902b7  GET /cart$' report.txt || fail "$(cat report.txt)"
    grep -qE '^ +0\.04 s +40\.0 % +4 +0\.020 s +0\.050 s  00f067aa0ba902b9  GET /stock$' report.txt || fail "$(cat report.txt)"
    grep -qE '^ +0\.02 s +20\.0 % +2 +0\.050 s +0\.060 s  00f067aa0ba902b8  render$' report.txt || fail "$(cat report.txt)"
    grep -qxF 'Selected: 0.10 s of 2.14 s CPU; shares are of what is selected' report.txt || fail "$(cat report.txt)"
    ! grep -F search report.txt || fail "another trace's"
    grep -qxF 'Few samples: what is shown as 50 % may be 24 to 76 % (--ci: of each row)' report.txt || fail "$(cat report.txt)"
    [ "$(awk '{ if (length > longest) longest = length } END { print longest }' report.txt)" -le 80 ] || fail "$(cat report.txt)"
    "$PYPROF" report --trace $SEARCH --from 1.115 logs >one.txt
    grep -qxF 'One sample represents 10 ms of CPU: this trace may have used far less, or more' one.txt || fail "$(cat one.txt)"
    "$PYPROF" report --json --trace ${CART:0:20} logs | judge '
report = json.load(sys.stdin)
trace = report["trace"]
assert trace["trace_id"] == sys.argv[1] and trace["cpu_ns"] == report["shown_ns"] == 100000000, trace
assert trace["last_unix_ns"] - trace["first_unix_ns"] == 60000000 and trace["processes"] == 2, trace
assert [(s["span_id"][-2:], s["name"], s["samples"]) for s in trace["spans"]] == [
    ("b7", "GET /cart", 4), ("b9", "GET /stock", 4), ("b8", "render", 2)], trace
assert sum(s["cpu_ns"] for s in trace["spans"]) == trace["cpu_ns"]' "$CART"
}

@test "an id that is of no trace, of several, or none: one line that says what to do" {
    made logs
    run "$PYPROF" report --trace 4bf92f35 logs
    [ "$status" -eq 1 ] && [ "$output" = "pyprof: --trace 4bf92f35: 2 traces begin with it; give more digits of: $CART, $SEARCH" ] ||
        fail "$status $output"
    run "$PYPROF" flame -o x.html --trace abc logs
    [ "$status" -eq 1 ] && [[ $output == "pyprof: --trace abc: none of the 2 traces that were kept; "*"'pyprof report --by trace'"* ]] ||
        fail "$status $output"
    for id in '' xyz "${CART}0"; do
        run "$PYPROF" export --format pprof --trace "$id" logs
        [ "$status" -eq 2 ] && [[ $output == "pyprof: --trace takes a trace id, 32 hexadecimal digits, or its beginning, not '$id'" ]] ||
            fail "$status $output"
    done
    /usr/bin/python3 "$ROOT/tests/web/logs.py" example plain.pyprof
    for view in "report --trace a" "report --by trace" "export --format pprof --traces"; do
        # shellcheck disable=SC2086 # words
        run "$PYPROF" $view plain.pyprof
        [ "$status" -eq 1 ] && [[ $output == "pyprof: no traces were kept: "*PYPROF_TRACES=0.01* ]] || fail "$view: $status $output"
    done
}

@test "PYPROF_TRACES without any trace: report, info and doctor say why" {
    local text=("the program has imported none of the OpenTelemetry SDK, Sentry and ddtrace, and nothing publishes a thread context"
        "spans of OpenTelemetry 9.0 (unknown) cannot be read" "no sample was in a span of a trace that is kept")
    for kind in 0 1 2; do
        mkdir "$kind"
        /usr/bin/python3 "$ROOT/tests/web/logs.py" untraced "$kind/log.pyprof" "$kind"
        "$PYPROF" report --full "$kind" >report.txt
        unwrapped <report.txt | grep -F "Warning: PYPROF_TRACES=0.5: " | grep -qF "${text[kind]}" || fail "$(cat report.txt)"
        "$PYPROF" info "$kind" >info.txt
        unwrapped <info.txt | grep -F "PYPROF_TRACES=0.5: " | grep -qF "${text[kind]}" || fail "$(cat info.txt)"
        ! grep -F 'samples of traces are kept' info.txt || fail "$(cat info.txt)"
        PYPROF_OUT=$kind "$PYPROF" doctor >doctor.txt || true
        [ "$kind" -eq 2 ] || tr -s ' \n' ' ' <doctor.txt | grep -F "warn profile PYPROF_TRACES=0.5: " | grep -qF "${text[kind]}" || fail "$(cat doctor.txt)"
        [ "$kind" -ne 2 ] || ! grep -F 'PYPROF_TRACES=0.5: no' doctor.txt || fail "$(cat doctor.txt)"
    done
    made logs
    for view in report info; do
        ! "$PYPROF" $view logs | grep -F 'PYPROF_TRACES=0.01: no ' || fail "$("$PYPROF" $view logs)"
    done
}

@test "what report --by trace says to type next is of traces, too" {
    made logs
    "$PYPROF" report --by trace logs | sed -n '/^Next:/,$p' >next.txt
    grep -qF "pyprof flame --trace $CART logs" next.txt || fail "$(cat next.txt)"
    ! grep -F 'pyprof annotate' next.txt || fail "$(cat next.txt)"
    "$PYPROF" report --by trace --trace $CART logs | grep -qE "pyprof flame --trace $CART logs( |$)"
    "$PYPROF" report --trace $CART logs | grep -qF "pyprof annotate app.py --trace $CART logs"
}

@test "report --by trace lists the traces; report names the costliest" {
    made logs
    "$PYPROF" report --by trace logs >report.txt
    grep -qE "^ +0\.10 s +76\.9 % +10  $CART  GET /cart +40 % cart" report.txt || fail "$(cat report.txt)"
    grep -qE "^ +0\.03 s +23\.1 % +3  $SEARCH  GET /search +100 % search" report.txt || fail "$(cat report.txt)"
    few='One sample represents 10 ms of CPU: traces with few samples may have used far less, or more'
    unwrapped <report.txt | grep -qF "$few" || fail "$(cat report.txt)"
    ! "$PYPROF" report --by trace --trace $CART logs | unwrapped | grep -F "$few" || fail "10 samples are few"
    "$PYPROF" report --json --by trace logs | judge '
assert [row["name"] for row in json.load(sys.stdin)["by"]] == ["GET /cart", "GET /search"]'
    # on a narrow terminal the id, which --trace takes, is whole
    for columns in 75 80 100; do
        /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" $columns "$PYPROF" report --by trace logs |
            sed 's/\x1b\[[0-9;]*[mK]//g; s/\r$//; s/.*\r//' >screen.txt
        grep -qE "^ +0\.10 s +76\.9 % +10  $CART  GET /cart" screen.txt || fail "$columns: $(cat screen.txt)"
        ! grep -E ".{$((columns + 1))}" screen.txt || fail "wider than $columns"
    done
    # the endpoint says more than a span within it, or of another service that was sampled earlier
    PYTHONPATH="$ROOT/tests/web" /usr/bin/python3 -c '
import logs
log = logs.Log()
log.traces = "1"
for i, labels in enumerate(((("span", "read"),), (("span", "GET"), ("endpoint", "/cart/{id}")), ())):
    log.trace((logs.CART, f"{i:016x}"), 100000000 + 10000000 * i, "MainThread", [logs.python("cart")], 10000000, labels)
log.trace((logs.SEARCH, "0" * 15 + "1"), 100000000, "MainThread", [logs.python("cart")], 10000000)
log.write("named.pyprof")'
    "$PYPROF" report --by trace named.pyprof >report.txt
    grep -qF " $CART  /cart/{id} " report.txt && grep -qF " $SEARCH  (none) " report.txt || fail "$(cat report.txt)"
    "$PYPROF" report logs >report.txt
    grep -qE "^      pyprof report --trace $CART logs" report.txt || fail "$(cat report.txt)"
    made only 1
    "$PYPROF" report only >report.txt
    grep -A1 -F '2.00 s are [not selected] by PYPROF_TRACES=0.01,only' report.txt >/dev/null || fail "$(cat report.txt)"
    grep -qE '2\.00 s +93\.3 % +200  \[not selected\] +100 % ' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report --by span only >report.txt
    grep -qE '^ +2\.00 s +93\.3 % +200  \[not selected\]' report.txt || fail "$(cat report.txt)"
    "$PYPROF" top --count 1 --by span only >top.txt
    grep -qE '^ +93\.3 % +2\.00 s  \[not selected\]' top.txt && grep -qE '^ +0\.7 % +0\.01 s  \(none\)' top.txt || fail "$(cat top.txt)"
    "$PYPROF" export --format collapsed --by span only >stacks.txt
    grep -qxF '[not selected];[not selected] 2000000000' stacks.txt && grep -qxF '(none);[unsampled] 14000002' stacks.txt || fail "$(cat stacks.txt)"
    "$PYPROF" diff --json --by span only only | judge '
values = {v["value"]: v["self_ns"][0] for v in json.load(sys.stdin)["values"]}
assert values["[not selected]"] == 2000000000 and values[None] == 14000002, values'
    "$PYPROF" info only >info.txt
    grep -qxF '    samples of traces are kept by PYPROF_TRACES=0.01,only' info.txt || fail "$(cat info.txt)"
    "$PYPROF" info --json only | judge '
info = json.load(sys.stdin)
assert [p["traces"] for p in info["processes"]] == ["0.01,only"] * 2 and info["total"]["traces"] == 2, info
assert (info["total"]["not_selected"], info["total"]["not_selected_ns"]) == (200, 2000000000), info'
}

@test "the commands that report names select what it has selected, and are as they can be typed" {
    made logs
    selected=(--trace 4bf92f3577b34da6a --from 50ms --thread 'pool|Main' --native=none)
    "$PYPROF" report "${selected[@]}" logs >report.txt
    for command in annotate flame; do
        next=$(sed -nE "s/^(Next:|     ) pyprof ($command .*logs)(   \(.*)?$/\2/p" report.txt)
        [[ $next == *" --from 0.05s --thread 'pool|Main' --trace 4bf92f3577b34da6a --native=none logs" ]] || fail "$(cat report.txt)"
        eval "\"\$PYPROF\" $next" >out.txt 2>&1 || fail "$next: $(cat out.txt)"
    done
    "$PYPROF" report --by task logs | grep -qF 'pyprof flame --by task logs ' || fail "no --by"
    ! "$PYPROF" report --by trace logs | grep -F 'flame --by' || fail "the page cannot show all traces beside each other"
}

@test "what no kept trace fits says how much was kept" {
    made logs
    run "$PYPROF" report --by trace --focus zzz logs
    [ "$status" -eq 1 ] &&
        [ "$output" = "pyprof: no sample of 2.14 s CPU is of a trace that was kept (0.13 s of 2 traces) and fits --focus zzz" ] ||
        fail "$status $output"
}

@test "a trace without a span: no view has an id of zeros" {
    PYTHONPATH="$ROOT/tests/web" /usr/bin/python3 -c '
import logs
log = logs.Log()
log.traces = "0.01"
for i in range(4):
    log.trace((logs.CART, "0" * 16), 100000000 + 10000000 * i, "MainThread", [logs.python("cart")], 10000000)
log.write("bare.pyprof")'
    "$PYPROF" report --trace $CART bare.pyprof >report.txt
    grep -qE '^ +0\.04 s 100\.0 % +4 +0\.000 s +0\.030 s  \(none\) +\(none\)$' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report --json --trace $CART bare.pyprof | grep -qF '"span_id": null'
    "$PYPROF" export --format pprof --traces -o bare.pb.gz bare.pyprof
    zcat bare.pb.gz | strings >strings.txt
    grep -qF trace_id strings.txt && ! grep -qF span_id strings.txt || fail "$(cat strings.txt)"
    run "$PYPROF" report --by label:span_id --trace $CART bare.pyprof
    [ "$status" -eq 1 ] && [[ $output == "pyprof: --by label:span_id: no sample has one; "*"This profile has: --by trace, thread, package" ]] || fail "$status $output"
}

@test "every view and format takes a trace: its CPU and no other's" {
    made logs
    for extension in collapsed speedscope.json perf callgrind firefox.json pstats otlp; do
        mkdir -p one all
        "$PYPROF" export --trace $CART -o "one/p.$extension" logs
        "$PYPROF" export -o "all/p.$extension" logs
    done
    echo '{"total": {"cpu_ns": 100000000, "own_ns": 0, "difference_ns": 0}}' >one.json
    readers
    "$venv/bin/python" "$ROOT/tests/oracles/formats.py" total one one.json
    "$PYPROF" info --json logs >all.json
    "$venv/bin/python" "$ROOT/tests/oracles/formats.py" total all all.json
    "$PYPROF" export --format collapsed --by trace logs >roots.txt
    grep -qxF "$SEARCH;search (app.py:40) 30000000" roots.txt || fail "$(cat roots.txt)"
    "$PYPROF" export --format collapsed --trace $CART --thread pool logs | grep -v '^\[accounting' >pool.txt
    [ "$(cat pool.txt)" = "render (app.py:30) 20000000" ] || fail "$(cat pool.txt)"
    # Times are those of the samples: in this time three of the shop and two of the stock.
    "$PYPROF" report --json --trace $CART --from 110ms --to 131ms logs | grep -qF '"shown_ns": 50000000' ||
        fail "$("$PYPROF" report --trace $CART --from 110ms --to 131ms logs)"
    "$PYPROF" flame --trace $CART -o x.html logs
    "$PYPROF" flame --by trace -o x.svg logs
    grep -q $SEARCH x.svg
}

# readers: venv has opentelemetry-proto
readers() {
    venv=$("$ROOT/tests/venv.sh" "$VENVS/formats" /usr/bin/python3 gprof2dot snakeviz opentelemetry-proto 2>venv.err) ||
        fail "no readers of formats: $(tail -n 5 venv.err)"
}

# compared LOGS: all that is exported of single samples, by their readers
compared() {
    readers
    "$PYPROF" info --json "$1" >info.json
    "$PYPROF" export "$1" -o x.otlp
    "$PYPROF" export "$1" -o x.otel-logs
    "$PYPROF" export "$1" --traces -o x.pb.gz
    "$venv/bin/python" "$ROOT/tests/oracles/traces.py" otlp x.otlp info.json "$1"
    "$venv/bin/python" "$ROOT/tests/oracles/traces.py" otel-logs x.otel-logs info.json "$1"
    "$venv/bin/python" "$ROOT/tests/oracles/traces.py" pprof x.pb.gz "$1"
}

@test "OTLP profiles, log records and pprof have each sample with its ids and time; no CPU is there twice" {
    made logs
    compared logs
    made only 1
    compared only
    PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -tags x.otel-logs.snapshot.100.pb.gz >tags.txt 2>pprof.err || fail "$(cat pprof.err)"
    grep -qE "60ms.*: $CART" tags.txt && grep -qE 'trace_id: Total 90ms' tags.txt || fail "$(cat tags.txt)"
}

recorded() {
    local packages
    packages=$(PIP_ONLY_BINARY=:all: venv_with opentelemetry-sdk) || fail "$packages"
    PYPROF_TRACES=$1 PYPROF_HZ=250 PYPROF_MAX_OVERHEAD=100 profiled "$packages/bin/python" "$WORKLOADS/traces.py" "$2" "${1%,*}" >truth.json
    compared pyprof.out
    "$PYPROF" report --json --by trace | judge '
rows, truth = json.load(sys.stdin)["by"], json.load(open("truth.json"))
assert rows and {row["value"] for row in rows} <= set(truth), rows
for row in rows:
    used, _ = truth[row["value"]]
    assert abs(row["cpu_ns"] - used) < 5 * (used * 8e6) ** 0.5 + 8e6, (row, used)'
}

@test "what is kept of selected traces only: the rest is [not selected], as much as the accounting says" {
    recorded 0.3,only 300
    "$PYPROF" info --json | judge '
total = json.load(sys.stdin)["total"]
print(total["not_selected_ns"])
assert total["not_selected"] and 0 < total["not_selected_ns"] < total["sampled_ns"], total' >said.txt
    "$PYPROF" export --format collapsed | awk '/^\[not selected\] / { n += $NF } END { printf "%.0f\n", n }' | diff said.txt -
}

@test "what a program recorded: each trace has the CPU that its requests measured, in views and exports" {
    recorded 1 200
}
