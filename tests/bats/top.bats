# pyprof top: as text, and on a terminal.
load lib/helper

# Uses CPU in hot() in so many processes, about a tenth in other(), until the directory holds a file "stop".
program='import os
import sys
import time

def hot():
    total = 0
    for i in range(100000):
        total += i * i % 7
    return total

def other():
    total = 0
    for i in range(10000):
        total += i * i % 5
    return total

# not main: site.py has one, and 3.15 has samples there
def work_on():
    end = time.time() + 600
    while not os.path.exists("stop") and time.time() < end:
        hot()
        other()

for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        work_on()
        os._exit(0)
work_on()
try:
    while True:
        os.wait()
except ChildProcessError:
    pass'

# start PROCESSES: in the background, all of them recorded.
start() {
    echo "$program" >burn.py
    rm -f stop
    profiled "$PYTHON" burn.py "$1" 3>&- &
    program_pid=$!
    # Tests may end elsewhere.
    program_in=$PWD
    wait_until "$TIMEOUT" has_samples "$1"
}

# has_samples PROCESSES
has_samples() {
    [ "$(info | judge '
print(sum(process["samples"] > 20 for process in json.load(sys.stdin)["processes"]))')" -ge "$1" ]
}

stop() {
    touch stop
    wait "$program_pid"
    program_pid=
}

end_of_test() {
    [ -z "${program_pid:-}" ] || { touch "$program_in/stop" && wait "$program_pid"; }
    [ -z "${server:-}" ] || stop_server "$server" TERM
}

# drive [ARGUMENTS...]: steps on stdin.
drive() {
    cat >steps.txt
    /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/drive.py" steps.txt "$PYPROF" top "$@" >drive.txt 2>&1 ||
        fail "$(cat drive.txt)"
}

# shown FUNCTION COLUMN: of the first screen in top.txt that has it: 1 self %, 3 total %, 5 self s, 7 total s.
shown() {
    grep -F " $1 (" top.txt | awk -v column="$2" 'NR == 1 { print $column }'
}

@test "as text: the hot function of a program that runs, its time grows from screen to screen" {
    start 1
    "$PYPROF" top --count 1 --native=none >top.txt
    # Ten times as much as in other(), of twenty samples.
    share=$(shown hot 1)
    between 60 "${share%.*}" 100 "per cent in hot()"
    grep -q '^1 process running | ' top.txt || fail "$(cat top.txt)"
    # Some flushes later.
    "$PYPROF" top --count 20 --delay 250ms --native=none >top.txt
    grep -F ' hot (' top.txt | awk '{ if ($5 < last) bad = 1; last = $5; if (!first) first = $5 }
        END { exit bad || last <= first }' || fail "$(cat top.txt)"
    stop
}

# begins_with TEXT COMMAND...: what it prints, whatever its status.
begins_with() {
    local text=$1
    shift
    run "$@"
    [[ "$output" == "$text"* ]] || fail "$*: $output"
}

@test "PID: the process and its descendants, wherever they write; --pid: only these" {
    # Another run in the same directory, with a later log.
    start 3
    mapfile -t pids < <(info | judge '
print(*sorted(process["pid"] for process in json.load(sys.stdin)["processes"]), sep="\n")')
    LD_PRELOAD=$LIBPYPROF "$PYTHON" -c 'sum(i * i for i in range(3000000))'
    mkdir elsewhere
    pushd elsewhere
    begins_with "run " "$PYPROF" top --count 1 "${pids[0]}"
    grep -q '^3 processes running | ' <<<"$output" || fail "$output"
    grep -q ' hot (burn.py:' <<<"$output" || fail "$output"
    begins_with "run " "$PYPROF" top --count 1 "${pids[2]}"
    grep -q '^1 process running | ' <<<"$output" || fail "$output"
    # A shell, or `pyprof run`, is asked about for what it has started.
    begins_with "run " "$PYPROF" top --count 1 $$
    grep -q '^3 processes running | ' <<<"$output" || fail "$output"
    sleep 600 3>&- &
    bare=$!
    begins_with "pyprof: process $bare is not profiled: 'pyprof doctor $bare' says why" "$PYPROF" top --count 1 "$bare"
    kill "$bare"
    begins_with "pyprof: 999999999: no such process, and no such file or directory" "$PYPROF" top --count 1 999999999
    begins_with "waiting: no profile in 1234567890 yet" "$PYPROF" top --count 1 1234567890
    popd
    begins_with "run " "$PYPROF" top --count 1 --run "$("$PYPROF" runs --json | judge '
print(json.load(sys.stdin)["runs"][-1]["run"])')" --pid "${pids[1]},${pids[2]}"
    grep -q '^2 processes running | ' <<<"$output" || fail "$output"
    begins_with "waiting: no process 1 in pyprof.out" "$PYPROF" top --count 1 --pid 1
    stop
    # What has ended since is over.
    begins_with "pyprof: ${pids[0]}: no such process" "$PYPROF" top --count 1 "${pids[0]}"
}

# top_says PATTERN: for wait_until.
top_says() {
    "$PYPROF" top --count 1 | grep -q "$1"
}

@test "what was killed runs no more, though its parent takes no notice" {
    /usr/bin/python3 - "$PYTHON" "$WORKLOADS/spin.py" <<'END' 3>&- &
import glob, os, subprocess, sys, time
spin = subprocess.Popen([*sys.argv[1:], "300"], env={**os.environ, "LD_PRELOAD": os.environ["LIBPYPROF"]})
while not glob.glob("pyprof.out/*"):
    time.sleep(0.1)
spin.kill()
time.sleep(300)
END
    parent=$!
    wait_until 60 top_says '^0 processes running, 1 ended'
    kill "$parent"
}

@test "in a directory of several runs it says, as report does, how many are left out" {
    start 1
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.5
    "$PYPROF" top --count 1 >top.txt
    grep -qx '1 other run left out (--all merges them, --run ID chooses one)' top.txt || fail "$(cat top.txt)"
    "$PYPROF" top --count 1 --all >top.txt
    ! grep 'left out' top.txt || fail "all are shown"
    stop
}

@test "of a run that is over: the seconds that export says, to the last decimal" {
    start 2
    stop
    "$PYPROF" top --count 1 --top 1000 --native=none >top.txt
    grep -q '^0 processes running, 2 ended' top.txt || fail "$(cat top.txt)"
    grep -q 'since the start' top.txt || fail "$(cat top.txt)"
    # shellcheck disable=SC2119
    collapsed >stacks.txt
    for function in hot other work_on; do
        wanted=$(reader inclusive stacks.txt "$function" | awk '{ printf "%.2f", $1 / 1e9 }')
        row=$(shown "$function" 7) # other() may have no sample of forty
        [ "${row:-0.00}" = "$wanted" ] || fail "$function: $wanted: $(cat top.txt)"
    done
    # With native functions the totals of Python functions are the same.
    "$PYPROF" top --count 1 --top 1000 >top.txt
    [ "$(shown work_on 7)" = "$wanted" ] || fail "work_on: $wanted: $(cat top.txt)"
}

@test "on a terminal: keys, filter, two workers, another size; it is restored at the end" {
    start 2
    drive <<'END'
expect ^2 processes running .* cores busy
expect FUNCTION
expect ^Functions by self time, last \d+ s$
expect hot \(burn\.py:5\)
key n
expect , all native code$
key n
expect , Python only$
key n
expect last \d+ s$
key n
key n
expect , Python only$
key t
expect by total time
expect 0\.0 % +\d+\.\d % .* <module> \(burn\.py:1\)
key /^OTH(e
expect not a regular expression;
key \x7f\x7f\x7fhe\r
expect , /\^OThe$
expect other \(burn\.py:11\)
absent hot \(
key \x1b
expect hot \(
key p
expect THREADS  STATE    PROCESS
lines 2 ^ +\d+\.\d % +\d+\.\d\d s +1  running  \d+ python\S* burn\.py 2$
key /nothing like this\r
expect nothing matches
key \x1b
key r
expect CPU  THREAD$
expect of process
key b
expect ^By thread, last \d+ s$
expect 100\.0 % .* MainThread$
key b
expect CPU  PACKAGE$
expect burn$
key b
expect ^Functions by total time
key w
expect by total time since the start
key h
expect ^s  sort by self time
key x
absent ^s  sort by self time
key \x20
expect PAUSED
key \x1b[6~\x1b[B\x1b[A\x1b[5~\x1b[99~\x20
absent PAUSED
size 12 40
expect ^s self .*…$
size 5 20
expect ^2 processes
size 1 1
size 50 200
expect n native  / filter  h help  q quit$
size 30 80
expect h help  q quit$
key q
ends 0
END
    stop
}

@test "signals end it and restore the terminal; Ctrl-Z and going on draw the screen again" {
    start 1
    drive <<'END'
expect FUNCTION
key \x1a
stopped
signal CONT
expect FUNCTION
key \x03
ends 0
END
    drive <<'END'
expect FUNCTION
signal TERM
ends -15
END
    drive <<'END'
expect FUNCTION
signal HUP
ends -1
END
    stop
}

@test "what is not there yet is waited for; the next run follows when the last one has ended" {
    echo "$program" >burn.py
    cat >steps.txt <<'END'
expect ^waiting: no profile in pyprof.out yet
touch waiting
expect ^1 process running
expect hot \(burn\.py
touch seen
expect ^0 processes running, 1 ended
touch over
expect ^3 processes running
expect hot \(burn\.py
key q
ends 0
END
    /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/drive.py" steps.txt "$PYPROF" top --native=none >drive.txt 2>&1 3>&- &
    driver=$!
    wait_until 120 test -e waiting
    start 1
    wait_until 120 test -e seen
    stop
    wait_until 120 test -e over
    start 3
    wait "$driver" || fail "$(cat drive.txt)"
    stop
}

@test "names cannot command the terminal" {
    cat >evil.py <<'END'
import time

def evil():
    total = 0
    for i in range(100000):
        total += i * i % 7
    return total

evil.__code__ = evil.__code__.replace(co_name="x\x1b[2J\x9b31m\u202e\r\n\x07evil")
if hasattr(evil.__code__, "co_qualname"):
    evil.__code__ = evil.__code__.replace(co_qualname=evil.__code__.co_name)
end = time.process_time() + 0.5
while time.process_time() < end:
    evil()
END
    until_sampled evil profiled "$PYTHON" evil.py
    "$PYPROF" top --count 1 --native=none >top.txt
    grep -q 'evil (evil.py:3)' top.txt || fail "$(cat -v top.txt)"
    ! LC_ALL=C grep -qE $'\x1b|\xc2\x9b|\xe2\x80\xae|\r|\x07' top.txt || fail "$(cat -v top.txt)"
    # The driver ends with an error at any character or sequence that is not top's own.
    drive --native=none <<'END'
expect evil \(evil\.py:3\)
key q
ends 0
END
}

@test "without a terminal it says what to do; so it does when there is nothing" {
    run -2 "$PYPROF" top
    [ "$output" = "pyprof: top needs a terminal, on stdin and stdout: 'pyprof top --count 1' prints text" ] || fail "$output"
    run -1 "$PYPROF" top --count 1
    [[ "$output" == "waiting: no profile in pyprof.out yet"* ]] || fail "$output"
    run -1 "$PYPROF" top --count 1 nowhere
    [[ "$output" == "waiting: no profile in nowhere yet"* ]] || fail "$output"
    mkdir empty
    echo "no profile at all, but long enough for its header" >empty/1.pyprof
    run -1 "$PYPROF" top --count 1 empty
    [[ "$output" == "waiting: nothing in empty is a profile"* ]] || fail "$output"
    run -2 "$PYPROF" top --count 0
    run -2 "$PYPROF" top --delay 0
}

@test "a log that comes in pieces, is cut and goes on: no time is counted twice" {
    profiled "$PYTHON" -c 'import time
def hot():
    for i in range(100000): pass
end = time.process_time() + 3
while time.process_time() < end: hot()'
    mkdir pieces
    /usr/bin/python3 -c '
import glob, os, time
data = open(glob.glob("pyprof.out/*.pyprof")[0], "rb").read()
piece = len(data) // 40 + 1
with open("pieces/1.pyprof", "wb", buffering=0) as log:
    for at in range(0, len(data), piece):
        log.write(data[at : at + piece])
        if at == 20 * piece:  # as a writer does on a full disk
            log.write(b"half a block")
            time.sleep(0.05)
            log.truncate(at + piece)
            log.seek(at + piece)
        time.sleep(0.02)' &
    writer=$!
    "$PYPROF" top --count 100 --delay 10ms --native=none pieces >pieces.txt
    wait "$writer"
    "$PYPROF" top --count 1 --native=none pieces >top.txt
    last=$(shown hot 7)
    "$PYPROF" top --count 1 --native=none >top.txt
    [ "$last" = "$(shown hot 7)" ] || fail "$last: $(cat top.txt)"
    awk -v most="$last" '/ hot \(/ && $7 > most { exit 1 }' pieces.txt || fail "$last: $(cat pieces.txt)"
    ! grep -q 'cannot be read' pieces.txt || fail "$(cat pieces.txt)"
}

# bats test_tags=long
@test "gunicorn with 4 workers: a screen each second for less than 1 % of a core" {
    venv=$(VERSION=any venv_with gunicorn) || fail "$venv"
    port=$(free_port "$PYTHON")
    LD_PRELOAD=$LIBPYPROF PYTHONPATH=$WORKLOADS "$venv/bin/gunicorn" -w 4 -b "127.0.0.1:$port" wsgi_app:app >gunicorn.log 2>&1 3>&- &
    server=$!
    "$PYTHON" "$WORKLOADS/client.py" "$port" 4 >pids.txt || fail "$(cat pids.txt gunicorn.log)"
    (while [ ! -e stop ]; do "$PYTHON" "$WORKLOADS/client.py" "$port" 4; done >/dev/null 2>&1) 3>&- &
    client=$!
    read -r percent screens gap < <(/usr/bin/python3 "$ROOT/tests/bench/top.py" 30 "$PYPROF" top "$server")
    touch stop
    wait "$client"
    stop_server "$server" TERM
    server=
    echo "# $percent % of a core, $screens screens in 30 s, at most $gap s apart" >&3
    awk -v percent="$percent" -v screens="$screens" 'BEGIN { exit !(percent < 1 && screens >= 20) }'
}

@test "on a terminal rows of too few samples to know the share are faint" {
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c 'import logs; logs.example("few.pyprof")'
    /usr/bin/python3 - "$PYPROF" >screen.txt <<'END'
import os, pty, sys, time
pid, terminal = pty.fork()
if not pid:
    os.environ["TERM"] = "xterm"
    os.environ.pop("NO_COLOR", None)
    os.execv(sys.argv[1], [sys.argv[1], "top", "few.pyprof"])
text, end = b"", time.time() + 60
while b"render" not in text and time.time() < end:
    text += os.read(terminal, 65536)
os.write(terminal, b"q")
print(text.decode())
END
    grep -F 'render (app.py:90)' screen.txt | grep -q $'\033\[2m' || fail "$(cat -v screen.txt)"
    ! grep -F 'parse (json' screen.txt | grep -q $'\033\[2m' || fail "$(cat -v screen.txt)"
}
