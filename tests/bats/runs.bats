# Several runs: runs, merge, annotate.
load lib/helper
load lib/two_runs

@test "runs lists two runs, the newest first; --run takes the beginning of an id" {
    once
    "$PYPROF" runs >runs.txt
    lines_of runs.txt 3 '  python[^ /]* app.py 0.1 1'
    sed -n 2p runs.txt | grep -q 'app.py 0.1 1' || fail "$(cat runs.txt)"
    sed -n 3p runs.txt | grep -q 'app.py 1 0.1' || fail "$(cat runs.txt)"
    /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" 80 "$PYPROF" runs >narrow.txt
    grep -q 'app.py 0.1 1' narrow.txt || fail "$(cat narrow.txt)"
    old=$(sed -n 3p runs.txt | cut -d' ' -f1)
    "$PYPROF" report --run "$old" >report.txt
    head -n 1 report.txt | grep -q '1 0.1' || fail "$(cat report.txt)"
    "$PYPROF" runs --json | judge '
runs = json.load(sys.stdin)["runs"]
assert [run["processes"] for run in runs] == [1, 1], runs
assert runs[0]["start_unix_ns"] > runs[1]["start_unix_ns"], runs
assert all(run["cpu_ns"] > 0.5e9 and run["duration_ns"] > 0.5e9 for run in runs), runs'
}

# processes COMMAND...: how many processes the report of this command is of.
processes() {
    "$PYPROF" info --json "$@" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["total"]["processes"])'
}

# What tox, bazel and pyperf do: children get the variables that are listed, and no others.
@test "a launch is one run although its children's environment was scrubbed; what the shell starts next is another" {
    cat >launch.py <<'END'
import os, subprocess, sys

kept = {name: os.environ[name] for name in ("LD_PRELOAD", "PYPROF_OUT")}

def work():
    sum(i * i for i in range(1500000))

work()
if sys.argv[1:]:
    for rest in sys.argv[2:], []:
        subprocess.run([sys.executable, sys.argv[0], *rest], env=kept, check=True)
elif not os.fork():
    work()
    os._exit(0)
else:
    os.wait()
END
    # It starts a child that starts two others, of which each forks, and another of these.
    export PYPROF_OUT=out
    "$PYPROF" run -- "$PYTHON" launch.py a b 2>err.txt
    lines_of err.txt 2 ', 8 processes; next: pyprof report out$'
    [ "$(processes 2>err.txt)" -eq 8 ] || fail "$("$PYPROF" info)"
    [ ! -s err.txt ] || fail "$(cat err.txt)"
    "$PYPROF" runs >runs.txt
    lines_of runs.txt 2 ' 8  .*launch.py a b'
    run=$(sed -n '2s/ .*//p' runs.txt)
    "$PYPROF" info | grep -c "run $run" | grep -qx 8 || fail "$("$PYPROF" info)"
    "$PYPROF" top --count 1 | sed -n 2p | grep -q '^0 processes running, 8 ended' || fail "$("$PYPROF" top --count 1)"
    "$PYPROF" doctor | unwrapped | grep -q 'the latest run, [0-9a-f]*: 8 processes' || fail "$("$PYPROF" doctor)"
    # Without pyprof run; by hand from the same shell, when the first launch is over.
    profiled "$PYTHON" launch.py a
    profiled "$PYTHON" launch.py
    "$PYPROF" runs >runs.txt
    lines_of runs.txt 4 ' 2  .*launch.py'
    sed -n 3p runs.txt | grep -q ' 5  .*launch.py a' || fail "$(cat runs.txt)"
    [ "$(processes 2>err.txt)" -eq 2 ] || fail "$("$PYPROF" info)"
    lines_of err.txt 1 '; 2 other runs left out .--all merges them, --run ID chooses one.'
    [ "$(processes --run "$run")" -eq 8 ] || fail "$("$PYPROF" info --run "$run")"
    "$PYPROF" merge --run "$run" -o one.bin
    [ "$(processes one.bin)" -eq 8 ] || fail "$("$PYPROF" info one.bin)"
    [ "$("$PYPROF" report --full --run "$run" | sed -n 2p | cut -d, -f1)" = "8 processes" ] || fail "$("$PYPROF" report --run "$run")"
}

@test "what a shell runs at the same time is one run; what it runs later, and what job control starts, are others" {
    cat >burns.py <<'END'
import time
end = time.process_time() + 0.3
while time.process_time() < end:
    sum(range(2000))
END
    # shellcheck disable=SC2016
    profiled sh -c '"$0" burns.py & "$0" burns.py; wait; "$0" burns.py later' "$PYTHON"
    "$PYPROF" runs >runs.txt
    lines_of runs.txt 3 'burns.py'
    sed -n 2p runs.txt | grep -q ' 1  .*burns.py later' || fail "$(cat runs.txt)"
    sed -n 3p runs.txt | grep -q ' 2  .*burns.py$' || fail "$(cat runs.txt)"
    # shellcheck disable=SC2016
    profiled bash -c 'set -m; "$0" burns.py & "$0" burns.py & wait' "$PYTHON"
    "$PYPROF" runs >runs.txt
    [ "$(head -n 3 runs.txt | grep -c ' 1  .*burns.py$')" -eq 2 ] || fail "$(cat runs.txt)"
}

@test "merge: one file that says what the files said; cat does the same" {
    once
    "$PYPROF" merge --all -o all.bin 2>merge.txt
    grep -q 'merged 2 parts' merge.txt || fail "$(cat merge.txt)"
    "$PYPROF" export --all --format collapsed >apart.txt
    "$PYPROF" export --format collapsed all.bin >merged.txt
    cmp apart.txt merged.txt
    cat pyprof.out/*.pyprof >cat.bin
    "$PYPROF" export --format collapsed cat.bin | cmp - merged.txt
    "$PYPROF" info --all --json >apart.json
    "$PYPROF" info --json all.bin | cmp - apart.json
    # One of the runs of a merged file.
    new=$("$PYPROF" runs all.bin | sed -n 2p | cut -d' ' -f1)
    "$PYPROF" export --run "$new" --format collapsed all.bin >one.txt
    "$PYPROF" export --format collapsed 2>latest.err | cmp - one.txt
    # What is there twice counts once, and that is said.
    "$PYPROF" export --format collapsed all.bin pyprof.out --all 2>twice.txt | cmp - merged.txt
    lines_of twice.txt 1 '2 parts that are there twice'
}

@test "merge: what was cut short is left out, and the rest is whole" {
    once
    set -- pyprof.out/*.pyprof
    head -c -7 "$1" >cut.pyprof
    "$PYPROF" merge -o all.bin cut.pyprof "$2"
    "$PYPROF" info all.bin >info.txt 2>err.txt
    [ ! -s err.txt ] || fail "$(cat err.txt)"
    [ "$(grep -c '^process' info.txt)" -eq 2 ] || fail "$(cat info.txt)"
}

@test "annotate: lines with their CPU; a source that is missing or was changed is said, not shown" {
    once
    "$PYPROF" annotate app.py --all >annotated.txt
    grep -E '^ +[0-9.]+ s +[0-9.]+ % .*return n if n < 2' annotated.txt | awk '{ exit !($1 > 0.3) }' || fail "$(cat annotated.txt)"
    # All self time of the file's lines is that of samples with one of its lines innermost.
    grep -qE '^ {30,}[0-9]+  def burn' annotated.txt || fail "no line around: $(cat annotated.txt)"
    # Python before 3.9 names it as the command line did, later ones by its whole path.
    cp -p "$BATS_FILE_TMPDIR/app.py" kept.py
    echo '# changed' | tee -a app.py >>"$BATS_FILE_TMPDIR/app.py"
    "$PYPROF" annotate app.py --all >annotated.txt
    mv kept.py "$BATS_FILE_TMPDIR/app.py"
    grep -q 'source was changed' annotated.txt || fail "$(cat annotated.txt)"
    grep -qE '^ +[0-9.]+ s .* 6  $' annotated.txt || fail "$(cat annotated.txt)"
    rm app.py
    mv "$BATS_FILE_TMPDIR/app.py" "$BATS_FILE_TMPDIR/gone.py"
    "$PYPROF" annotate app.py --all >annotated.txt
    # what is a pipe by now is not waited for
    mkfifo "$BATS_FILE_TMPDIR/app.py" app.py
    timeout -k 5 20 "$PYPROF" annotate app.py --all >piped.txt || fail "status $? with a pipe"
    rm "$BATS_FILE_TMPDIR/app.py" app.py
    diff annotated.txt piped.txt
    mv "$BATS_FILE_TMPDIR/gone.py" "$BATS_FILE_TMPDIR/app.py"
    grep -q 'source is not here' annotated.txt || fail "$(cat annotated.txt)"
    ends_with 1 "$PYPROF" annotate pp.py --all 2>err.txt
    grep -q 'pp.py: no function of this file' err.txt || fail "$(cat err.txt)"
}
