#!/bin/bash
# Single-steps every interpreter that is here through the workload, as TAP: tests/torture/run.sh [--long]
# Short: some parts of the workload each, others for each interpreter. Long: all parts, as they start and warmed up.
set -u
cd "$(dirname "$0")/../.." || exit 1

BUILD=${BUILD:-build}
object=$BUILD/torture/torture.so
logs=$BUILD/torture
status=0
long=
[ "${1:-}" = --long ] && long=1

# shellcheck source=tests/bats/pythons.sh
. tests/bats/pythons.sh

result() {
    local verdict=$1
    shift
    if [ "$verdict" -eq 0 ]; then
        echo "ok - $*"
    else
        echo "not ok - $*"
        status=1
    fi
}

# field NAME: of the line with the sums in $log.
field() {
    grep '^steps=' "$log" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# judge TEXT EXIT
judge() {
    local text=$1 steps wrong
    if why=$(grep -m1 '^skip: ' "$log"); then
        echo "ok - $text # SKIP ${why#skip: }"
        return
    fi
    steps=$(field steps)
    grep -E '^(steps=|#)' "$log" | grep -v '^# part_' | sed '/^#/!s/^/# /'
    result "$2" "$text: every instruction of a workload, no crash (${steps:-0} steps, exit status $2)"
    [ -n "$steps" ] || return
    wrong=$(($(field wrong) + $(field vanished) + $(field bad_pairing) + $(field wrong_merge) + $(field unpaired) + $(field wrong_state)))
    result $((wrong != 0)) "$text: no wrong stack accepted ($(field right) right, $wrong wrong)"
    result $(($(field refused_good) * 10000 >= steps)) "$text: good stacks refused: $(field refused_good) of $steps"
    result $(($(field recovered) * 100 < $(field torn) * 95)) "$text: torn states recovered: $(field recovered) of $(field torn)"
}

# with_greenlet PYTHON VERSION: the same interpreter, with greenlet where that can be had.
with_greenlet() {
    local venv
    if "$1" -c 'import greenlet' 2>/dev/null; then
        echo "$1"
    elif venv=$(tests/venv.sh "$BUILD/venv/greenlet-$2-$(cksum <<<"$1" | cut -d' ' -f1)" "$1" greenlet 2>/dev/null); then
        echo "$venv/bin/python"
    else
        echo "# $1: no greenlet" >&2
        echo "$1"
    fi
}

# torture NAME PYTHON TEXT OPTION...
torture() {
    local log=$logs/$1.log python=$2 text=$3
    shift 3
    timeout -k 5 "${TORTURE_TIMEOUT:-900}" "$python" tests/torture/torture.py "$object" "$@" >"$log" 2>&1
    judge "$text" $?
}

mkdir -p "$logs"
count=0
while read -r python version _ <&3; do
    text="$version ($python)"
    python=$(with_greenlet "$python" "$version")
    if [ -n "$long" ]; then
        torture "$count" "$python" "$text" --whole --steps 1000000
        torture "$count-warm" "$python" "$text, warm" --whole --steps 1000000 --warm
    else
        torture "$count" "$python" "$text" --steps 120000 --first $((3 * count))
    fi
    count=$((count + 1))
done 3< <(list_pythons)
exit $status
