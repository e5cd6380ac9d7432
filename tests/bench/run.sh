#!/bin/bash
# Measures and prints; judges nothing: `make bench`. BENCH_ROUNDS (30) sets how often start-up is measured, BENCH_SECONDS
# (12) how long programs run that are sampled at 100 Hz.
set -eu
cd "$(dirname "$0")/../.." || exit 1
unset LD_PRELOAD "${!PYPROF_@}"

# shellcheck source=tests/bats/lib/pythons.sh
. tests/bats/lib/pythons.sh
BUILD=${BUILD:-build}
tests/bench/load.sh "$BUILD"
echo

if command -v valgrind >/dev/null && [ -x /usr/bin/python3.11 ]; then
    echo "== instructions                          now      committed"
    python3 tests/bench/instructions.py "$BUILD" /usr/bin/python3.11
    echo
fi

python=
while read -r path version kind; do
    python=$path
    echo "== walks, $python ($version, $kind)"
    "$python" tests/bench/walkers.py "$BUILD"
    echo
done < <(list_pythons | sed -n '1p;\#^/usr/bin/python3.11 #p;$p' | uniq)

# What numpy brings along is large; without it there is less to compile.
if with_numpy=$(PIP_ONLY_BINARY=numpy tests/venv.sh "$BUILD/venv/bench-numpy" "$python" numpy); then
    python=$with_numpy/bin/python
fi
"$python" tests/bench/walkers.py "$BUILD" rows
echo
list_pythons | while read -r python version; do
    echo "== $python ($version)"
    "$python" tests/bench/bench.py "$BUILD" "$python" "${BENCH_ROUNDS:-30}"
    echo
done

echo "== the page of pyprof flame"
python3 tests/web/bench.py "$BUILD/pyprof"
