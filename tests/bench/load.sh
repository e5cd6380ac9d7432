#!/bin/bash
# How long it takes to read what many workers wrote, beside `go tool pprof` merging the same data: tests/bench/load.sh
# BUILD. BENCH_WORKERS (64) files of BENCH_MEGABYTES (16) each. Measures and prints; judges nothing.
set -eu

build=$(realpath "$1")
workers=${BENCH_WORKERS:-64}
megabytes=${BENCH_MEGABYTES:-16}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/logs" "$directory/pprof" "$directory/tmp"

# measured NAME COMMAND...
measured() {
    local name=$1
    shift
    if /usr/bin/python3 - "$name" "$@" <<'END'; then
import os, resource, subprocess, sys, time
since = time.monotonic()
status = subprocess.call(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"  {sys.argv[1]:44} {time.monotonic() - since:7.2f} s wall {used.ru_utime + used.ru_stime:7.2f} s CPU {used.ru_maxrss / 1024:7.0f} MB")
sys.exit(status)
END
        return 0
    fi
    echo "  $name: failed"
}

"$build/bench/make_logs" "$directory/logs" "$workers" "$megabytes"
echo "reading $workers logs of $megabytes MB"
measured "pyprof report" "$build/pyprof" report "$directory/logs"
measured "pyprof export to pprof" "$build/pyprof" export -o "$directory/all.pb.gz" "$directory/logs"
measured "pyprof export to OTLP" "$build/pyprof" export -o "$directory/all.otlp" "$directory/logs"
measured "pyprof export to Firefox" "$build/pyprof" export -o "$directory/all.firefox.json" "$directory/logs"
measured "pyprof flame" "$build/pyprof" flame -o "$directory/all.html" "$directory/logs"
measured "pyprof top --count 1" "$build/pyprof" top --count 1 "$directory/logs"
measured "pyprof runs" "$build/pyprof" runs "$directory/logs"
if command -v go >/dev/null; then
    # Some of them only: pprof takes 0.4 GB for each. What it reads is added up already: each file has each stack once.
    some=("$directory/logs"/worker-000[0-7].pyprof)
    for log in "${some[@]}"; do
        "$build/pyprof" export -o "$directory/pprof/$(basename "$log" .pyprof).pb.gz" "$log"
    done
    export PPROF_TMPDIR=$directory/tmp
    echo "the first ${#some[@]} of them"
    measured "pyprof report" "$build/pyprof" report "${some[@]}"
    measured "go tool pprof -top, their exports" go tool pprof -top "$directory/pprof"/*.pb.gz
    measured "pyprof export to pprof" "$build/pyprof" export -o "$directory/some.pb.gz" "${some[@]}"
    measured "go tool pprof -proto, their exports" go tool pprof -proto -output "$directory/merged.pb.gz" \
        "$directory/pprof"/*.pb.gz
fi
