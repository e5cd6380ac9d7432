#!/bin/bash
# All tests: tests/check.sh [--long [K/N]]. Every part speaks TAP; its output goes to $BUILD/check/PART.log, its results are
# counted, and the last line is the sum. A part that dies without a result counts as one failure.
#   SUITE='greenlet units'  only these suites of tests/bats and parts of this file
#   PYTHON='3.12 /path'     only these interpreters: versions, or paths
# K/N: of N parts of the long check, which take as long as each other, the K-th. tests/README.md has the seconds of its pieces.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
long=
[ "${1:-}" = --long ] && long=1
long_part=${2:-1/1}
if ! [[ $long_part =~ ^[1-9][0-9]*/[1-9][0-9]*$ && ${long_part%/*} -le ${long_part#*/} ]]; then
    echo "PART=$long_part: PART=2/6 is the second of six parts" >&2
    exit 2
fi
logs=$BUILD/check
fuzz_seconds=${FUZZ_SECONDS:-3}
[ -n "$long" ] && fuzz_seconds=${FUZZ_SECONDS:-600}
jobs=$(nproc)
readonly UNSTEADY_MAX=5 # failed tests of behaviour that are run once more
wanted_suites=${SUITE:-}
wanted_pythons=${PYTHON:-}
# Two more at once than there are CPUs, for many wait. They disturb each other in nothing that they measure. The longest first.
beside=(torture aarch64 units-sanitized instructions lint tools-sanitized pages units fuzz wings capture-symbols two-at-once library-symbols)
many=(--jobs $((jobs + 2)) --no-parallelize-within-files)
export CHECK_LONG=$long
# shellcheck source=tests/bats/lib/pythons.sh
. tests/bats/lib/pythons.sh

# The test programs must not profile themselves, and make's own flags are not for the builds below.
unset LD_PRELOAD MAKEFLAGS MFLAGS MAKELEVEL SUITE PYTHON "${!PYPROF_@}"

# wanted SUITE
wanted() {
    [ -z "$wanted_suites" ] || [[ " $wanted_suites " == *" $1 "* ]]
}

# part NAME COMMAND...
part() {
    local name=$1 log=$logs/${1//[^a-z0-9.-]/_}.log status ok bad skip started=$SECONDS
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
    echo "$ok $bad $skip" >>"$logs/counts"
    {
        printf '%-42s %4d passed %4d failed %4d skipped %5d s\n' "$name" "$ok" "$bad" "$skip" $((SECONDS - started))
        if [ "$bad" -gt 0 ]; then
            explain "$log" | sed 's/^/    /'
            echo "    whole output: $log"
        fi
        grep -iE '^ok\b.*# skip' "$log" | sed 's/^/    skipped: /'
        grep -E '^ok\b.*# UNSTEADY' "$log" | sed 's/^/    unsteady: /'
    } >"${log%.log}.told"
    cat "${log%.log}.told"
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
    local units=library-units
    [ -z "$long" ] || units=units
    one "builds with ${CC:-gcc}, no warning" make -j"$jobs" BUILD="$BUILD" all objects "$units" helpers
    if wanted units-sanitized || wanted tools-sanitized || wanted fuzz || wanted lint; then
        # Half of what -O2 takes, and they find the same. This is the build with clang and its warnings, too.
        one "builds with clang, sanitizers and libFuzzer, no warning" make -j"$jobs" SAN=1 CFLAGS="-O1 -g1" BUILD="$BUILD/san" all units fuzzers
    fi
    if wanted two-at-once; then
        one "builds with ThreadSanitizer" make -j"$jobs" TSAN=1 CFLAGS="-O1 -g1" BUILD="$BUILD/tsan" "$BUILD/tsan/unit/test_tools_two_at_once"
    fi
}

# run_units DIRECTORY TEXT: those of the tools with sanitizers, and in the long check without them, too.
run_units() {
    local name output status
    output=$(mktemp)
    for name in $(basename -s .c tests/unit/test_*.c) test_tools_gzip_zlib; do
        [[ -n "$long$2" || $name != test_tools_* ]] || continue
        [ "$name" != test_gaps ] || continue # it is of AArch64
        CMOCKA_MESSAGE_OUTPUT=TAP timeout 900 "$1/$name" >"$output" 2>&1
        status=$?
        sed "s|^\(not \)\?ok [0-9]* - |&$name$2: |" "$output"
        if [ "$status" -ne 0 ] && ! grep -q '^not ok' "$output"; then
            echo "not ok - $name$2 ended with status $status"
        fi
    done
    rm "$output"
}

run_fuzzer() {
    local log=$logs/$1.out
    mkdir -p "$BUILD/fuzz/corpus/$1" "$BUILD/fuzz/found"
    if ! "$BUILD/san/$1" -max_total_time="$fuzz_seconds" -timeout=60 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$BUILD/fuzz/found/$1-" "$BUILD/fuzz/corpus/$1" >"$log" 2>&1; then
        grep -vE '^###|# Uses' "$log" | head -n 30
        return 1
    fi
    grep -E 'number_of_executed_units' "$log"
}

fuzz() {
    local harness
    for harness in tests/fuzz/fuzz_*.c; do
        one "$(basename "$harness" .c) for $fuzz_seconds s" run_fuzzer "$(basename "$harness" .c)"
    done
}

# run_bats REPORT OPTION... FILE...
run_bats() {
    local report=$logs/$1 status=0 tries=100
    shift
    mkdir -p "$report"
    BUILD=$BUILD bats --timing --formatter tap --report-formatter junit --output "$report" "$@" || status=$?
    # bats does not wait for its report.
    until grep -q '</testsuites>' "$report/report.xml" || [ $((tries--)) -eq 0 ]; do
        sleep 0.1
    done
    return "$status"
}

# failed_tests TAP: file and name of each test that failed.
failed_tests() {
    awk '
        /^(not )?ok / { name = ""; failed = sub(/^not ok [0-9]+ /, "") }
        failed && name == "" { name = $0; sub(/ # in [0-9]+ ms$/, "", name); next }
        failed && match($0, /tests\/bats\/[a-z0-9_]+\.bats, line/) {
            print substr($0, RSTART, RLENGTH - 6) "\t" name
            failed = 0
        }' "$1"
}

# passes_alone FILE NAME
passes_alone() {
    local name=${2//\\/\\\\} character
    for character in '.' '*' '^' '$' '+' '?' '(' ')' '{' '}' '[' ']' '|'; do
        name=${name//"$character"/\\$character}
    done
    BUILD=$BUILD bats --formatter tap --filter "^$name\$" "$1" >"$logs/alone.tap" 2>&1 && grep -q '^ok' "$logs/alone.tap"
}

# steady COMMAND...: prints its TAP. A test that fails beside others is run once more when they have ended; if it passes
# then, it counts as passed and is named as unsteady. Many failures are no chance.
steady() {
    local tap=$logs/beside_others.tap status=0 file name
    "$@" >"$tap" 2>&1 || status=$?
    : >"$logs/unsteady"
    if [ "$status" -ne 0 ] && [ "$(grep -c '^not ok' "$tap")" -le "$UNSTEADY_MAX" ]; then
        while IFS=$'\t' read -r file name; do
            if passes_alone "$file" "$name"; then
                echo "$name" >>"$logs/unsteady"
            fi
        done < <(failed_tests "$tap")
    fi
    awk -v status="$status" '
        FILENAME == ARGV[1] { unsteady[$0]; next }
        /^not ok / {
            name = $0
            sub(/^not ok [0-9]+ /, "", name)
            sub(/ # in [0-9]+ ms$/, "", name)
            if (name in unsteady) $0 = substr($0, 5) " # UNSTEADY: failed beside others"
            else failed = 1
        }
        { print }
        END { exit failed || (status && !length(unsteady)) }' "$logs/unsteady" "$tap"
}

# behaviour FILE...
behaviour() {
    steady run_bats suites "${many[@]}" --filter-tags '!long' "$@"
}

# each PYTHON FILE...: the same with this interpreter alone.
each() {
    PYTHONS=$1 run_bats each "${many[@]}" --filter-tags '!long' "${@:2}"
}

# long_tests SUITE: those that the short check leaves out. Of these suites some tests have several interpreters at once.
long_tests() {
    local filter=(--filter-tags long)
    case $1 in embedding | jit | musl) filter=() ;; esac
    # the short check has another musl
    MUSL=musl-3.13 run_bats long "${filter[@]}" "tests/bats/$1.bats"
}

# guest_kernels: "SUITE<TAB>NAME" of Debian's kernels.
guest_kernels() {
    printf '%s\t%s\n' bullseye "Linux 5.10" bookworm "Linux 6.1" trixie "Linux 6.12" sid "Linux of sid"
}

# core: of the wanted suites those that have tests with this tag.
core() {
    [ "${#files[@]}" -eq 0 ] || grep -l '^# bats test_tags=core$' "${files[@]}"
}

# core_in_guest SUITE: the tests with the tag core under this kernel, on one interpreter. What takes packages from a network
# is run here before, since a guest has none. /tmp is a file system of its own there, which a test of a read-only root does
# not expect. What a kernel lacks is no reason to skip one of these.
core_in_guest() {
    local python=/usr/bin/python3.11 suites accelerator=tcg processors=2
    mapfile -t suites < <(core)
    PYTHONS=$python bats --formatter tap --filter-tags core "${suites[@]}" --filter 'gunicorn|contrib/' >"$logs/before_guest.out" 2>&1 ||
        { cat "$logs/before_guest.out" && return 1; }
    if [ -w /dev/kvm ] && GUEST_ACCEL=kvm tests/guest.sh -t 60 amd64 "linux-$1-amd64" / -- true >/dev/null 2>&1; then
        accelerator=kvm
    elif [[ $1 == trixie || $1 == sid ]]; then
        processors=1 # perf_event_open patches jump labels, of which qemu's other threads run the old instruction: an int3
    fi
    GUEST_ACCEL=$accelerator nice tests/guest.sh -t 4500 -m 3072 -c "$processors" -w "$PWD" amd64 "linux-$1-amd64" / -- env HOME="$HOME" \
        XDG_CACHE_HOME="${XDG_CACHE_HOME:-$HOME/.cache}" BUILD="$BUILD" PYTHONS="$python" TMPDIR=/var/tmp TESTED_OVERHEAD=50 bats --timing --formatter tap "${many[@]}" --filter-tags core "${suites[@]}" |
        sed -E 's/^ok (.*# skip)/not ok \1/'
    return "${PIPESTATUS[0]}"
}

# python_names: "PATH<TAB>NAME" of each interpreter.
python_names() {
    list_pythons | awk -F '\t' 'NR == FNR { name[$1] = $2; next } { sub(/ .*/, ""); print $0 "\t" ($0 in name ? name[$0] : $0) }' \
        <(expected_pythons) -
}

# pieces: the long check's, a line each.
pieces() {
    local suite name
    echo check
    wanted fuzz && echo fuzz
    wanted guest-arm64 && echo "guest: arm64"
    wanted aarch64 && echo aarch64
    while IFS=$'\t' read -r _ name; do
        wanted torture && echo "torture: $name"
        [ "${#files[@]}" -eq 0 ] || echo "all on $name"
    done < <(python_names)
    for suite in "${files[@]}"; do
        if [[ $suite == */@(jit|musl).bats ]] || grep -q '^# bats test_tags=long' "$suite"; then
            echo "long: $(basename -s .bats "$suite")"
        fi
    done
    [ -z "$(core)" ] || guest_kernels | sed 's/.*\t/guest: /'
}

# pieces_of K/N: of all pieces, the longest first, each goes to the part that has the fewest seconds.
pieces_of() {
    pieces | awk -F ' *[|] *' -v k="${1%/*}" -v n="${1#*/}" '
        NR == FNR { if ($3 ~ /^[0-9]+$/) seconds[$2] = $3; next }
        { print ($0 in seconds ? seconds[$0] : /^torture/ ? 350 : /^all on/ ? 800 : 300) "\t" $0 }' tests/README.md - | sort -t$'\t' -k1,1nr -k2 |
        awk -F '\t' -v k="${1%/*}" -v n="${1#*/}" '
            { best = 1; for (i = 2; i <= n; i++) if (sum[i] < sum[best]) best = i; sum[best] += $1; if (best == k) print $2 }'
}

# piece NAME: runs it.
piece() {
    local python
    python=$(python_names | awk -F '\t' -v name="${1#*: }" -v of="${1#all on }" '$2 == name || $2 == of { print $1 }')
    case $1 in
    check) CHECK_LONG='' PYTHON_LINES='' short_check ;;
    fuzz) part fuzz fuzz ;;
    guest:\ Linux*) part "$1" core_in_guest "$(guest_kernels | awk -F '\t' -v name="${1#guest: }" '$2 == name { print $1 }')" ;;
    guest:*) BUILD=$BUILD part "$1" "tests/guest_${1#guest: }.sh" ;;
    aarch64) run_beside aarch64 ;;
    torture:*) PYTHONS=$python BUILD=$BUILD part "$1" tests/torture/run.sh --long ;;
    all\ on\ *) part "$1" each "$python" "${files[@]}" ;;
    long:*) part "$1" long_tests "${1#long: }" ;;
    esac
}

# Those of tests/bats that are wanted, the longest first: tests/README.md has their seconds.
suites() {
    local suite
    {
        awk -F ' *[|] *' '$4 ~ /^[0-9]+$/ { print $4, $2 }' tests/README.md | sort -rn | cut -d' ' -f2
        basename -s .bats tests/bats/*.bats
    } | awk '!seen[$0]++' | while read -r suite; do
        if [ -e "tests/bats/$suite.bats" ] && wanted "$suite"; then
            echo "tests/bats/$suite.bats"
        fi
    done
}

# The suites that feed pyprof with what is bad or large, on its sanitized build.
tools_sanitized() {
    ln -sf ../libpyprof.so "$BUILD/san/libpyprof.so" # for the commands that run a program
    PYPROF=$(realpath "$BUILD/san/pyprof") PYTHONS=$(list_pythons | head -n 1 | cut -d' ' -f1) \
        run_bats sanitized --filter-tags '!long' tests/bats/{bad_input,contexts_views,durability,flame,pprof,runs}.bats
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
    local name names=(sid musl)
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

# run_beside NAME: one of $beside.
run_beside() {
    case $1 in
    lint) part lint tests/lint.sh ;;
    units) part units run_units "$BUILD/unit" "" ;;
    units-sanitized) ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 part units-sanitized run_units "$BUILD/san/unit" " (sanitized)" ;;
    two-at-once) part two-at-once env CMOCKA_MESSAGE_OUTPUT=TAP "$BUILD/tsan/unit/test_tools_two_at_once" ;;
    capture-symbols) part capture-symbols tests/capture_symbols.sh "$BUILD" ;;
    library-symbols) part library-symbols tests/libpyprof_symbols.sh "$BUILD" ;;
    wings) part wings tests/wings.py "$BUILD" ;;
    aarch64) BUILD=$BUILD part aarch64 tests/aarch64.sh ;;
    torture) JOBS=1 BUILD=$BUILD part torture tests/torture/run.sh ;;
    fuzz) part fuzz fuzz ;;
    tools-sanitized) part tools-sanitized tools_sanitized ;;
    instructions) part instructions python3 tests/bench/instructions.py "$BUILD" /usr/bin/python3.11 --check ;;
    pages) part pages python3 tests/web/pages.py "$BUILD/pyprof" ;;
    esac
}

short_check() {
    local name
    for name in "${beside[@]}"; do
        wanted "$name" || continue
        [[ -z "$long" || $name != @(torture|fuzz|aarch64) ]] || continue # pieces of the long check
        [ "$(jobs -rp | wc -l)" -le "$jobs" ] || wait -n
        run_beside "$name" &
    done
    while [ "$(jobs -rp | wc -l)" -gt 1 ]; do # the last of them has no CPU idle
        wait -n
    done
    # Two for each CPU, for tests wait a quarter of their time and more: what they ask for is CPU time, which a busy machine
    # makes noisier and not longer.
    [ "${#files[@]}" -eq 0 ] || part behaviour behaviour "${files[@]}"
    wait
    [ ! -e "$logs/suites/report.xml" ] ||
        sed -nE 's/.*<testsuite name="([^"]*)\.bats".* time="([0-9]*).*/\1 \2/p' "$logs/suites/report.xml" >"$logs/seconds.txt"
}

for name in $wanted_suites; do
    if [[ " ${beside[*]} guest-arm64 " != *" $name "* ]] && [ ! -e "tests/bats/$name.bats" ]; then
        echo "no suite $name; there are: ${beside[*]} $(basename -s .bats tests/bats/*.bats | xargs)" >&2
        exit 2
    fi
done
if [ -n "$wanted_pythons" ]; then
    PYTHONS=$(matching_pythons "$wanted_pythons") || exit 2
    export PYTHONS
fi
mkdir -p "$logs"
rm -rf "${logs:?}"/*
part build build
[ -n "${PYTHONS:-}" ] || part roots roots
part interpreters interpreters
PYTHON_LINES=$(list_pythons)
export PYTHON_LINES
mapfile -t files < <(suites)
if [ -z "$long" ]; then
    short_check
else
    mapfile -t chosen < <(pieces_of "$long_part")
    if [ "${#chosen[@]}" -eq 0 ]; then
        echo "PART=$long_part has nothing to run: of fewer parts each has something" >&2
        exit 2
    fi
    printf 'part %s: %s\n' "$long_part" "$(printf '%s; ' "${chosen[@]}")"
    for name in "${chosen[@]}"; do
        if [[ $name != torture:* ]]; then
            piece "$name"
        else
            [ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
            piece "$name" & # takes one CPU
        fi
    done
    wait
fi
awk '{ ok += $1; bad += $2; skip += $3 }
    END { printf "%d passed, %d failed%s\n", ok, bad, skip ? ", " skip " skipped" : ""; exit bad || !ok }' "$logs/counts" >"$logs/summary"
status=$?
cat "$logs/summary"
exit $status
