# The pprof export as google/pprof reads it.
load lib/helper

pprof() {
    PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof "$@" 2>pprof.err || fail "$(cat pprof.err)"
}

@test "go tool pprof -top, -traces and -list read the export" {
    need_go
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

@test "go tool pprof -raw and -tags: lines, mappings with build-ids, labels" {
    need_go
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

# in_pprof RAW: ns of CPU in the samples of `pprof -raw`; of a difference it may be negative.
in_pprof() {
    /usr/bin/python3 - "$1" <<'END'
import re, sys

lines = open(sys.argv[1]).read().split("\nSamples:\n")[1].split("\nLocations\n")[0].splitlines()
at = [name.split("/")[0] for name in lines[0].replace("[dflt]", "").split()].index("cpu")
rows = [re.match(r" +((?:-?\d+ +)*-?\d+):", line) for line in lines[1:]]
print(sum(int(row.group(1).split()[at]) for row in rows if row))
END
}

@test "go tool pprof -diff_base: what changed between two profiles, by function" {
    need_go
    OUT=first PYPROF_OUT=first until_sampled spin profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    OUT=second PYPROF_OUT=second until_sampled spin profiled "$PYTHON" "$WORKLOADS/spin.py" 0.6
    for which in first second; do
        "$PYPROF" export "$which" -o "$which.pb.gz"
        pprof -raw "$which.pb.gz" >"$which.txt"
    done
    pprof -raw -diff_base=first.pb.gz second.pb.gz >raw.txt
    [ "$(in_pprof raw.txt)" -eq $(($(in_pprof second.txt) - $(in_pprof first.txt))) ] || fail "$(in_pprof raw.txt)"
    # The same place is one and the same in both, whatever the addresses.
    for which in first second; do
        OUT=$which collapsed >stacks.txt
        reader inclusive stacks.txt spin >"$which.ns"
    done
    pprof -top -cum -unit=ns -diff_base=first.pb.gz second.pb.gz >top.txt
    awk -v more=$(($(cat second.ns) - $(cat first.ns))) '/ spin/ { found = $4 - more }
        END { exit !(found < 1000 && found > -1000) }' top.txt || fail "$(cat first.ns second.ns top.txt)"
    pprof -top -diff_base=second.pb.gz second.pb.gz >same.txt
    ! grep -qE ' spin( |$)' same.txt || fail "$(cat same.txt)"
}
