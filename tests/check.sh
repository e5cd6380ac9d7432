#!/bin/bash
# All tests: tests/check.sh [--long]. Every part speaks TAP; its output goes to $BUILD/check/PART.log, its results are
# counted, and the last line is the sum. A part that dies without a result counts as one failure.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
long=
[ "${1:-}" = --long ] && long=1
logs=$BUILD/check
fuzz_seconds=${FUZZ_SECONDS:-20}
[ -n "$long" ] && fuzz_seconds=${FUZZ_SECONDS:-600}
jobs=$(nproc)
export CHECK_LONG=$long
# shellcheck source=tests/bats/pythons.sh
. tests/bats/pythons.sh

mkdir -p "$logs"
rm -f "$logs"/*.log "$logs"/matrix.* "$logs/summary" "$logs/tried_again.txt"
passed=0
failed=0
skipped=0

# The test programs must not profile themselves, and make's own flags are not for the builds below.
unset LD_PRELOAD MAKEFLAGS MFLAGS MAKELEVEL "${!PYPROF_@}"

# part NAME COMMAND...
part() {
    local name=$1 log=$logs/$1.log status ok bad skip started=$SECONDS
    shift
    "$@" >"$log" 2>&1
    status=$?
    skip=$(grep -ciE '^ok\b.*# skip' "$log")
    ok=$(($(grep -cE '^ok\b' "$log") - skip))
    bad=$(grep -cE '^not ok\b' "$log")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "not ok - $name ended with status $status" >>"$log"
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + skip))
    printf '%-18s %4d passed %4d failed %4d skipped %5d s\n' "$name" "$ok" "$bad" "$skip" $((SECONDS - started))
    if [ "$bad" -gt 0 ]; then
        explain "$log" | sed 's/^/    /'
        echo "    whole output: $log"
    fi
    grep -iE '^ok\b.*# skip' "$log" | sed 's/^/    skipped: /'
}

# explain LOG: each failure with what belongs to it. bats says why in lines with "#" below the result, the others above it.
explain() {
    awk '
        /^not ok/ {
            for (i = n > 30 ? n - 30 : 0; i < n; i++) print above[i]
            print
            n = 0
            below = 60
            next
        }
        /^ok/ { n = below = 0; next }
        /^#/ { if (below-- > 0) print; next }
        { above[n++] = $0 }
    ' "$1" | cut -c1-300 | head -n 300
}

# one NAME COMMAND...: a command that is one check.
one() {
    local name=$1
    shift
    if "$@"; then
        echo "ok - $name"
    else
        echo "not ok - $name"
    fi
}

build() {
    one "builds with ${CC:-gcc}, no warning" make -j"$jobs" BUILD="$BUILD" all units helpers
}

# run_units DIRECTORY TEXT
run_units() {
    local source program status log
    for source in tests/unit/test_*.c; do
        program=$1/$(basename "$source" .c)
        log=$logs/unit.out
        CMOCKA_MESSAGE_OUTPUT=TAP timeout 900 "$program" >"$log" 2>&1
        status=$?
        sed "s|^\(not \)\?ok [0-9]* - |&$(basename "$program")$2: |" "$log"
        if [ "$status" -ne 0 ] && ! grep -q '^not ok' "$log"; then
            echo "not ok - $(basename "$program")$2 ended with status $status"
        fi
    done
}

units() {
    run_units "$BUILD/unit" ""
}

units_sanitized() {
    one "builds with sanitizers" make -j"$jobs" SAN=1 BUILD="$BUILD/san" all units
    ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 run_units "$BUILD/san/unit" " (sanitized)"
}

run_fuzzer() {
    local log=$logs/$1.log
    if ! "$BUILD/fuzz/$1" -max_total_time="$fuzz_seconds" -timeout=60 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$BUILD/fuzz/found/$1-" "$BUILD/fuzz/corpus/$1" >"$log" 2>&1; then
        grep -vE '^###|# Uses' "$log" | head -n 30
        return 1
    fi
    grep -E 'number_of_executed_units' "$log"
}

fuzz() {
    local harness name
    one "harnesses build" make -j"$jobs" FUZZ=1 BUILD="$BUILD/fuzz" fuzzers
    rm -f "$logs"/fuzz_*.tap
    for harness in tests/fuzz/fuzz_*.c; do
        [ -e "$harness" ] || continue
        name=$(basename "$harness" .c)
        mkdir -p "$BUILD/fuzz/corpus/$name" "$BUILD/fuzz/found"
        cp -n "tests/fuzz/corpus/$name"/* "$BUILD/fuzz/corpus/$name/" 2>/dev/null
        [ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
        one "$name for $fuzz_seconds s" run_fuzzer "$name" >"$logs/$name.tap" &
    done
    wait
    for harness in tests/fuzz/fuzz_*.c; do
        name=$(basename "$harness" .c)
        cat "$logs/$name.tap"
        grep -qE '^(not )?ok\b' "$logs/$name.tap" || echo "not ok - $name ended without a result"
    done
}

behaviour() {
    local filter=(--filter-tags '!long')
    [ -n "$long" ] && filter=()
    BUILD=$BUILD bats --timing --formatter tap --jobs "$jobs" --no-parallelize-within-files "${filter[@]}" tests/bats/
}

# The suites that feed pyprof with what is bad or large, on its sanitized build.
behaviour_sanitized() {
    MATRIX=/dev/null PYPROF=$(realpath "$BUILD/san/pyprof") BUILD=$BUILD PYTHONS=$(list_pythons | head -n 1 | cut -d' ' -f1) \
        bats --timing --formatter tap --jobs "$jobs" --no-parallelize-within-files tests/bats/bad_input.bats tests/bats/durability.bats tests/bats/flame.bats tests/bats/pprof.bats tests/bats/runs.bats
}

# absent NAME WHY: what the machine lacks is a skipped test, but in a CI job a failed one.
absent() {
    if [ -n "${CI:-}" ]; then
        echo "not ok - $1: $2"
    else
        echo "ok - $1 # SKIP $2"
    fi
}

# The interpreters that this system has no package of; making them takes some minutes, once.
roots() {
    local name names=(sid)
    [ -n "$long" ] && names+=(trixie 3.13t)
    for name in "${names[@]}"; do
        if tests/roots.sh "$name" >"$logs/roots.out" 2>&1; then
            echo "ok - $name in $(tail -n 1 "$logs/roots.out")"
        else
            cat "$logs/roots.out"
            absent "$name" "$(tail -n 1 "$logs/roots.out")"
        fi
    done
}

torture() {
    BUILD=$BUILD tests/torture/run.sh ${long:+--long}
}

# Which interpreters the tests run on is a result too: a machine with one of them has proven little.
interpreters() {
    local path name
    list_pythons
    [ -n "${PYTHONS:-}" ] && return
    expected_pythons | while IFS=$'\t' read -r path name; do
        if [ -x "$path" ]; then
            echo "ok - $name"
        else
            absent "$name" "not here"
        fi
    done
}

# in_matrix PART: a part that goes over the interpreters by itself names each in its results as "VERSION (PATH)".
in_matrix() {
    awk -v suite="$1" '
        NR == FNR { build[$1] = $2 " " $3; next }
        /# [Ss][Kk][Ii][Pp]/ || !/^(not )?ok/ || !match($0, /\([^()]*\)/) { next }
        {
            path = substr($0, RSTART + 1, RLENGTH - 2)
            text = substr($0, RSTART + RLENGTH)
            sub(/^[:, ]*/, "", text)
            if (path in build) print suite "\t" build[path] "\t" (/^ok/ ? "ok" : "FAIL " text)
        }' <(echo "$PYTHON_LINES") "$logs/$1.log" >>"$logs/matrix.tsv"
}

# As many at once as there are CPUs: what the tests ask for is CPU time, which a busy machine makes noisier and not longer.
part lint tests/lint.sh
part build build
[ -n "${PYTHONS:-}" ] || part roots roots
part interpreters interpreters
PYTHON_LINES=$(list_pythons)
export PYTHON_LINES
part units units
part units-sanitized units_sanitized
part capture-symbols tests/capture_symbols.sh "$BUILD"
part library-symbols tests/libpyprof_symbols.sh "$BUILD"
part torture torture
in_matrix torture
part fuzz fuzz
part behaviour behaviour
part tools-sanitized behaviour_sanitized
part pages python3 tests/web/pages.py "$BUILD/pyprof"

if [ -e "$logs/tried_again.txt" ]; then
    echo "tried again, for what they measured:"
    sort "$logs/tried_again.txt" | uniq -c
fi
if [ -e "$logs/matrix.tsv" ]; then
    tests/matrix.sh "$logs/matrix.tsv" | tee "$logs/matrix.txt"
fi
summary="$passed passed, $failed failed"
[ "$skipped" -gt 0 ] && summary="$summary, $skipped skipped"
echo "$summary" | tee "$logs/summary"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
