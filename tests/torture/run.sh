#!/bin/bash
# Single-steps every interpreter that is here through the workload, as TAP: tests/torture/run.sh [--long]
# Short: some parts of the workload each, others for each interpreter. Long: all parts, as they start and warmed up.
set -u
cd "$(dirname "$0")/../.." || exit 1

BUILD=${BUILD:-build}
object=$BUILD/torture/torture.so
logs=$BUILD/torture${PYTHONS:+/$(cksum <<<"$PYTHONS" | cut -d' ' -f1)}
jobs=${JOBS:-$(nproc)}
long=
[ "${1:-}" = --long ] && long=1

# shellcheck source=tests/bats/lib/pythons.sh
. tests/bats/lib/pythons.sh

result() {
    local verdict=$1
    shift
    if [ "$verdict" -eq 0 ]; then
        echo "ok - $*"
    else
        echo "not ok - $*"
    fi
}

# field NAME: of the line with the sums in $log.
field() {
    grep '^steps=' "$log" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# judge TEXT EXIT
judge() {
    local text=$1 steps wrong why
    if why=$(grep -m1 '^skip: ' "$log"); then
        # an interpreter that the library cannot read is a fault, one that the test has no model of is not
        case $why in
        *"the test does not know"*) echo "ok - $text # SKIP ${why#skip: }" ;;
        *) echo "not ok - $text: ${why#skip: }" ;;
        esac
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

# find_package PYTHON VERSION PACKAGE: lets this interpreter find it, if that can be had.
find_package() {
    local python=$1 version=$2 package=$3 venv venvs=${XDG_CACHE_HOME:-$HOME/.cache}/pyprof-tests/venv
    unset PYTHONPATH
    "$python" -c "import ${package//-/.}" 2>/dev/null && return
    if venv=$(tests/venv.sh "$venvs/$package-$version-$(cksum <<<"$python" | cut -d' ' -f1)" "$python" "$package" 2>/dev/null); then
        PYTHONPATH=$(compgen -G "$venv/lib/python3*/site-packages")
        export PYTHONPATH
    else
        echo "# $python: without $package"
        return 1
    fi
}

# torture NAME PYTHON TEXT OPTION...
torture() {
    local log=$logs/$1.log python=$2 text=$3
    shift 3
    timeout -k 5 "${TORTURE_TIMEOUT:-900}" "$python" tests/torture/torture.py "$object" "$@" >"$log" 2>&1
    judge "$text" $?
}

# torture_unmapped NAME PYTHON TEXT OPTION...: each object has a mapping of its own, which its end unmaps: a load from one
# that is gone faults.
torture_unmapped() {
    PYTHONMALLOC=malloc MALLOC_MMAP_THRESHOLD_=200 MALLOC_MMAP_MAX_=60000 torture "$@"
}

# contexts NAME PYTHON TEXT KIND OPTION...: what samples belong to, of this kind above all.
contexts() {
    local log=$logs/$1.log python=$2 text=$3 kind=$4 exit right
    shift 4
    timeout -k 5 "${TORTURE_TIMEOUT:-900}" env LD_PRELOAD="${UNMAPPING:-}" "$python" tests/torture/contexts.py "$object" \
        "$@" >"$log" 2>&1
    exit=$?
    if grep -q "the test does not know" "$log"; then
        echo "ok - $text, contexts # SKIP $(sed -n 's/^skip: //p' "$log")"
        return
    fi
    sed 's/^/# /' "$log"
    right=$(sed -n "s/^kind=$kind .*right=\([0-9]*\).*/\1/p" "$log")
    grep -q '^steps=' "$log" && ! grep -qE 'wrong=[1-9]|missing=[1-9]' "$log" && [ "${right:-0}" -gt 300 ]
    result $? "$text: after every instruction it is right what it belongs to, $* (exit status $exit)"
}

# contexts_unmapped NAME PYTHON TEXT KIND OPTION...: so that a load from what is gone faults, or one beyond an object's end.
# With --each what a sample recalls is gone before the next one comes; without, it is seen to change.
contexts_unmapped() {
    UNMAPPING=$logs/unmapping.so PYTHONMALLOC=malloc UNMAPPING_LATE=1 contexts "$1" "$2" "$3, freed memory unmapped" "${@:4}"
}

# packages COUNT PYTHON VERSION KIND STEPS PACKAGE...: of those sources that can be had here, which are packages.
packages() {
    local count=$1 python=$2 version=$3 kind=$4 steps=$5 package
    shift 5
    for package in "$@"; do
        if find_package "$python" "$version" "$package"; then
            contexts "$count-$package" "$python" "$version ($python)" "$kind" --source "${package%-sdk}" --steps "$steps"
        fi
    done
}

# eager_tasks COUNT PYTHON VERSION STEPS: there are none before 3.12.
eager_tasks() {
    case $3 in
    3.[89].* | 3.1[01].*) ;;
    *) contexts "$1-eager" "$2" "$3 ($2)" 1 --source eager --steps "$4" ;;
    esac
}

# Parts whose frames are freed most often.
freed=(part_generators part_coroutines part_async_generators)

# one_python COUNT PYTHON VERSION [NEWEST]
one_python() {
    local count=$1 python=$2 text="$3 ($2)" newest=${4:-} source turn
    find_package "$python" "$3" greenlet || true
    if [ -n "$long" ]; then
        contexts "$count-contexts" "$python" "$text" 1 --source asyncio --steps 1500000
        eager_tasks "$count" "$python" "$3" 1000000
        torture "$count" "$python" "$text" --whole --steps 1000000
        torture "$count-warm" "$python" "$text, warm" --whole --steps 1000000 --warm
        torture_unmapped "$count-unmapped" "$python" "$text, freed memory unmapped" --whole --steps 1000000
        contexts "$count-python-tasks" "$python" "$text" 1 --source python-tasks --steps 1000000
        packages "$count" "$python" "$3" 1 1000000 trio uvloop
        packages "$count" "$python" "$3" 2 1000000 greenlet gevent eventlet
        contexts "$count-labels" "$python" "$text" 8 --source labels --steps 1000000
        contexts "$count-endpoints" "$python" "$text" 4 --source endpoints --steps 2000000
        packages "$count" "$python" "$3" 5 1000000 opentelemetry-sdk sentry-sdk
        packages "$count" "$python" "$3" 4 1000000 flask
        contexts_unmapped "$count-contexts-unmapped" "$python" "$text" 1 --source asyncio --steps 1000000
        for source in 1:asyncio 1:python-tasks 4:endpoints 6:labels; do
            contexts_unmapped "$count-${source#*:}-unmapped" "$python" "$text" "${source%:*}" --source "${source#*:}" \
                --steps 2000000 --each 37
        done
    else
        contexts "$count-contexts" "$python" "$text" 1 --source asyncio --steps 55000 --first "$count"
        torture "$count" "$python" "$text" --steps 100000 --first $((3 * count))
        torture_unmapped "$count-unmapped" "$python" "$text, freed memory unmapped" --steps 60000 --part "${freed[count % 3]}"
        # What follows takes turns: each with an old, a newer and a new interpreter, and what the newest may have changed there.
        [ $((count % 2)) -ne 0 ] || eager_tasks "$count" "$python" "$3" 55000
        case $((count % 3)) in
        0) contexts "$count-python-tasks" "$python" "$text" 1 --source python-tasks --steps 55000 --first "$count" ;;
        1) packages "$count" "$python" "$3" 1 55000 trio ;;
        2) packages "$count" "$python" "$3" 2 55000 greenlet ;;
        esac
        case $(((count + count / 3) % 3)) in
        0) packages "$count" "$python" "$3" 2 55000 gevent ;;
        1) packages "$count" "$python" "$3" 5 55000 opentelemetry-sdk ;;
        2) packages "$count" "$python" "$3" 1 55000 uvloop ;;
        esac
        turn=$(((count + 2 * (count / 3)) % 3))
        if [ "$turn" -eq 0 ] || [ -n "$newest" ]; then
            contexts "$count-endpoints" "$python" "$text" 4 --source endpoints --steps 90000 --first "$count"
        fi
        if [ "$turn" -eq 1 ] || [ -n "$newest" ]; then
            contexts "$count-labels" "$python" "$text" 8 --source labels --steps 50000 --first "$count"
        fi
        if [ "$turn" -eq 2 ] || [ -n "$newest" ]; then
            contexts_unmapped "$count-contexts-unmapped" "$python" "$text" 1 --source asyncio --steps 80000 --each 11 \
                --first $((count + 7))
        fi
    fi
}

mkdir -p "$logs"
gcc -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -fno-builtin -shared -fPIC -o "$logs/unmapping.so" \
    tests/workloads/lib/unmapping.c || exit 1
rm -f "$logs"/*.tap
mapfile -t pythons < <(list_pythons)
count=0
for line in "${pythons[@]}"; do
    read -r python version _ <<<"$line"
    [ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
    newest=
    [ $((count + 1)) -lt "${#pythons[@]}" ] || newest=1
    one_python "$count" "$python" "$version" "$newest" </dev/null >"$logs/$count.tap" &
    count=$((count + 1))
done
wait
for ((i = 0; i < count; i++)); do
    grep -qE '^(not )?ok\b' "$logs/$i.tap" || echo "not ok - interpreter $i ended without a result" >>"$logs/$i.tap"
    cat "$logs/$i.tap"
done
[ "$count" -gt 0 ] || echo "not ok - no interpreter" | tee "$logs/none.tap"
! grep -q '^not ok' "$logs"/*.tap
