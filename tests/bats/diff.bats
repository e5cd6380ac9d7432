# `pyprof diff`: what it compares, what it marks as more than chance, and what it fails for.
load lib/helper
load lib/two_runs

@test "diff: the function that got dearer and the one that got cheaper, by name; totals are those of the runs" {
    once
    "$PYPROF" diff >diff.txt
    # SELF of A, of B, change; TOTAL the same: seconds.
    grep -E ' fib \(app\.py\)' diff.txt | awk '{ exit !($2 - $1 > 0.5 && $3 + 0 > 0.5 && $3 ~ /\*/) }' || fail "$(cat diff.txt)"
    grep -E ' digest \(app\.py\)' diff.txt | awk '{ exit !($4 - $5 > 0.5 && $6 + 0 < -0.5 && $6 ~ /\*/) }' || fail "$(cat diff.txt)"
    unwrapped <diff.txt | head -n 1 | grep -qE '^(As fast as|[0-9.]+ % (slower|faster) than) before(, which may be chance \(one run each\))?: [0-9.]+ m?s for [0-9.]+ m?s of CPU' || fail "$(cat diff.txt)"
    [ "$("$PYPROF" diff --json | jq -r .by)" = cpu ]
    [ "$(wc -l <diff.txt)" -le 24 ] || fail "more than a screen: $(cat diff.txt)"
    /usr/bin/python3 "$ROOT/tests/bats/lib/on_terminal.py" 80 "$PYPROF" diff --no-pager | sed 's/\x1b\[[0-9;]*[mK]//g; s/\r$//; s/.*\r//' >screen.txt
    ! grep -E '.{81}' screen.txt || fail "wider than 80"
    "$PYPROF" diff --by share >share.txt
    grep -E ' fib \(app\.py\)' share.txt | awk '{ exit !($3 + 0 > 10 && $3 ~ /\*/) }' || fail "$(cat share.txt)"
    "$PYPROF" diff --full | grep -qE '\*  app\.py$' || fail "no files: $("$PYPROF" diff --full)"
    grep -q 'One run does not say' diff.txt || fail "$(cat diff.txt)"
    ! grep '^  *[0-9]' diff.txt | grep -v '\*' || fail "rows within chance: $(cat diff.txt)"
    "$PYPROF" diff --top 10000 | grep '^  *[0-9]' | grep -qv '\*' || fail "no rows within chance with --top"
    old=$("$PYPROF" runs | sed -n 3p | cut -d' ' -f1)
    "$PYPROF" diff "$old" | cmp - diff.txt
    "$PYPROF" merge --run "$old" -o old.bin
    "$PYPROF" diff old.bin pyprof.out 2>/dev/null | cmp - diff.txt
    # Collapsed: both weights, the first brought to the second's CPU or left as it is.
    "$PYPROF" diff --format collapsed -o diff.collapsed
    was=$(awk '{ n += $(NF - 1) } END { printf "%.0f\n", n }' diff.collapsed)
    [ "$was" -eq "$("$PYPROF" export --format collapsed old.bin | total)" ] || fail "A: $was"
    [ "$(total diff.collapsed)" -eq "$("$PYPROF" export --format collapsed 2>/dev/null | total)" ] || fail "B"
    "$PYPROF" diff --json --by time | judge '
data = json.load(sys.stdin)
for side, at in (("a", 0), ("b", 1)):
    found = sum(f["self_ns"][at] for f in data["functions"])
    assert found == data[side]["shown_ns"], (side, found)
    assert found == data[side]["cpu_ns"] - data[side]["own_ns"] - data[side]["difference_ns"], side
    for f in data["functions"]:
        for of in "self", "total":
            share = f[of + "_ns"][at] / found
            assert f[of + "_low"][at] - 1e-6 <= share <= f[of + "_high"][at] + 1e-6, f
changed = {f["text"] for f in data["functions"] if f["total_significant"]}
assert {"fib (app.py)", "digest (app.py)"} <= changed, changed
assert not any(f["self_significant"] and f["self_chance"] > 0.05 for f in data["functions"])'
    # What the file is called says what it is, unless an option does.
    "$PYPROF" diff -o diff.folded && "$PYPROF" diff --format collapsed | cmp - diff.folded
    "$PYPROF" diff -o diff.json && "$PYPROF" diff --json | cmp - diff.json
    "$PYPROF" diff -o diff.other && cmp diff.txt diff.other
    "$PYPROF" diff --format text -o text.html && cmp diff.txt text.html
    "$PYPROF" diff old.bin pyprof.out -o diff.html 2>/dev/null
    "$PYPROF" diff old.bin pyprof.out --format html -o - | cmp - diff.html
    "$PYPROF" diff --by time old.bin pyprof.out -o time.html 2>/dev/null
    ! cmp -s time.html diff.html || fail "--by time makes no difference"
    ends_with 2 "$PYPROF" flame --by time old.bin -o never.html 2>err.txt
    [ ! -e never.html ]
    lines_of err.txt 1 '[-]-by '
    ends_with 2 "$PYPROF" diff --by cpu -o never.html 2>err.txt
    [ ! -e never.html ]
    ends_with 1 "$PYPROF" diff nowhere 2>err.txt
    lines_of err.txt 1 "no run 'nowhere'"
}

# gate STATUS ARGUMENTS...: diff with these ends so.
gate() {
    local expected=$1 status=0
    shift
    "$PYPROF" diff "$@" >gate.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || fail "$*: status $status: $(cat err.txt gate.txt)"
}

# made FILE FUNCTION=SAMPLES...: a profile in which each of these has so many samples of 10 ms.
made() {
    PYTHONPATH="$ROOT/tests/web" /usr/bin/python3 -c '
import logs, sys
log = logs.Log()
for function in sys.argv[2:]:
    name, _, samples = function.partition("=")
    log.sample("MainThread", [logs.python(name)], int(samples) * 10000000, 0, True, int(samples))
log.write(sys.argv[1])' "$@"
}

@test "diff: where no change is more than chance, the three largest are there, not marked" {
    made a.pprof f0=100 f1=100 f2=100 f3=100 f4=100 f5=100
    made b.pprof f0=100 f1=101 f2=102 f3=103 f4=104 f5=105
    "$PYPROF" diff a.pprof b.pprof >small.txt
    [ "$(grep -oE '^ +1\.00 +1\.[0-9]+ +\+0\.0[0-9]  .* f[0-9]' small.txt | grep -o '..$' | paste -sd' ')" = "f5 f4 f3" ] || fail "$(cat small.txt)"
    grep -qxF '  and 3 more; no change is more than chance' small.txt || fail "$(cat small.txt)"
    # The change in a row is that of the values in it.
    "$PYPROF" diff --by share --top 100 a.pprof b.pprof >share.txt
    awk '/ f[0-9] / { n++; d = $2 - $1 - $3; if (d > 0.01 || d < -0.01) exit 1 } END { exit n != 6 }' share.txt || fail "$(cat share.txt)"
}

@test "diff: a profile and itself: nothing is marked, nothing is listed, no gate fails" {
    once
    gate 0 pyprof.out pyprof.out --fail-above 0.001%
    grep -q 'no change is more than chance' gate.txt || fail "$(cat gate.txt)"
    ! grep -q '^  *[0-9].*app.py' gate.txt || fail "$(cat gate.txt)"
    grep -q 'nothing is slower' err.txt || fail "$(cat err.txt)"
    gate 0 pyprof.out pyprof.out
    ! grep -q slower err.txt || fail "$(cat err.txt)"
}

@test "diff DIR: its two latest runs; where it has one, that and the latest run here" {
    for name in first second; do
        echo "def $name(): return sum(range(9000000))
for _ in range(3): $name()" >app.py
        profiled PYPROF_OUT="$PWD/runs" "$PYTHON" app.py
        [ $name = second ] && break
        run "$PYPROF" diff runs
        [ "$status" -eq 1 ] && [[ $output == "pyprof: there is only one run in runs: give two profiles, 'pyprof diff A B'" ]] || fail "$status $output"
    done
    "$PYPROF" diff runs >diff.txt
    grep -qE ' \+[0-9.]+\*.* second ' diff.txt && grep -qE ' -[0-9.]+\*.* first ' diff.txt || fail "$(cat diff.txt)"
    PYPROF_OUT=runs "$PYPROF" diff ./runs/ | grep -qE ' \+[0-9.]+\*.* second ' || fail "the directory that is the default, too"
    # Where there is another directory, too, with a word on it.
    profiled "$PYTHON" -c 'def third(): return sum(range(9000000))
for _ in range(3): third()'
    "$PYPROF" diff runs 2>err.txt | cmp - diff.txt
    [ "$(cat err.txt)" = "pyprof: compared: the two latest runs of runs; its latest run and the latest here: pyprof diff runs pyprof.out" ] ||
        fail "$(cat err.txt)"
    "$PYPROF" diff runs pyprof.out 2>/dev/null | grep -qE ' \+[0-9.]+\*.* third ' || fail "the latest of each"
    mkdir one
    cp "$(find runs -name '*.pyprof' -print -quit)" one
    (
        cd one
        for name in nonexist ./nonexist; do
            ! "$PYPROF" diff $name 2>err.txt || fail "compared"
            lines_of err.txt 1 "^pyprof: $name: [Nn]o such file or directory"
        done
    )
    "$PYPROF" diff one | grep -qE ' \+[0-9.]+\*.* third ' || fail "the only run, and the latest here"
}

@test "diff --fail-above: 1 for what got slower, by its name; 2 where nothing can be compared, so that nothing seems slower" {
    once
    gate 1 --fail-above 3%
    grep -qE '^pyprof: slower by [0-9.]+ % of A.s CPU: fib \(app\.py\)' err.txt || fail "$(cat err.txt)"
    ! grep -q 'digest' err.txt || fail "what became faster: $(cat err.txt)"
    [ "$(grep -c . err.txt)" -le 13 ] || fail "$(cat err.txt)"
    # Larger than any change; and in other forms.
    gate 0 --fail-above 101
    gate 1 --fail-above 3 --json
    /usr/bin/python3 -m json.tool gate.txt >/dev/null
    gate 1 --fail-above 3% --format collapsed -o stacks.collapsed
    gate 2 nowhere --fail-above 3%
    gate 2 nowhere pyprof.out --fail-above 3%
    gate 2 --fail-above 3% -o nowhere/diff.txt
    for percent in 0 -1 x 3x ''; do
        gate 2 --fail-above "$percent"
        lines_of err.txt 1 'takes a percentage'
    done
    gate 2 --fail-above 3% -o page.html
    [ ! -e page.html ]
}

# As shares fib got slower when digest became faster: its own CPU time is what it was.
@test "diff: what became faster makes nothing else slower, but of shares" {
    made slow.pprof digest=100 fib=60
    made fast.pprof digest=20 fib=60
    gate 1 slow.pprof fast.pprof --fail-above 10% --by share
    grep -q 'slower by [0-9.]* % of A.s CPU: fib (app.py)' err.txt || fail "$(cat err.txt)"
    gate 0 slow.pprof fast.pprof --fail-above 10%
    unwrapped <gate.txt | grep -q '^50 % faster than before, which may be chance (one run each): ' || fail "$(cat gate.txt)"
    grep -E ' digest \(app\.py\)' gate.txt | awk '{ exit !($6 + 0 < -0.5 && $6 ~ /\*/) }' || fail "$(cat gate.txt)"
    gate 1 fast.pprof slow.pprof --fail-above 10%
    grep -q 'digest (app.py)' err.txt || fail "$(cat err.txt)"
}

# All of the program is slower, so that no function's share changes: only CPU times of several runs say it.
@test "diff --all: the CPU of several runs is judged; that of one is not" {
    program >app.py
    for _ in 1 2 3; do
        PYPROF_OUT=base profiled "$PYTHON" app.py 0.2 0.2
        PYPROF_OUT=new profiled "$PYTHON" app.py 0.4 0.4
    done
    gate 1 --all base new --fail-above 20%
    grep -q 'the whole program' err.txt || fail "$(cat err.txt)"
    grep -qE '^[0-9]{2,} % slower than before: .* of CPU, ± [0-9.]+ % \(3 runs each\)$' gate.txt || fail "$(cat gate.txt)"
    [ "$(grep -cE '^[AB] .* 3 runs of [0-9.]+ to [0-9.]+ s CPU, ' gate.txt)" -eq 2 ] || fail "$(cat gate.txt)"
    # By what the runs have, not by shares, which are what they were.
    grep -E ' fib \(app\.py\)' gate.txt | awk '{ exit !($3 ~ /\*/) }' || fail "$(cat gate.txt)"
    "$PYPROF" diff --all base new --by share >gate.txt
    unwrapped <gate.txt | grep -q "The CPU of a run has changed, but no function's share of it" || fail "$(cat gate.txt)"
    grep -q "no function's change is more than chance" gate.txt || fail "$(cat gate.txt)"
    gate 0 --all new base --fail-above 20%
    gate 0 --all base base --fail-above 20%
    grep -q 'no change is more than chance' gate.txt || fail "$(cat gate.txt)"
    grep -qE '^No sure change: .* \+0\.0 ± [0-9.]+ % \(3 runs each\)$' gate.txt || fail "$(cat gate.txt)"
    gate 2 base new --fail-above 20%
    grep -q 'one run does not tell' err.txt || fail "$(cat err.txt)"
    gate 2 base new -o diff.svg
    [ ! -e diff.svg ]
    ! grep -q 'the whole program' err.txt || fail "$(cat err.txt)"
}

# commit SECONDS: a program that uses so much CPU in fib, and 0.3 s in digest.
commit() {
    sed "s/float(sys.argv.1.)/0.15/; s/float(sys.argv.2.)/$1/" <(program) >benchmark.py
    git add .
    git -c user.name=x -c user.email=x@localhost -c commit.gpgsign=false commit -q -m "fib: $1 s"
}

# gated STATUS ARGUMENTS...
gated() {
    local expected=$1 status=0
    shift
    RUNS=3 FAIL_ABOVE=20% PATH=$BUILD:$PATH ci/gate.sh "$@" >gate.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || fail "$*: status $status: $(cat gate.txt err.txt)"
    [ "$(git worktree list | wc -l)" -eq 1 ] || fail "$(git worktree list)"
}

# shellcheck disable=SC2016
@test "contrib/ci/gate.sh as it stands: the same commit passes, a slower one fails, what cannot be compared does neither" {
    mkdir project && cd project && git init -q
    mkdir ci && cp "$ROOT/contrib/ci/gate.sh" ci/
    printf '%s\n' /pyprof-gate /gate.txt /err.txt >.gitignore
    commit 0.15
    gated 0 HEAD "$PYTHON" benchmark.py
    grep -q 'nothing is slower' err.txt || fail "$(cat err.txt)"
    [ ! -e pyprof-gate/diff.html ]
    [ "$("$PYPROF" runs pyprof-gate/base.pyprof | grep -c benchmark.py)" -eq 3 ]
    [ "$("$PYPROF" runs pyprof-gate/new.pyprof | grep -c benchmark.py)" -eq 3 ]
    commit 0.5
    gated 1 HEAD~1 "$PYTHON" benchmark.py
    grep -qE 'slower by [0-9.]+ % of A.s CPU: the whole program' err.txt || fail "$(cat err.txt)"
    grep -qE 'slower by [0-9.]+ % of A.s CPU: fib \(benchmark.py\)' err.txt || fail "$(cat err.txt)"
    ! grep -q digest err.txt || fail "$(cat err.txt)"
    [ -s pyprof-gate/diff.html ]
    gated 2 HEAD~1 false
    gated 2 no-such-commit "$PYTHON" benchmark.py
    gated 2 HEAD
    grep -q 'gate.sh COMMIT COMMAND' err.txt || fail "$(cat err.txt)"
    # The workflow installs what building needs, and runs the script by its usage.
    sed -n '/^if \[ "$want" != build/q; s/^need \([^ ]*-dev\) .*/\1/p' "$ROOT/tests/deps.sh" | grep -v '^libc6' | sort >needed.txt
    grep -o '[a-z0-9]*-dev' "$ROOT/contrib/ci/pyprof.yml" | sort | diff needed.txt -
    grep -q 'ci/gate.sh "[^"]*" python benchmark.py' "$ROOT/contrib/ci/pyprof.yml"
}
