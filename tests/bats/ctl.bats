# pyprof ctl and PYPROF_START: sampling is switched off and on while programs run, and the sums go on.
load lib/helper

# begin [VARIABLE=VALUE...]: workloads/phases.py under the library; ask and answered speak with it.
begin() {
    mkfifo orders answers
    LD_PRELOAD=$LIBPYPROF env "$@" "$PYTHON" "$WORKLOADS/phases.py" 0.6 <orders >answers 2>err.txt &
    PROGRAM=$!
    exec 5>orders 6<answers
    answered ready
}

# answered [EXPECTED]
answered() {
    ANSWER=
    read -r -t 60 ANSWER <&6 || fail "the program says nothing: $(cat err.txt)"
    [ -z "${1:-}" ] || [ "$ANSWER" = "$1" ] || fail "the program says $ANSWER"
}

# uses [fork|exec|thread] FUNCTION: sets ANSWER to what it used.
uses() {
    echo "$*" >&5
    answered
}

# has_written: root's processes make the directory after a second.
has_written() {
    wait_until 30 eval 'ls pyprof.out/*.pyprof >has_written.txt 2>&1'
}

end() {
    exec 5>&-
    wait "$PROGRAM"
    exec 6<&-
    [ "$(cat err.txt)" = "${1:-}" ] || fail "on stderr: $(cat err.txt)"
}

# end_closed [--all]: the sums close; leaves stacks.txt.
end_closed() {
    end
    info "$@" >info.json
    reader accounting info.json
    collapsed "$@" >stacks.txt
}

end_of_test() {
    [ -z "${PROGRAM:-}" ] || kill "$PROGRAM" 2>/dev/null || true
}

timers() {
    grep -c '^ID:' "/proc/$PROGRAM/timers" || true
}

# Sums of the CPU in stacks with this frame.
cpu_in() {
    reader inclusive stacks.txt "$1"
}

cpu_paused() {
    awk '/^\[paused\] / { sum += $NF } END { printf "%.0f", sum }' stacks.txt
}

@test "pause and resume: no timer meanwhile, what is used is [paused], in threads and children too, and the sums close" {
    begin
    uses first
    used=$ANSWER
    has_written
    "$PYPROF" ctl pause >said.txt
    grep -q '^1 process: paused' said.txt || fail "$(cat said.txt)"
    [ "$(timers)" = 0 ] || fail "there are timers: $(cat "/proc/$PROGRAM/timers")"
    paused=0
    for where in "" thread fork exec; do
        # shellcheck disable=SC2086
        uses $where second
        paused=$((paused + ANSWER))
    done
    "$PYPROF" ctl status >said.txt
    grep -qE "^ +$PROGRAM +paused " said.txt || fail "$(cat said.txt)"
    "$PYPROF" ctl resume >said.txt
    grep -q '^1 process: sampled again' said.txt || fail "$(cat said.txt)"
    for where in "" thread fork; do
        # shellcheck disable=SC2086
        uses $where third
    done
    "$PYPROF" report 2>/dev/null | grep -q 'pyprof ctl resume' && fail "said to be paused"
    end_closed --all
    ! grep -q second stacks.txt || fail "sampled while paused: $(grep second stacks.txt)"
    cpu_near "$(cpu_in first)" "$used" 15 "what ran before"
    cpu_near "$(cpu_in third)" $((3 * used)) 15 "what ran after"
    # What the children used that were never resumed is in no file.
    between $((2 * used)) "$(cpu_paused)" "$paused" "[paused]"
}

@test "PYPROF_START=paused: a program leaves nothing, one that is resumed is sampled from then on" {
    PYPROF_START=paused profiled "$PYTHON" "$WORKLOADS/spin.py" 0.5
    [ ! -e pyprof.out ] || fail "files: $(ls -R pyprof.out)"
    begin PYPROF_START=paused
    uses first
    "$PYPROF" doctor "$PROGRAM" >said.txt || fail "doctor: $(cat said.txt)"
    grep -q 'the process is paused' said.txt && grep -qx 'Sampling is paused.' said.txt || fail "doctor: $(cat said.txt)"
    PYPROF_START=paused "$PYPROF" doctor -- "$PYTHON" x.py >said.txt || true
    grep -q 'PYPROF_START=paused: what is started takes no samples' said.txt || fail "doctor of a command: $(cat said.txt)"
    PYPROF_START=paused "$PYPROF" run -o other -- "$PYTHON" -c 'sum(range(9000000))' 2>said.txt
    grep -q "PYPROF_START=paused, and no 'pyprof ctl resume' came" said.txt || fail "run: $(cat said.txt)"
    # It is found by the directory to be, too.
    "$PYPROF" ctl status >said.txt
    lines_of said.txt 1 "^1 process that has written nothing so far, paused: $PROGRAM\$"
    ! "$PYPROF" report 2>said.txt || fail "a report of nothing"
    grep -qF "1 process is to write there, nothing so far, paused: 'pyprof ctl pyprof.out status'" said.txt || fail "$(cat said.txt)"
    "$PYPROF" ctl pyprof.out/ resume >said.txt
    lines_of said.txt 1 "^1 process .*: ($PROGRAM|sampled again)\$"
    for _ in $(seq 100); do
        [ "$(timers)" = 0 ] || break
        uses thread third
    done
    uses second
    used=$ANSWER
    end_closed
    "$PYPROF" report >said.txt
    grep -qE '^Paused: [0-9.]+ s \([0-9.]+ %\), which all shares are of, too; without: --ignore paused$' said.txt || fail "$(cat said.txt)"
    ! "$PYPROF" report --ignore paused | grep '^Paused' || fail "$("$PYPROF" report --ignore paused)"
    ! grep -q first stacks.txt || fail "sampled while paused: $(grep first stacks.txt)"
    cpu_near "$(cpu_in second)" "$used" 15 "what ran after"
    [ "$(cpu_paused)" -gt $((used / 2)) ] || fail "the time before is missing: $(head -c 300 stacks.txt)"
}

@test "a paused directory: run, doctor, report name it and the command that ends it, of a process and of its children, too" {
    here=$PWD/pyprof.out
    begin
    uses first
    has_written
    # A process that is paused alone, as a child of this one.
    "$PYPROF" ctl "$PROGRAM" pause
    "$PYPROF" doctor $$ | unwrapped >said.txt || true
    grep -q "warn child $PROGRAM ([^)]*): paused, [0-9.]* s CPU -> pyprof ctl $PROGRAM resume " said.txt || fail "$(cat said.txt)"
    "$PYPROF" ctl pause
    "$PYPROF" doctor $$ | unwrapped >said.txt || true
    grep -q "warn child $PROGRAM ([^)]*): paused, [0-9.]* s CPU -> pyprof ctl $here resume " said.txt || fail "$(cat said.txt)"
    "$PYPROF" doctor "$PROGRAM" | unwrapped >said.txt || fail "$(cat said.txt)"
    grep -q "warn timers [^>]* pyprof ctl in $here -> pyprof ctl $here resume " said.txt || fail "$(cat said.txt)"
    ! "$PYPROF" doctor -- "$PYTHON" x.py >doctor.txt || fail "$(cat doctor.txt)"
    unwrapped <doctor.txt >said.txt
    grep -q "FAIL output $here is paused, [^>]* -> pyprof ctl $here resume " said.txt || fail "$(cat said.txt)"
    ! grep -q 'Profiling it works' said.txt || fail "$(cat said.txt)"
    "$PYPROF" run -- "$PYTHON" -c 'sum(range(9000000))' 2>said.txt
    [ "$(grep -c "$here is paused: .* until: pyprof ctl $here resume" said.txt)" = 2 ] || fail "$(cat said.txt)"
    ! grep -q 'is no Python' said.txt || fail "$(cat said.txt)"
    "$PYPROF" report 2>said.txt >/dev/null
    grep -qx 'pyprof: pyprof.out is paused: .* until: pyprof ctl pyprof.out resume' said.txt || fail "$(cat said.txt)"
    "$PYPROF" report --full "$here" 2>/dev/null | unwrapped | grep -q "paused (1 process): pyprof ctl $here resume" || fail "$("$PYPROF" report --full "$here")"
    mkdir empty
    "$PYPROF" ctl empty pause
    ! "$PYPROF" report empty 2>said.txt || fail "has a profile"
    grep -q 'until: pyprof ctl empty resume' said.txt || fail "$(cat said.txt)"
    "$PYPROF" ctl resume
    "$PYPROF" run -o "$here" -- "$PYTHON" -c 'sum(range(9000000))' 2>said.txt
    "$PYPROF" report 2>>said.txt >/dev/null
    ! grep 'is paused' said.txt || fail "resumed, and said to be paused"
    end
}

@test "a run that was paused from its start to its end: doctor, report and diff say that, and advise nothing that does not help" {
    begin PYPROF_START=paused
    uses first
    "$PYPROF" doctor "$PROGRAM" | unwrapped >said.txt
    grep -q 'ok profile none yet: a paused process writes each ten seconds' said.txt || fail "$(cat said.txt)"
    mkdir pyprof.out
    "$PYPROF" ctl "$PROGRAM" pause
    wait_until 60 eval 'uses first && has_written'
    "$PYPROF" report | grep -qx 'Warning: paused (1 process): pyprof ctl resume' || fail "$("$PYPROF" report)"
    end
    "$PYPROF" report >said.txt
    grep -qx 'Warning: no samples: sampling was paused all the time' said.txt || fail "$(cat said.txt)"
    ! grep -E 'ctl resume|run longer' said.txt || fail "advice"
    "$PYPROF" doctor | unwrapped >said.txt || fail "$(cat said.txt)"
    grep -q 'ok profile the latest run, [^(]* 0 samples, for it was paused (' said.txt || fail "$(cat said.txt)"
    "$PYPROF" ctl pause
    "$PYPROF" diff pyprof.out pyprof.out 2>said.txt >/dev/null
    lines_of said.txt 1 'pyprof.out is paused: '
}

@test "report --by task: what ran while sampling was paused is a row of its own, after the tasks" {
    profiled "$PYTHON" -c 'import asyncio, os, subprocess, time
def use():
    end = time.thread_time() + 0.6
    while time.thread_time() < end: sum(range(1000))
def ctl(action):
    subprocess.run([os.environ["PYPROF"], "ctl", str(os.getpid()), action], check=True, stdout=subprocess.DEVNULL)
async def work():
    use()
async def main():
    await asyncio.create_task(work())
    ctl("pause")
    while open("/proc/self/timers").read():
        time.sleep(0.01)
    use()
    ctl("resume")
    await asyncio.create_task(work())
asyncio.run(main())'
    "$PYPROF" report --by task >said.txt
    [ "$(grep -oE '  (work|\[paused\]|\(none\)) ' said.txt | head -n 2 | tr -d '\n')" = '  work   [paused] ' ] || fail "$(cat said.txt)"
    grep -qE '^ +0\.[4-9][0-9]* s .*  \[paused\] ' said.txt || fail "$(cat said.txt)"
}

@test "a time in which sampling was paused: report says since when" {
    begin
    uses first
    has_written
    "$PYPROF" ctl pause
    for _ in 1 2 3 4; do
        uses second
    done
    ! "$PYPROF" report --last 1s --ignore paused 2>said.txt || fail "has samples"
    grep -q "fits --from .*; sampling is paused since $(date +%F) [0-9:]*\$" said.txt || fail "$(cat said.txt)"
    end
    ! "$PYPROF" report --focus nothing.there 2>said.txt || fail "has samples"
    ! grep -q 'paused since' said.txt || fail "of a process that has ended: $(cat said.txt)"
}

@test "a directory that this user may not list: commands say so, and what to do" {
    [ "$(id -u)" = 0 ] || skip "only root can take a directory away"
    open=$(mktemp -d "$BATS_TMPDIR/open.XXXXXX")
    chmod 755 "$open"
    cp "$PYPROF" "$open/pyprof"
    mkdir -m 711 "$open/closed"
    for words in "ctl $open/closed status" "ctl $open/closed pause" "push --status $open/closed" "serve --listen 127.0.0.1:0 $open/closed" \
        "top --count 1 $open/closed" "report $open/closed" "compact $open/closed" "report"; do
        result=0
        # shellcheck disable=SC2086
        (cd / && PYPROF_OUT=$open/closed timeout 20 setpriv --reuid 65534 --regid 65534 --clear-groups "$open/pyprof" $words) >said.txt 2>&1 || result=$?
        [ "$result" = 1 ] || fail "status $result: $words: $(cat said.txt)"
        lines_of said.txt 1 "^pyprof: $open/closed: Permission denied: run pyprof as the user that it belongs to, or as root\$"
    done
    rm -r "$open"
}

@test "--for: the contrary holds when the time is over, without another order" {
    begin
    uses first
    has_written
    "$PYPROF" ctl pause --for 1h
    "$PYPROF" report 2>said.txt >/dev/null
    grep -qE ' taken there until 20[0-9-]+ [0-9:]+, or until: pyprof ctl pyprof.out resume$' said.txt || fail "$(cat said.txt)"
    "$PYPROF" ctl pause --for 1s >said.txt
    grep -q '^1 process: paused for 1 s$' said.txt || fail "$(cat said.txt)"
    uses second
    for _ in $(seq 100); do
        [ "$(timers)" != 0 ] && break
        uses second
    done
    [ "$(timers)" != 0 ] || fail "still paused"
    end_closed
}

@test "rate: for all and for one process, and back" {
    begin
    uses first
    has_written
    "$PYPROF" ctl rate 20 >said.txt
    grep -q '^1 process: 20 samples per second from now on' said.txt || fail "$(cat said.txt)"
    [ "$(reader field <("$PYPROF" info --json) period_ns)" = 50000000 ] || fail "another period"
    "$PYPROF" ctl "$PROGRAM" rate 50
    "$PYPROF" ctl status --json >said.json
    [ "$(jq '.processes[0].hz' said.json)" = 50 ] || fail "$(cat said.json)"
    "$PYPROF" ctl rate default
    "$PYPROF" ctl status --json >said.json
    [ "$(jq '.processes[0].hz' said.json)" = 100 ] || fail "$(cat said.json)"
    uses second
    used=$ANSWER
    end_closed
    cpu_near "$(cpu_in second)" "$used" 15 "what ran after"
}

@test "with PYPROF_TRACES=0.5,only the paused time is counted once" {
    begin PYPROF_TRACES=0.5,only
    uses first
    has_written
    "$PYPROF" ctl pause
    uses second
    paused=$ANSWER
    "$PYPROF" ctl resume
    uses third
    end_closed
    between $((paused * 9 / 10)) "$(cpu_paused)" $((paused * 12 / 10)) "[paused]"
}

@test "an order to one process does not hold for its children, nor when its file has gone" {
    begin
    uses first
    has_written
    "$PYPROF" ctl "$PROGRAM" pause
    uses fork second
    rm pyprof.out/control
    uses fork third
    uses fork third
    end_closed --all
    [ "$(cpu_in second)" -gt 0 ] || fail "the child of a paused process was paused"
    [ "$(cpu_in third)" -gt 0 ] || fail "paused without a file"
}

@test "a process that writes elsewhere is reached by its pid" {
    touch file
    begin PYPROF_OUT="$PWD/file" 2>/dev/null
    uses first
    "$PYPROF" ctl "$PROGRAM" pause >said.txt
    grep -q '^1 process: paused' said.txt || fail "$(cat said.txt)"
    exec 5>&-
    wait "$PROGRAM"
}

# not_obeyed REASON
not_obeyed() {
    for _ in $(seq 100); do
        uses first
        [ ! -s err.txt ] || break
    done
    [ "$(timers)" != 0 ] || fail "it is obeyed: $1"
    "$PYPROF" doctor "$PROGRAM" | grep -qx 'Sampling works.' || fail "doctor: $("$PYPROF" doctor "$PROGRAM")"
    end "pyprof: $PWD/pyprof.out/control is not obeyed: $1"
}

@test "a control file of others, a link, a damaged one: a line, and what held goes on" {
    begin
    uses first
    has_written
    "$PYPROF" ctl pause
    "$PYPROF" ctl resume
    cp pyprof.out/control good
    echo 'all paused' >new
    mv new pyprof.out/control
    not_obeyed 'it is damaged, or of another version of pyprof'
    rm orders answers
    sed 's/running/paused/' good >paused
    rm pyprof.out/control
    begin
    uses first
    has_written
    cp paused new
    chmod g+w new
    mv new pyprof.out/control
    not_obeyed 'others may write to it'
    rm orders answers pyprof.out/control
    begin
    uses first
    has_written
    ln -s "$PWD/paused" pyprof.out/control
    not_obeyed 'it cannot be read'
    if [ "$(id -u)" = 0 ]; then
        rm orders answers pyprof.out/control
        begin
        uses first
        cp paused new
        chown nobody new
        mv new pyprof.out/control
        not_obeyed "it belongs to another user than this process's and root"
    fi
}

@test "what cannot be done: a line, and status 1 or 2" {
    mkdir empty
    "$PYPROF" ctl empty pause >said.txt
    grep -q '^ordered; no process' said.txt || fail "$(cat said.txt)"
    while read -r status words; do
        result=0
        # shellcheck disable=SC2086
        "$PYPROF" ctl $words >said.txt 2>err.txt || result=$?
        [ "$result" = "$status" ] || fail "status $result: $words"
        [ "$(wc -l <err.txt)" = 1 ] && [ ! -s said.txt ] || fail "$words: $(cat said.txt err.txt)"
    done <<'WORDS'
2 
2 start
2 empty stop
2 empty pause now
2 empty rate
2 empty rate 0
2 empty rate 5001
2 empty rate fast
2 empty status --for 3s
1 missing pause
1 999999999 pause
1 1 pause
WORDS
    # The advice keeps the directory, wherever it was typed.
    while read -r words; do
        # shellcheck disable=SC2086
        ! "$PYPROF" ctl $words 2>err.txt || fail "obeys $words"
        grep -qE 'pyprof ctl empty (pause|rate 50)$' err.txt || fail "$words: $(cat err.txt)"
    done <<'WORDS'
empty pause now
empty rate
rate empty 50
WORDS
    for words in 'pause empty' 'rate 50 empty'; do
        # shellcheck disable=SC2086
        "$PYPROF" ctl $words | grep -q '^ordered; no process' || fail "does not obey $words"
    done
}
