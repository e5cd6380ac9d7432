#!/bin/bash
# How right the figures are, and what they cost, beside other profilers: tests/bench/accuracy.sh [WORKLOAD...]. Measures
# and prints; judges nothing. ACCURACY_SECONDS (60): the CPU that the longest programs use; ACCURACY_PAIRS (10): how often
# overhead is measured; ACCURACY_PYTHON (the first of 3.11, or the newest); ACCURACY_PEERS=no: libpyprof alone;
# ACCURACY_PEERS=only: without it.
set -eu
cd "$(dirname "$0")/../.." || exit 1
unset LD_PRELOAD "${!PYPROF_@}"

# shellcheck source=tests/bats/lib/pythons.sh
. tests/bats/lib/pythons.sh
BUILD=$(realpath "${BUILD:-build}")
# Wheels of most profilers are there for 3.11.
python=${ACCURACY_PYTHON:-$(list_pythons | awk '$2 ~ /^3\.11\./ && !found { print $1; found = 1 } { last = $1 } END { if (!found) print last }')}
directory=$(tests/venv.sh "$BUILD/venv/accuracy" "$python" pip)

# One by one: what cannot be installed here is left out, and named by those that need it.
packages=(gevent numpy gunicorn uwsgi)
[ "${ACCURACY_PEERS:-}" = no ] || packages+=(py-spy "austin-dist<4" ddtrace)
for package in "${packages[@]}"; do
    stamp=$directory/tried-${package%%<*}
    if [ ! -e "$stamp" ]; then
        "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "$package" >>"$directory.log" 2>&1 ||
            echo "could not install $package: $directory.log" >&2
        touch "$stamp"
    fi
done

library=$(mktemp --suffix=.so)
trap 'rm -f "$library"' EXIT
${CC:-gcc} -O1 -g -shared -fPIC -o "$library" tests/workloads/lib/measured_native.c -lpthread
"$directory/bin/python" tests/bench/accuracy.py "$BUILD" "${ACCURACY_SECONDS:-60}" "$library" "$@"
if [ $# -eq 0 ]; then
    echo
    "$directory/bin/python" tests/bench/overhead.py "$BUILD" "${ACCURACY_PAIRS:-10}"
fi
