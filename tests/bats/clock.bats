# PYPROF_CLOCK: perf events where the kernel's ticks see too little. All suites run with them when TESTED_CLOCK=perf is set.
load lib/helper

events_permitted() {
    "$PYTHON" -c '
import ctypes, struct, sys
attributes = struct.pack("<IIQQQQQ", 1, 64, 1, 10**7, 0, 0, 1 | 1 << 5 | 1 << 6) + bytes(16)
sys.exit(ctypes.CDLL(None).syscall(298, attributes, 0, -1, -1, 0) < 0)' || skip "perf_event_open is not permitted here"
}

events() {
    PYPROF_CLOCK=perf profiled "$PYTHON" "$WORKLOADS/perf_events.py" "$@"
}

# share_of FUNCTION: its CPU in the profile over that of both functions of calls.py, in permille.
share_of() {
    collapsed >stacks.txt
    echo $(($(reader inclusive stacks.txt "$1") * 1000 / ($(reader inclusive stacks.txt calls) + $(reader inclusive stacks.txt calculates))))
}

# At lower rates: the test below.
@test "system calls beside calculation: each has its share, at the highest rate" {
    events_permitted
    PYPROF_CLOCK=perf PYPROF_HZ=5000 PYPROF_MAX_OVERHEAD=50 profiled "$PYTHON" "$WORKLOADS/calls.py" 3 >truth.txt
    read -r calls calculates <truth.txt
    adds_up
    # Ticks sample system calls: 750 in 3 s, of which half. 4 sigma.
    truth=$((calls * 1000 / (calls + calculates)))
    between $((truth - 120)) "$(share_of calls)" $((truth + 120)) "permille of system calls, not $truth"
}

@test "system calls, page faults, both, calculation: each has its share, and each period its sample" {
    events_permitted
    for hz in 100 1000; do
        rm -rf pyprof.out
        PYPROF_CLOCK=perf PYPROF_HZ=$hz PYPROF_MAX_OVERHEAD=50 profiled "$PYTHON" "$WORKLOADS/kinds.py" 4 >truth.txt
        adds_up
        collapsed >stacks.txt
        all=0
        seen=0
        while read -r function used; do
            all=$((all + used))
            seen=$((seen + $(reader inclusive stacks.txt "$function")))
        done <truth.txt
        while read -r function used; do
            truth=$((used * 1000 / all))
            share=$(($(reader inclusive stacks.txt "$function") * 1000 / seen))
            # Ticks sample what the kernel does: 400 at 100 Hz, 1000 at 1000 Hz. 5 sigma.
            chance=$((hz == 100 ? 110 : 80))
            between $((truth - chance)) "$share" $((truth + chance)) "permille of $function at $hz Hz, not $truth"
        done <truth.txt
        due=$(($(reader field info.json cpu_ns) / 10000000))
        [ "$hz" -ne 100 ] || between $((due * 85 / 100)) "$(reader field info.json samples)" $((due * 115 / 100)) "samples"
    done
}

@test "work in step with the ticks is sampled" {
    events_permitted
    for clock in perf auto; do
        rm -rf pyprof.out
        PYPROF_CLOCK=$clock profiled "$PYTHON" "$WORKLOADS/calls.py" 2 step >truth.txt
        adds_up
        due=$(($(reader field info.json cpu_ns) / 10000000))
        # random: a few more than are due are no mistake
        between $((due * 4 / 10)) "$(reader field info.json samples)" $((due * 115 / 100)) "samples with $clock"
        [ "$(reader field info.json unsampled_ns)" -lt $((due * 10000000 / 4)) ] || fail "unsampled with $clock: $(cat info.json)"
    done
}

# shares TRUTH: each of its functions has its CPU time in the profile, to 3 sigma of its samples and 2 %.
shares() {
    local function ns seen
    collapsed --native=none >stacks.txt
    while read -r function ns; do
        seen=$(reader inclusive stacks.txt "$function")
        reader sigma "$ns" "$seen" || fail "$function has $seen ns, its thread's clock said $ns"
    done <"$1"
}

@test "by default a thread that waits often gets an event soon: work that always falls between two ticks has its shares" {
    events_permitted
    for threads in 1 2; do
        rm -rf pyprof.out
        profiled "$PYTHON" "$WORKLOADS/in_step.py" 2 "$threads" >truth.txt
        shares truth.txt
        adds_up
        # the first samples are a tick's; beside other programs some more, for each push off the CPU costs a switch
        between 0 "$(reader field info.json uneven_ns)" $(($(reader field info.json cpu_ns) / 2)) "ns sampled at ticks"
    done
    rm -rf pyprof.out
    PYPROF_CLOCK=tick profiled "$PYTHON" "$WORKLOADS/in_step.py" 1 >truth.txt
    "$PYPROF" report --full >report.txt 2>&1
    tr -s ' \n' ' ' <report.txt | grep -qE "was sampled at clock ticks|was not sampled" || fail "nothing is said: $(cat report.txt)"
}

@test "system calls in step with the ticks: the function that the ticks meet has not all of them, the rest is [unsampled]" {
    events_permitted
    profiled "$PYTHON" "$WORKLOADS/in_step.py" 6 1 0.12 >truth.txt
    adds_up
    collapsed --native=none >stacks.txt
    while read -r function ns; do
        seen=$(reader inclusive stacks.txt "$function")
        [ "$seen" -lt "$ns" ] || reader sigma "$ns" "$seen" || fail "$function has $seen ns, its thread's clock said $ns"
    done <truth.txt
}

@test "where ticks alone have sampled, CPU/REQ of an endpoint that they miss is by its requests' own clock" {
    PYPROF_CLOCK=tick profiled PYTHONPATH="$ROOT/contrib/python" "$PYTHON" "$WORKLOADS/requests_in_step.py" 2 >truth.txt
    "$PYPROF" report --by endpoint --json >endpoints.json
    "$PYPROF" report --by endpoint >report.txt 2>&1
    /usr/bin/python3 - truth.txt endpoints.json report.txt <<'EOF'
import json, sys
truth = {name: int(ns) for name, ns in map(str.split, open(sys.argv[1]))}
rows = {row["value"]: row for row in json.load(open(sys.argv[2]))["by"]}
short = rows["/short"]
by_clock = short.get("cpu_per_request_by_clock")  # not where other programs put the work off its step
off = 0.02 * truth["/short"] if by_clock else 0
report = " ".join(open(sys.argv[3]).read().split())
if truth["/short"] < short["cpu_per_request_low_ns"]:  # other programs have put it in step with the ticks
    assert "CPU/REQ of /short has more than its requests' own thread used" in report, (truth, rows, report)
else:
    assert short["cpu_per_request_low_ns"] - off <= truth["/short"] <= short["cpu_per_request_high_ns"] + off, (truth, rows)
assert ("CPU/REQ of /short, and of others" in report) == bool(by_clock), short
EOF
}

@test "a thread that waits too often for an event has none, and one that has it pays for its switches in own" {
    events_permitted
    profiled "$PYTHON" "$WORKLOADS/switches.py" 2
    info >info.json
    [ "$(reader field info.json uneven_ns)" -gt $(($(reader field info.json cpu_ns) / 3)) ] || fail "an event all the same: $(cat info.json)"
    rm -rf pyprof.out
    PYPROF_CLOCK=perf profiled "$PYTHON" "$WORKLOADS/switches.py" 2
    adds_up
    [ "$(reader field info.json own_ns)" -gt $(($(reader field info.json cpu_ns) / 20)) ] || fail "switches cost nothing: $(cat info.json)"
}

@test "waits of every kind, with events at a high rate: none ends with EINTR, nothing is cut short" {
    events_permitted
    gcc -O1 -shared -fPIC -o waits.so "$WORKLOADS/lib/waits.c" -lpthread
    export PYPROF_CLOCK=perf PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100
    profiled "$PYTHON" "$WORKLOADS/waits.py" ./waits.so 6 poll ppoll select pselect epoll_wait epoll_pwait nanosleep clock_nanosleep \
        usleep sigtimedwait semtimedop sem_timedwait cond_timedwait recv accept msgrcv syscall raw send write >waits.txt
    # handlers of the program's own that wait in a wait, or jump out of it; children of vfork that wait
    for kind in nested jumps vfork; do
        profiled "$PYTHON" "$WORKLOADS/waits.py" ./waits.so 2 "$kind" >>waits.txt
    done
    [ "$(wc -l <waits.txt)" -eq 23 ] || fail "some did not end: $(cat waits.txt)"
    while read -r kind met count; do
        [ "$met" -eq 0 ] || fail "$met of $count interrupted: $kind"
        [ "$count" -ge 10 ] || fail "only $count of $kind"
    done <waits.txt
}

@test "a rate of 2000 takes perf events, for a short command, too" {
    events_permitted
    "$PYPROF" run --hz 2000 -o pyprof.out -- "$PYTHON" "$WORKLOADS/spin.py" 0.3 >out.txt 2>err.txt
    info >info.json
    grep -q '"clock": *"perf events"' info.json || fail "another clock: $(cat info.json)"
    # 600 are due. The first comes at a tick, and others may keep the program from these.
    [ "$(reader field info.json samples)" -ge 400 ] || fail "samples: $(cat info.json)"
}

# bats test_tags=core
@test "perf_event_open is refused: ticks, with a line where its rate was asked for" {
    export DENIED=perf
    for setting in PYPROF_CLOCK=perf PYPROF_CLOCK=auto PYPROF_HZ=2000; do
        rm -rf pyprof.out
        env "$setting" LD_PRELOAD="$LIBPYPROF" "$BUILD/workloads/denied" "$PYTHON" "$WORKLOADS/spin.py" 1 2>err.txt
        if [ "$setting" != PYPROF_HZ=2000 ]; then
            [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
        else
            lines_of err.txt 1 "^pyprof: PYPROF_HZ=2000 needs perf events: perf_event_open is not permitted .*; using kernel ticks, [0-9]+ samples per CPU second at most$"
        fi
        info >info.json
        grep -q '"clock": *"kernel ticks; no perf events: perf_event_open is not permitted' info.json || fail "clock: $(cat info.json)"
        collapsed >stacks.txt
        cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 5 "spin with $setting"
    done
}

@test "perf_event_open is refused: the report says so of threads that wait often, not that events cost too much" {
    DENIED=perf LD_PRELOAD=$LIBPYPROF "$BUILD/workloads/denied" "$PYTHON" "$WORKLOADS/switches.py" 2
    "$PYPROF" report --no-pager 2>&1 | unwrapped >report.txt
    grep -q 'at clock ticks alone: .*there were none: perf_event_open is not permitted' report.txt || fail "$(cat report.txt)"
    ! grep -q 'would cost these threads' report.txt || fail "$(cat report.txt)"
}

@test "a clock that is none: one line, and the usual one" {
    PYPROF_CLOCK=hpet profiled "$PYTHON" -c 'sum(range(10**7))' 2>err.txt
    lines_of err.txt 1 '^pyprof: PYPROF_CLOCK=hpet is not auto, tick or perf: using auto$'
}

@test "events: in the flush thread's table alone, as many as the threads at a time, in forks their own" {
    events_permitted
    [ "$(events descriptors)" = "('pyprof', 1)" ] || fail "descriptors: $(events descriptors)"
    [ "$(events ended)" = 1 ] || fail "events after 20 threads, 10 at a time: $(events ended)"
    [ "$(events forks | sort -u)" = 0 ] || fail "in forks: $(events forks)"
}

@test "events: RLIMIT_NOFILE is the program's" {
    events_permitted
    [ "$(events no_room)" = "$("$PYTHON" "$WORKLOADS/perf_events.py" no_room)" ] || fail "descriptors left: $(events no_room)"
    adds_up
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt work)" 3000000000 5 "threads with and without an event"
    grep -q '"clock": *"perf events; kernel ticks for threads whose event RLIMIT_NOFILE does not allow"' info.json ||
        fail "clock: $(cat info.json)"
}

@test "events: a program that takes SIGURG over gets its own signals only" {
    events_permitted
    [ "$(PYPROF_HZ=5000 events taken)" = "True 5 {}" ] || fail "$(PYPROF_HZ=5000 events taken)"
    info >info.json
    grep -q '"clock": *"kernel ticks; no perf events: SIGURG is not our signal"' info.json || fail "clock: $(cat info.json)"
}

# bats test_tags=core
@test "events: no system call is interrupted, no image after exec meets a signal" {
    events_permitted
    [ "$(PYPROF_HZ=5000 events waits)" = 0 ] || fail "poll was interrupted"
    [ "$(PYPROF_HZ=5000 events images)" = alive ] || fail "exec"
}

@test "events: a thread may have its system calls sent to itself while the flush thread has no CPU" {
    events_permitted
    gcc -O1 -shared -fPIC -o dispatched.so "$WORKLOADS/lib/dispatched.c"
    for _ in 1 2 3 4; do
        rm -rf pyprof.out
        PYPROF_CLOCK=perf PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/dispatched.py" ./dispatched.so starved >out.txt 2>err.txt || fail "status $?: $(cat err.txt)"
        ! grep -qx 'no dispatch' out.txt || skip "no syscall user dispatch here"
    done
}
