#!/bin/bash
# Measures and prints; judges nothing: `make bench`. BENCH_ROUNDS (30) sets how often start-up is measured.
set -eu
cd "$(dirname "$0")/../.." || exit 1
unset LD_PRELOAD "${!PYPROF_@}"

# shellcheck source=tests/bats/pythons.sh
. tests/bats/pythons.sh
BUILD=${BUILD:-build}
tests/bench/load.sh "$BUILD"
echo
list_pythons | while read -r python version; do
    echo "== $python ($version)"
    "$python" tests/bench/bench.py "$BUILD" "$python" "${BENCH_ROUNDS:-30}"
    echo
done

echo "== the page of pyprof flame"
python3 tests/web/bench.py "$BUILD/pyprof"
