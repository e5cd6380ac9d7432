# shellcheck shell=bash
# What all suites share. A suite says `load helper`; each test gets a fresh directory in $BATS_TEST_TMPDIR and runs there.

bats_require_minimum_version 1.5.0 # run -STATUS
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
LIBPYPROF=$BUILD/libpyprof.so
PYPROF=${PYPROF:-$BUILD/pyprof}
WORKLOADS=$ROOT/tests/workloads
# Reads what pyprof prints. Which Python runs it does not matter.
READ="$(command -v /usr/bin/python3 || command -v python3) $ROOT/tests/bats/lib/read.py"
# Environments of packages: 66 of them, which take a clean checkout minutes to make.
VENVS=${XDG_CACHE_HOME:-$HOME/.cache}/pyprof-tests/venv
# What hangs is stopped; a machine that is ten times slower is not what hangs.
TIMEOUT=${TIMEOUT:-600}
export ROOT BUILD LIBPYPROF PYPROF WORKLOADS
# PYPROF may name another build of the tool; the settings of the library are the tests' own.
unset LD_PRELOAD "${!PYPROF_@}"
# TESTED_CLOCK=perf: what must not harm the program must not do so by perf events either.
[ -z "${TESTED_CLOCK:-}" ] || export PYPROF_CLOCK=$TESTED_CLOCK
# Where everything is translated, a sample costs more than one per cent allows.
[ -z "${TESTED_OVERHEAD:-}" ] || export PYPROF_MAX_OVERHEAD=$TESTED_OVERHEAD

# shellcheck source=tests/bats/lib/pythons.sh
. "$ROOT/tests/bats/lib/pythons.sh"

# A libc that is older than the compiler's loads no library that asks for its newer versions of symbols: these ask for none.
gcc() {
    case "$PYTHON $*" in
    */bullseye/*-shared*) command gcc "$@" -nodefaultlibs -Wl,-z,undefs -l:libc_nonshared.a ;;
    *) command gcc "$@" ;;
    esac
}

# Where the programs that left a core file in the test's directories died.
where_they_died() {
    local core program
    while read -r core; do
        program=$(gdb -nx -batch -c "$core" -ex 'info auxv' 2>/dev/null | sed -n 's/.*AT_EXECFN.*"\(.*\)"/\1/p')
        # shellcheck disable=SC2016 # gdb's $pc
        gdb -nx -batch -ex 'x/3i $pc' -ex 'info registers rax rbx rcx rdx rsi rdi rbp rsp' -ex 'thread apply all backtrace 20' "$program" "$core" 2>&1 |
            grep -v '^\[New LWP' | head -n 100
    done < <(find "$BATS_TEST_TMPDIR" -type f -name 'core*' -newer "$BATS_TEST_TMPDIR/started" | head -n 2)
}

# The server that a test has started in $server ends with it.
end_server() {
    [ -z "${server:-}" ] || stop_server "$server" "${SERVER_SIGNAL:-TERM}"
}

# A suite's function end_of_test is called first. (A trap on EXIT in a test itself would replace bats' own: its failure would
# go unsaid.)
teardown() {
    [ "$(type -t end_of_test)" != function ] || end_of_test
    end_server
    if [ -e "$BATS_TEST_TMPDIR/crashed" ]; then
        cat "$BATS_TEST_TMPDIR/crashed"
        where_they_died
        return 1
    fi
}

setup() {
    prepare
}

# For suites that have a setup of their own.
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    # The library's last resort is a directory there with a name of the user's: one test's files are not another's.
    export TMPDIR=$BATS_TEST_TMPDIR/TMPDIR
    mkdir "$TMPDIR"
    touch "$BATS_TEST_TMPDIR/started"
    ulimit -Sc "$(ulimit -Hc)"
    [ -e "$LIBPYPROF" ] || fail "$LIBPYPROF is missing: run make"
    [ -e "$PYPROF" ] || fail "$PYPROF is missing: run make"
    PYTHON_LINES=$(list_pythons)
    read -r PYTHON VERSION PYTHON_BUILD <<<"$(one_for_this_test <<<"$PYTHON_LINES")"
    export PYTHON VERSION PYTHON_BUILD PYTHON_LINES
    [ -e "$BUILD/workloads/embed" ] || fail "$BUILD/workloads/embed is missing: run make units helpers"
}

# needs_namespaces FLAGS...: of unshare. Root may not make them, or mount there, in most containers. In the test itself: in a
# subshell the skip would be lost.
needs_namespaces() {
    unshare "$@" sh -c 'mount -t tmpfs none /mnt' >/dev/null 2>&1 || skip "unshare $* and mount are not permitted here"
}

need_go() {
    command -v go >/dev/null && return
    [ -z "${CI:-}" ] || fail "go is missing (package golang-go)"
    skip "go is missing (package golang-go)"
}

# needs_ptrace: to trace a process that is not a child.
needs_ptrace() {
    if [ "$(id -u)" -ne 0 ] && [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" -ne 0 ]; then
        skip "a process may not trace one that is not its child here"
    fi
}

fail() {
    echo "$*"
    return 1
}

# profiled COMMAND...: under the library, output in ./pyprof.out unless PYPROF_OUT says otherwise.
profiled() {
    local status=0
    LD_PRELOAD=$LIBPYPROF timeout -k 5 "$TIMEOUT" env "$@" || status=$?
    # hung; or died of SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPROF, SIGSYS
    case $status in 124 | 132 | 133 | 134 | 135 | 136 | 139 | 155 | 159) echo "$status $*" >>"$BATS_TEST_TMPDIR/crashed" ;; esac
    return "$status"
}

# reader COMMAND ARGUMENTS...: see read.py.
reader() {
    # shellcheck disable=SC2086
    $READ "$@"
}

# judge CODE [ARGUMENT...]: Python with json, re, sys and collections.
judge() {
    ${READ%% *} -c "import collections, json, re, sys
$1" "${@:2}"
}

# cpu_near VALUE TRUTH PERCENT WHAT: of the CPU in a function in the profile.
cpu_near() {
    info >cpu_near.json
    "$PYPROF" export "${OUT:-pyprof.out}" --format perf --native=all 2>cpu_near.err >cpu_near.perf || true
    reader near "$@" cpu_near.json "$(awk '$NF == "cpu-clock:" && $(NF - 1) > n { n = $(NF - 1) } END { printf "%.0f", n }' cpu_near.perf)"
}

# collapsed [OPTIONS...]: the stacks of ./pyprof.out (or of $OUT) in ns, with all native frames unless the options say
# otherwise; without the accounting at their end.
# shellcheck disable=SC2120
collapsed() {
    (
        set -o pipefail
        "$PYPROF" export "${OUT:-pyprof.out}" --format collapsed --unit ns --native=all "$@" | sed '/^\[accounting: .* 0$/d'
    )
}

# few COUNT: what so many samples of the last profile are worth, in percent, and what has none. A program begins and ends with
# stacks that are not its work's, and beside other programs it may meet only ten ticks in a second.
few() {
    info | ${READ%% *} -c 'import json, sys
total = json.load(sys.stdin)["total"]
unsampled = min(total["unsampled_ns"] / (total["cpu_ns"] or 1), 0.4)
print(int(100 * int(sys.argv[1]) / (total["samples"] + 1) + 100 * unsampled) + 1)' "$1"
}

# until_sampled PATTERN COMMAND...: runs it until a line of stacks.txt matches: a tenth of a second may go by without a tick.
until_sampled() {
    local pattern=$1 runs=0
    shift
    while :; do
        rm -rf "${OUT:-pyprof.out}"
        "$@" || return
        # shellcheck disable=SC2119
        collapsed >stacks.txt
        ! grep -qE "$pattern" stacks.txt || return 0
        [ $((++runs)) -lt 10 ] || fail "no sample in $pattern in $runs runs: $(tail -n 20 stacks.txt)" || return
    done
}

info() {
    "$PYPROF" info --json "${OUT:-pyprof.out}"
}

# adds_up: leaves info.json; the sum of every process closes.
adds_up() {
    info >info.json
    reader accounting info.json
}

# ends_with STATUS COMMAND...: it ends with this status.
ends_with() {
    local wanted=$1 status=0
    shift
    "$@" || status=$?
    [ "$status" -eq "$wanted" ] || {
        echo "status $status, expected $wanted: $*" >&2
        return 1
    }
}

# unwrapped: sentences of stdin on one line, however wide the text was.
unwrapped() {
    tr -s ' \n' ' '
}

log_files() {
    find "${1:-pyprof.out}" -name '*.pyprof' 2>/dev/null | sort
}

# with_each_python FUNCTION [ARGUMENT...]: calls it with PYTHON, VERSION and PYTHON_BUILD set (see pythons.sh), in a directory
# of its own; all must succeed. For what depends on the interpreter: stacks, lines, thread states, start, fork and exit. `make check` takes
# two of them, by the test's name; check-long, and PYTHONS, all.
with_each_python() {
    local pythons
    pythons=$(list_pythons)
    [ -n "${CHECK_LONG:-}${PYTHONS:-}" ] || pythons=$(two_for_this_test <<<"$pythons")
    with_pythons "$pythons" "$@"
}

# with_a_python FUNCTION [ARGUMENT...]: with the test's own, for what more tests do, or sets a trap.
with_a_python() {
    with_pythons "$PYTHON $VERSION $PYTHON_BUILD" "$@"
}

# with_pythons LINES FUNCTION [ARGUMENT...]: LINES as list_pythons has them.
with_pythons() {
    local python version build bad=0 count=0 status
    [ -n "$1" ] || skip "no Python here that this test is for"
    while read -r python version build <&3; do
        echo "== $python ($version $build)"
        mkdir "$BATS_TEST_TMPDIR/$((++count))"
        # In a subshell with errexit of its own: `if` and `||` would switch it off inside.
        set +e
        (
            set -eE
            trap 'echo "line $LINENO: $BASH_COMMAND"' ERR
            trap end_server EXIT
            cd "$BATS_TEST_TMPDIR/$count"
            PYTHON=$python
            VERSION=$version
            PYTHON_BUILD=$build
            export PYTHON VERSION PYTHON_BUILD
            "${@:2}"
        ) 3>&-
        status=$?
        set -e
        [ ! -e "$BATS_TEST_TMPDIR/crashed" ] || status=1
        if [ "$status" -ne 0 ]; then
            echo "^^ failed on $python"
            bad=1
            [ ! -e "$BATS_TEST_TMPDIR/crashed" ] || break
        fi
    done 3<<<"$1"
    return $bad
}

# use_python LINES: PYTHON is the first of these from here on.
use_python() {
    [ -n "$1" ] || skip "no Python here that this test is for"
    read -r PYTHON VERSION PYTHON_BUILD <<<"$1"
}

# make_churn: the libraries of native_churn.py.
make_churn() {
    g++ -O1 -g -shared -fPIC -o libnative_churn.so "$WORKLOADS/lib/native_churn.cc"
    for i in 0 1 2 3; do
        gcc -O1 -g -shared -fPIC -DSIZE=$((1000 + i * 3001)) -o libplug$i.so "$WORKLOADS/lib/plug.c"
    done
}

# between LOW VALUE HIGH WHAT
between() {
    if [ "$2" -lt "$1" ] || [ "$2" -gt "$3" ]; then
        fail "$4: $2, expected $1 to $3"
    fi
}

# lines_of FILE COUNT PATTERN: the file has so many lines and one of them matches.
lines_of() {
    local lines
    lines=$(wc -l <"$1")
    [ "$lines" -eq "$2" ] || fail "$1 has $lines lines, expected $2: $(cat "$1")"
    grep -qE "$3" "$1" || fail "$1 does not match /$3/: $(cat "$1")"
}

# most_memory COMMAND...: runs it; the most memory that it had, in KiB.
most_memory() {
    /usr/bin/python3 -c '
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$@"
}

# wait_until SECONDS COMMAND...
wait_until() {
    local i tries=$(($1 * 20))
    shift
    for ((i = 0; i < tries; i++)); do
        if "$@" >/dev/null 2>&1; then
            return 0
        fi
        sleep 0.05
    done
    fail "waited in vain for: $*"
}

# stop_server PID SIGNAL
stop_server() {
    if kill -"$2" "$1" 2>/dev/null; then
        wait "$1" || true
    fi
}

# doctor_of_server CHILDREN: of $server, so many, and no warning of one.
doctor_of_server() {
    # shellcheck disable=SC2154 # the suite's
    "$PYPROF" doctor "$server" >doctor.txt && [ "$(grep -c '^ok   child .*' doctor.txt)" -eq "$1" ] && ! grep -q '^warn child' doctor.txt
}

# free_port PYTHON
free_port() {
    "$1" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# served_well PIDS: each worker has served client.py's 20 requests of 20 ms at least, all that it used is in its file, it
# left properly, and the page's function has the CPU in the merged profile. Leaves info.json and stacks.txt.
served_well() {
    info >info.json
    "$PYTHON" - "$@" <<'END' || return 1
import json, sys

processes = {process["pid"]: process for process in json.load(open("info.json"))["processes"]}
for pid in map(int, " ".join(sys.argv[1:]).split()):
    process = processes[pid]
    # Few ticks are met beside other programs: what a worker used after the last of them is [unsampled].
    if process["cpu_ns"] < 380e6 or process["sampled_ns"] < 0.3 * process["cpu_ns"] or not process["ended"]:
        sys.exit(f"worker {pid}: {process}")
END
    # shellcheck disable=SC2119
    collapsed >stacks.txt
    cpu_at_least "$(reader inclusive stacks.txt render_page)" $(($(wc -w <<<"$*") * 400000000)) "render_page in the merged profile"
}

# cpu_at_least VALUE MIN WHAT: within what few ticks allow.
cpu_at_least() {
    [ "$1" -ge "$2" ] || cpu_near "$1" "$2" 12 "$3"
}

# venv_with PACKAGE...: prints the directory of an environment of $PYTHON that has them; kept in $VENVS.
venv_with() {
    local packages name
    mapfile -t packages < <(printf '%s\n' "$@" | sort)
    name=$(tr ' =' '+-' <<<"${packages[*]}") # env takes what has a = for a variable
    "$ROOT/tests/venv.sh" "$VENVS/$name-$VERSION-$(cksum <<<"$PYTHON" | cut -d' ' -f1)" "$PYTHON" "${packages[@]}" 2>venv.err ||
        fail "no $* for $PYTHON: $(tail -n 5 venv.err)"
}

# with_packages PACKAGE...: $VENV is an environment of $PYTHON that has them, of wheels only.
with_packages() {
    VENV=$(PIP_ONLY_BINARY=:all: venv_with "$@") || fail "$VENV"
}
