#!/bin/sh
# Fails if this commit makes a command use more CPU than another commit does.
#
#     gate.sh COMMIT COMMAND [ARGUMENT...]
#
# COMMAND does the same work each time: a benchmark, a part of the tests. It runs in a checkout of COMMIT and in the
# working directory, in turn, as often as RUNS says (5); what got slower by more than FAIL_ABOVE (3%) and by more than
# chance is named. Profiles, and on failure a flame graph of the difference, are left in OUT (pyprof-gate).
#
# Exit status: 0: nothing is slower. 1: something is. 2: there is nothing to compare, since the command failed, say.
set -u
[ $# -ge 2 ] || {
    sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
commit=$1
shift
mkdir -p "${OUT:-pyprof-gate}"
out=$(cd "${OUT:-pyprof-gate}" && pwd) || exit 2
rm -rf "$out/base" "$out/base.pyprof" "$out/new.pyprof" "$out/diff.html"
git worktree prune
git worktree add --quiet --detach "$out/base" "$commit" || exit 2
trap 'git worktree remove --force "$out/base"' EXIT

# each COMMAND...: here and in the other commit.
each() {
    side=base.pyprof
    (cd "$out/base" && "$@") || exit 2
    side=new.pyprof
    "$@" || exit 2
}

profiled() {
    pyprof run -o "$out/$side" -- "$@"
}

each "$@" >/dev/null # compiles modules, fills caches
run=0
while [ $run -lt "${RUNS:-5}" ]; do
    each profiled "$@" >/dev/null
    run=$((run + 1))
done

pyprof diff --all --by cpu --fail-above "${FAIL_ABOVE:-3%}" "$out/base.pyprof" "$out/new.pyprof"
status=$?
[ $status -ne 1 ] || pyprof diff --all -o "$out/diff.html" "$out/base.pyprof" "$out/new.pyprof"
exit $status
