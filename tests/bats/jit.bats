# Code that no unwind rows describe: perf's trampolines between Python functions, and what CPython's JIT makes.
load lib/helper

# whole_stacks NAME: of the samples in the program hardly any native stack ends early, and the frames of both kinds are where
# they belong. One sample may be another, however few there are.
whole_stacks() {
    collapsed --unit samples >"$1.txt"
    awk -v what="$1" '
        !/main \(.*hot_loop.py/ { next }
        { all += $NF }
        /truncated: code outside|\[jit\]/ { cut += $NF; if (!example) example = $0 }
        /^_start .*main \(.*hot_loop.py/ { whole += $NF }
        END {
            printf "%s: of %d samples %d from _start on, %d cut\n", what, all, whole, cut
            if (cut > all / 20 + 1) { print "cut: " example; exit 1 }
            if (!whole || whole < 0.8 * all - 1) exit 1
        }' "$1.txt"
}

behind_trampolines() {
    case $VERSION in 3.8.* | 3.9.* | 3.10.* | 3.11.*) return ;; esac
    until_sampled 'main \(' profiled "$PYTHON" -X perf "$WORKLOADS/hot_loop.py" 1
    rm -f "/tmp/perf-$(reader field <(info) pid).map"
    whole_stacks trampolines
    # The Python frames are there themselves.
    if grep -m 3 'py::' trampolines.txt; then
        fail "trampolines are shown"
    fi
}

@test "stacks go on behind the trampolines of -X perf" {
    with_each_python behind_trampolines
}

behind_the_jit() {
    PYTHON_JIT=1 "$PYTHON" -c 'import sys; sys.exit(not (hasattr(sys, "_jit") and sys._jit.is_enabled()))' || return 0
    until_sampled 'main \(' profiled PYTHON_JIT=1 "$PYTHON" "$WORKLOADS/hot_loop.py" 1
    whole_stacks jit
}

@test "stacks go on behind code of CPython's JIT" {
    with_each_python behind_the_jit
}

# share_of MIN PATTERN...: percent of the CPU in stacks.txt.
share_of() {
    local share least=$1
    shift
    share=$(reader share stacks.txt "$@")
    [ "$share" -ge $((least - $(few 2))) ] || fail "only $share % of the CPU is in $*: $(cut -c1-400 stacks.txt | head -n 20)"
}

@test "functions that a JIT names in /tmp/perf-PID.map have their names" {
    profiled "$PYTHON" "$WORKLOADS/made_jit.py" 1 >truth.txt
    rm -f "/tmp/perf-$(reader field <(info) pid).map"
    collapsed >stacks.txt
    # 40 %, 20 %, 40 %, less the second in which code of the first name became that of the last one
    share_of 20 'main \(.*made_jit.py:\d+\)' 'run \(.*' 'first.made \(jit\)'
    share_of 10 'before \(jit\)'
    share_of 2 'second \(jit\)'
    reader near "$(awk '
        /(first:made|before|second) \(jit\) [0-9]+$|\[jit\] [0-9]+$/ { sum += $NF }
        END { print sum }' stacks.txt)" "$(awk '{ print $1 + $2 + $3 }' truth.txt)" 8 "all that the JIT made" <(info)
    # nothing of one function under the name of another, but for what a sample at its ends weighs
    for name in first:made before second; do
        truth=$(awk -v name="$name" '{ print name == "first:made" ? $1 : name == "before" ? $2 : $3 }' truth.txt)
        found=$(awk -v name="$name" 'index($0, name " (jit)") { sum += $NF } END { print sum + 0 }' stacks.txt)
        [ "$found" -le "$truth" ] || cpu_near "$found" "$truth" 12 "$name"
    done
    "$PYPROF" export pyprof.out --native=all --format speedscope | grep -q '"name":"second","file":"jit"'
}

# What was added to it after the last flush is unknown.
@test "a map of names that is removed before the end names nothing that may have been replaced since" {
    profiled "$PYTHON" -c '
import os, sys
sys.argv = ["", "0.01"]
exec(open(os.environ["WORKLOADS"] + "/made_jit.py").read())
run(make("early", 2048), 1.5)
for i in range(20):
    run(make("late%d" % i, 2048), 0.02)
    if i == 4:
        try:
            os.execv("/", ["/"]) # which fails after all samples are written
        except OSError:
            pass
os.unlink(PATH)' >truth.txt
    collapsed >stacks.txt
    awk '
        /early \(jit\)/ { early += $NF }
        match($0, /late[0-9]+ \(jit\)/) { late[substr($0, RSTART, RLENGTH)] += $NF }
        END {
            for (name in late) if (late[name] > 80000000) { print name " has " late[name]; exit 1 }
            if (!early) { print "early has no name"; exit 1 }
        }' stacks.txt
}

# A process with the same pid has left names for all addresses; the program's own come after them.
@test "names that a dead process of the same pid has left name nothing" {
    # shellcheck disable=SC2016
    profiled sh -c '
i=$((0x7e0000000000 >> 30))
while [ $i -lt $((0x800000000000 >> 30)) ]; do
    printf "%x 40000000 dead\n" $((i << 30))
    i=$((i + 1))
done >"/tmp/perf-$$.map"
printf 7e00 >>"/tmp/perf-$$.map"
exec "$@"' sh "$PYTHON" "$WORKLOADS/made_jit.py" 1 >truth.txt
    rm -f "/tmp/perf-$(reader field <(info) pid).map"
    collapsed >stacks.txt
    if grep -m 3 'dead (jit)' stacks.txt; then
        fail "names of a dead process"
    fi
    share_of 10 'before \(jit\)'
}

# The child has the code, but its own map does not have the names.
@test "names of a JIT's code are still known in the child of a fork" {
    profiled "$PYTHON" -c '
import os, sys
sys.argv = ["", "0.01"]
exec(open(os.environ["WORKLOADS"] + "/made_jit.py").read())
inherited = make("inherited", 2048)
run(inherited, 1.3)
pid = os.fork()
if pid == 0:
    run(inherited, 1)
    os._exit(0)
os.waitpid(pid, 0)' >truth.txt
    for pid in $("$PYPROF" info --json pyprof.out | sed -n 's/^ *"pid": \([0-9]*\).*/\1/p'); do
        rm -f "/tmp/perf-$pid.map"
        collapsed --pid "$pid" | awk '/inherited \(jit\)/ { named += $NF } /inherited \(jit\)|\[jit\]/ { made += $NF }
            END { if (!named || named < 0.6 * made) { print named " of " made; exit 1 } }' || fail "process $pid"
    done
}

# The parent has read a part of its map only: what is there may be outdated, and the child never reads the rest.
@test "outdated names of a JIT's code name nothing in the child of a fork" {
    profiled "$PYTHON" -c '
import os, sys
sys.argv = ["", "0.01"]
exec(open(os.environ["WORKLOADS"] + "/made_jit.py").read())
inherited = make("outdated", 2048)
name("1000 8 other\n" * 2000000)
make("right", 2048)
run(inherited, 1.3)
pid = os.fork()
if pid == 0:
    run(inherited, 1)
    os._exit(0)
os.waitpid(pid, 0)' >truth.txt
    rm -f "/tmp/perf-$("$PYPROF" info --json pyprof.out | sed -n 's/^ *"pid": \([0-9]*\).*/\1/p' | head -n 1).map"
    if collapsed | grep -m 3 'outdated (jit)'; then
        fail "names that code no longer has"
    fi
    collapsed | grep -qF '[jit]' || fail "nothing of the JIT's"
    # Such code has a row and a share of its own, and the shares of all code are all that there is.
    "$PYPROF" report --full | tee report.txt | unwrapped >line.txt
    "$PYPROF" report | unwrapped >screen.txt
    grep -qE '^ +[0-9.]+ s +[0-9.]+ % +[0-9.]+ %  \[jit\]$' report.txt || fail "no row: $(cat report.txt)"
    grep -qE "Native code: Python's own [0-9.]+ %, libraries [0-9.]+ %, of JITs [0-9.]+ %;" screen.txt || fail "$(cat screen.txt)"
    sed 's/.* CPU: //; s/ GIL held.*//' line.txt | grep -oE '[0-9.]+ %' |
        awk '{ sum += $1 } END { exit !(sum > 99.5 && sum < 100.5) }' || fail "not all CPU has code: $(cat line.txt)"
}

@test "code of a JIT from which no stack was whole so far is a JIT's: as the callee of its caller, in a row and in the sums" {
    cat >app.py <<'END'
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def once():
    for _ in range(20):
        memory = libc.mmap(None, 4096, 7, 0x22, -1, 0)
        ctypes.memmove(memory, bytes.fromhex("4889f848ffc875fbc3"), 9)
        ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(memory)(50000000)
once()
END
    for _ in 1 2 3; do
        rm -rf pyprof.out
        PYPROF_HZ=20 until_sampled 'once \(' profiled "$PYTHON" app.py
        "$PYPROF" report >report.txt
        grep -qE ' once \(app.py:5\) +[0-9]+ % \[jit\]$' report.txt || fail "$(cat report.txt)"
        collapsed >stacks.txt
        ! grep -q 'no module' stacks.txt || fail "$(cat stacks.txt)"
        "$PYPROF" report --json | judge '
report = json.load(sys.stdin)
assert report["jit_ns"] > 4 * report["library_ns"], (report["jit_ns"], report["library_ns"])'
    done
}

# numba tells debuggers what it makes, whatever its settings.
in_numba() {
    venv=$(venv_with numba)
    profiled "$venv/bin/python" -c '
import time
from numba import njit
@njit
def made_by_numba(n):
    s = 0.0
    for i in range(n):
        s = (s + (i % 7) * 0.5) * 0.999999
    return s
made_by_numba(10)
end = time.process_time() + 3
while time.process_time() < end:
    made_by_numba(1000000)'
    collapsed | grep -v compile >stacks.txt
    share_of 70 '__main__::made_by_numba\(long long\) \(jit\)'
    awk '/made_by_numba\(long long\) \(jit\) [0-9]+$/ { named += $NF } /<module> \(<string>.*(jit\)|\[jit\]) [0-9]+$/ { made += $NF }
        END { if (named < 0.8 * made || !made) { print named " of " made; exit 1 } }' stacks.txt
}

@test "functions that numba makes have their names" {
    pythons=$(list_pythons | grep -E ' 3\.(8|12|13)\.[0-9]+ shared' || true)
    # Half a minute each, of installing it.
    [ -n "${CHECK_LONG:-}" ] || pythons=$(tail -n 1 <<<"$pythons")
    with_pythons "$pythons" in_numba
}

@test "a list for debuggers without an end, of code at the end of all addresses: the profile is whole, and code has its name" {
    gcc -O1 -shared -fPIC -o hostile.so "$WORKLOADS/lib/hostile_list.c"
    profiled "$PYTHON" -c '
import ctypes, time
library = ctypes.CDLL("./hostile.so")
end = time.thread_time() + 1.2
while time.thread_time() < end:
    library.run(10000000)'
    adds_up
    grep -q '"ended": true' info.json || fail "the profile has no end: $(cat info.json)"
    collapsed >stacks.txt
    cpu_near "$(awk '/;made_here \(jit\) [0-9]+$/ { n += $NF } END { print n + 0 }' stacks.txt)" 1200000000 20 made_here
}

# Assembly that says nothing about its frame, as OpenBLAS has it: what called it is known from the eval frame on.
around_assembly() {
    case $VERSION in 3.8.* | 3.9.* | 3.10.*) return ;; esac # their eval frames have no markers
    gcc -shared -fPIC -O1 -o assembly.so "$WORKLOADS/lib/assembly.c"
    until_sampled 'spin_without_cfi' profiled "$PYTHON" -c '
import ctypes, time
library = ctypes.CDLL("./assembly.so")
def before():
    while time.thread_time() < 0.5:
        sum(range(1000))
def outer():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        inner()
def inner():
    library.spin_without_cfi(3000000)
before() # where the marker lies in an eval frame is learnt from a stack that is whole
outer()'
    collapsed >stacks.txt
    awk '
        /spin_without_cfi/ { spin += $NF }
        /^_start .*;outer \(.*;inner \(.*\[native stack truncated: no unwind rule for this address\];spin_without_cfi \(assembly.so\)/ { whole += $NF }
        END {
            printf "spin_without_cfi %.0f ns, from _start on %.0f ns\n", spin, whole
            if (!whole || whole < 0.8 * spin) exit 1
        }' stacks.txt
    # A stack that goes on to _start is complete, whatever is missing in between.
    info >info.json
    cut=$(reader truncated info.json | awk -F': ' '/^native/ { n += $NF } END { print n + 0 }')
    between 0 "$cut" $(($(reader field info.json samples) / 10 + 1)) "stacks that are not complete: $(reader truncated info.json)"
}

@test "stacks go on behind assembly without unwind information" {
    with_each_python around_assembly
}
