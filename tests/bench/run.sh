#!/bin/bash
# Measures and prints; judges nothing: `make bench`. PART='costs page' runs these parts only: load, instructions, walks, rows,
# costs, page, applications. BENCH_ROUNDS (30) sets how often start-up is measured, BENCH_SECONDS (12) how long programs run
# that are sampled at 100 Hz, ROUNDS (3) how often each application is run; APPLICATIONS='celery gevent': these only.
set -eu
cd "$(dirname "$0")/../.." || exit 1
unset LD_PRELOAD "${!PYPROF_@}"

# shellcheck source=tests/bats/lib/pythons.sh
. tests/bats/lib/pythons.sh
BUILD=${BUILD:-build}
parts=(load pushing instructions walks rows costs page applications)

load() {
    tests/bench/load.sh "$BUILD"
}

pushing() {
    python3 tests/bench/pushing.py "$BUILD"
}

instructions() {
    if command -v valgrind >/dev/null && [ -x /usr/bin/python3.11 ]; then
        echo "== instructions                          now      committed"
        python3 tests/bench/instructions.py "$BUILD" /usr/bin/python3.11
    fi
}

walks() {
    local python version kind
    while read -r python version kind; do
        echo "== walks, $python ($version, $kind)"
        "$python" tests/bench/walkers.py "$BUILD"
        echo
    done < <(list_pythons | sed -n '1p;\#^/usr/bin/python3.11 #p;$p' | uniq)
}

rows() {
    local python with_numpy
    python=$(list_pythons | awk 'END { print $1 }')
    # What numpy brings along is large; without it there is less to compile.
    if with_numpy=$(PIP_ONLY_BINARY=numpy tests/venv.sh "$BUILD/venv/bench-numpy" "$python" numpy); then
        python=$with_numpy/bin/python
    fi
    "$python" tests/bench/walkers.py "$BUILD" rows
}

costs() {
    local python version
    list_pythons | while read -r python version; do
        echo "== $python ($version)"
        "$python" tests/bench/bench.py "$BUILD" "$python" "${BENCH_ROUNDS:-30}"
        echo
    done
}

page() {
    echo "== the page of pyprof flame"
    python3 tests/web/bench.py "$BUILD/pyprof"
}

applications() {
    echo "== applications"
    # shellcheck disable=SC2086 # names
    python3 tests/bench/applications.py "$BUILD" ${APPLICATIONS:-}
}

for part in ${PART:-${parts[*]}}; do
    if [[ " ${parts[*]} " != *" $part "* ]]; then
        echo "tests/bench/run.sh: no part $part; there are ${parts[*]}" >&2
        exit 2
    fi
done
for part in ${PART:-${parts[*]}}; do
    "$part"
    echo
done
