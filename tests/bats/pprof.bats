# The pprof export as google/pprof reads it.
load helper

need_go() {
    command -v go >/dev/null && return
    [ -z "${CI:-}" ] || fail "go is missing (package golang-go)"
    skip "go is missing (package golang-go)"
}

pprof() {
    PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof "$@" 2>pprof.err || fail "$(cat pprof.err)"
}

top_and_traces() {
    profiled "$PYTHON" "$WORKLOADS/stacks.py" hash
    "$PYPROF" export pyprof.out -o out.pb.gz
    pprof -top -cum out.pb.gz >top.txt
    grep -q 'c_hash' top.txt || fail "no c_hash in: $(cat top.txt)"
    grep -qE '^Type: cpu' top.txt || fail "not of type cpu: $(head -n 5 top.txt)"
    pprof -traces out.pb.gz >traces.txt
    # Leaf first here: c_hash must come after a frame of libcrypto within one trace.
    awk '/^-+\+/ { native = 0 } / c_hash/ { if (native) found = 1 } { native = 1 } END { exit !found }' traces.txt ||
        fail "no trace has c_hash below native frames: $(head -n 40 traces.txt)"
    pprof -list 'c_hash' out.pb.gz >list.txt
    grep -qE 'hashlib\.sha256' list.txt || fail "pprof -list does not find the source line: $(head -n 20 list.txt)"
}

@test "go tool pprof -top, -traces and -list read the export" {
    need_go
    with_some_pythons top_and_traces
}

raw_parts() {
    profiled "$PYTHON" "$WORKLOADS/stacks.py" hash
    "$PYPROF" export pyprof.out -o out.pb.gz
    info >info.json
    pprof -raw out.pb.gz >raw.txt
    grep -qE '^PeriodType: cpu nanoseconds' raw.txt || fail "period type: $(head -n 3 raw.txt)"
    grep -qE '^Period: 10000000$' raw.txt || fail "period: $(head -n 3 raw.txt)"
    grep -qE 'samples/count.* cpu/nanoseconds' raw.txt || fail "sample types: $(sed -n 4,8p raw.txt)"
    # The line number and the file of a Python function.
    grep -qE 'c_hash .*stacks\.py:1[0-2](:[0-9]+)? s=10' raw.txt || fail "no line of c_hash: $(grep c_hash raw.txt | head -n 3)"
    # Mappings: libcrypto with the build-id that the file has.
    crypto=$(sed -n '/^Mappings/,$p' raw.txt | grep -oE '/[^ ]*libcrypto\.so[^ ]*' | head -n 1)
    wanted=$(readelf -n "$crypto" | sed -n 's/.*Build ID: //p')
    sed -n '/^Mappings/,$p' raw.txt | grep -F "$crypto" | grep -qF "$wanted" ||
        fail "mapping of $crypto without build-id $wanted: $(sed -n '/^Mappings/,$p' raw.txt | head -n 20)"
    # All seconds are there.
    pprof -tags out.pb.gz >tags.txt
    pid=$("$PYPROF" info --json pyprof.out | grep -oE '"pid": *[0-9]+' | grep -oE '[0-9]+' | head -n 1)
    grep -qE "^ *pid:" tags.txt || fail "no label pid: $(cat tags.txt)"
    grep -qE '^ *thread:' tags.txt || fail "no label thread: $(cat tags.txt)"
    grep -qE '^ *thread_id:' tags.txt || fail "no label thread_id: $(cat tags.txt)"
    grep -qE "[^0-9]$pid([^0-9]|\$)" tags.txt || fail "pid $pid is no label's value: $(cat tags.txt)"
}

@test "go tool pprof -raw and -tags: lines, mappings with build-ids, labels" {
    need_go
    with_some_pythons raw_parts
}

same_total() {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    "$PYPROF" export pyprof.out -o out.pb.gz
    collapsed >stacks.txt
    total=$(awk '{ n += $NF } END { print n }' stacks.txt)
    pprof -raw -sample_index=cpu out.pb.gz >raw.txt
    in_pprof=$(sed -n '/^Samples:/,/^Locations/p' raw.txt | awk 'NR > 2 && $1 ~ /^[0-9]+$/ { sub(/:$/, "", $2); n += $2 } END { print n }')
    reader near "$in_pprof" "$total" 0.01 "pprof against collapsed"
}

@test "pprof and collapsed hold the same CPU" {
    need_go
    with_some_pythons same_total
}
