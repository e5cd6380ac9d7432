# pyprof run, report and info as a user meets them.
load helper

runs() {
    status=0
    "$PYPROF" run -- "$PYTHON" "$WORKLOADS/output.py" >out.txt 2>err.txt <<<"input" || status=$?
    [ "$status" -eq 7 ] || fail "status $status, expected the program's 7: $(cat err.txt)"
    grep -q '^out:input' out.txt || fail "stdout: $(cat out.txt)"
    # The program's own line and one of ours.
    lines_of err.txt 2 'pyprof'
    grep -q 'pyprof\.out' err.txt || fail "it does not say where the files are: $(cat err.txt)"
}

@test "pyprof run: the program's streams and status, one line with what to type next" {
    with_some_pythons runs
}

kept() {
    # What is preloaded already stays.
    cat >other.c <<'END'
int pyprof_test_other(void) { return 42; }
END
    gcc -shared -fPIC -o other.so other.c
    LD_PRELOAD=$PWD/other.so "$PYPROF" run -- "$PYTHON" -c 'import ctypes, os
print(ctypes.CDLL(None).pyprof_test_other(), "libpyprof" in os.environ["LD_PRELOAD"])' >out.txt 2>err.txt
    [ "$(cat out.txt)" = "42 True" ] || fail "$(cat out.txt err.txt)"
}

@test "pyprof run appends to LD_PRELOAD" {
    with_some_pythons kept
}

@test "pyprof run of a program that does not exist: status 127 and one line" {
    status=0
    "$PYPROF" run -- ./no-such-program >out.txt 2>err.txt || status=$?
    [ "$status" -eq 127 ] || fail "status $status"
    grep -q 'no-such-program' err.txt || fail "$(cat err.txt)"
}

report() {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    "$PYPROF" report >report.txt 2>err.txt
    [ ! -s err.txt ] || fail "stderr: $(cat err.txt)"
    grep -qE 'spin \(.*spin\.py:[0-9]+\)' report.txt || fail "no function: $(cat report.txt)"
    for word in self total sampled unsampled lost own 'thread exit' difference; do
        grep -qi "$word" report.txt || fail "the report does not name $word: $(cat report.txt)"
    done
    # The same from the file and from the directory's name.
    "$PYPROF" report pyprof.out >directory.txt
    "$PYPROF" report "$(log_files)" >file.txt
    diff <(sed '/^Next/,$d' report.txt) <(sed '/^Next/,$d' directory.txt) || fail "the default is not pyprof.out"
    diff <(grep -c spin directory.txt) <(grep -c spin file.txt) || fail "file and directory differ"
}

@test "pyprof report: functions with self and total, accounting" {
    with_some_pythons report
}

fields() {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    info >info.json
    "$PYTHON" - info.json "$VERSION" <<'END'
import json, sys

info = json.load(open(sys.argv[1]))
process, = info["processes"]
wanted = """run pid python_version cmdline start_unix_ns end_unix_ns threads exited_threads samples cpu_ns sampled_ns
unsampled_ns lost_samples lost_ns own_ns thread_exit_ns difference_ns before_start_ns handler_ns truncated warnings""".split()
missing = [key for key in wanted if key not in process]
problems = [f"missing: {missing}"] if missing else []
if info["version"] != 1:
    problems.append(f"version {info['version']}")
if process["python_version"] != sys.argv[2]:
    problems.append(f"python_version {process['python_version']}, not {sys.argv[2]}")
if "spin.py" not in str(process["cmdline"]):
    problems.append(f"cmdline {process['cmdline']}")
handler = process["handler_ns"]
if not 0 < handler["p50"] <= handler["p99"] <= handler["max"] or not 0 < handler["mean"] <= handler["max"]:
    problems.append(f"handler_ns {handler}")
# Fewer than 100 where other programs want the CPUs as well.
if not 5 <= process["samples"] <= 130:
    problems.append(f"samples {process['samples']} in 1 s at 100 Hz")
if process["lost_samples"] or process["lost_ns"]:
    problems.append(f"lost {process['lost_samples']} samples, {process['lost_ns']} ns")
print("\n".join(problems))
sys.exit(1 if problems else 0)
END
    reader accounting info.json
}

@test "pyprof info --json: all fields, right values" {
    with_some_pythons fields
}
