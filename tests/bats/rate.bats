# How often samples are taken: what the kernel can do, what they cost, and timers that stop.
load lib/helper

@test "samples dearer than PYPROF_MAX_OVERHEAD: fewer are taken, the log says so, the seconds stay" {
    # A sample takes 10 µs at least, and there may be ten in a second.
    PYPROF_MAX_OVERHEAD=0.003 profiled "$PYTHON" "$WORKLOADS/spin.py" 4 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    info >info.json
    grep -E 'samples cost [0-9.]+ % of the CPU time: [0-9]+ of 100 samples' info.json || fail "nothing was noted: $(cat info.json)"
    # Half a second at the full rate, then at half of it at most.
    between 1 "$(reader field info.json samples)" 240 "samples of 4 s"
    [ "$(reader field info.json period_ns)" -gt 10000000 ] || fail "the log has the old period"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 4000000000 5 "spin at a lower rate"
    reader accounting info.json
    # Before the first flush, too.
    PYPROF_OUT=short PYPROF_MAX_OVERHEAD=0.01 profiled "$PYTHON" "$WORKLOADS/spin.py" 0.9
    OUT=short info >info.json
    between 1 "$(reader field info.json samples)" 60 "samples of 0.9 s"
}

@test "samples cheaper than PYPROF_MAX_OVERHEAD: the rate stays" {
    PYPROF_MAX_OVERHEAD=50% profiled "$PYTHON" "$WORKLOADS/spin.py" 2.5
    info >info.json
    ! grep 'samples cost' info.json || fail "throttled"
    [ "$(reader field info.json period_ns)" -eq 10000000 ] || fail "another period"
}

@test "a rate above the kernel's ticks is explained in one line, not on stderr" {
    tick=$("$PYTHON" -c 'import time; print(round(time.clock_getres(6) * 1e9))')
    PYPROF_CLOCK=tick PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/spin.py" 1 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    info >info.json
    if [ "$tick" -gt 1000000 ]; then
        grep "at most $((1000000000 / tick)) samples per CPU second" info.json || fail "not explained: $(cat info.json)"
    fi
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 5 "spin at 1000 Hz"
    PYPROF_CLOCK=tick PYPROF_OUT=usual profiled "$PYTHON" "$WORKLOADS/spin.py" 0.2
    ! OUT=usual info | grep 'at most' || fail "explained where there is nothing to explain"
}

@test "timers that the program deletes are made anew" {
    profiled "$PYTHON" "$WORKLOADS/delete_timers.py" >truth.txt
    info >info.json
    between 1 "$(reader truncated info.json | sed -n 's/timer of a thread was gone.*: //p')" 3 "timers made anew"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt afterwards)" "$(cat truth.txt)" 5 "CPU after the timers had gone"
    reader accounting info.json
}

# bats test_tags=core
@test "RLIMIT_SIGPENDING is used up when a thread begins: it is sampled from when there is room again" {
    profiled "$PYTHON" "$WORKLOADS/no_room_for_timers.py" >truth.txt 2>err.txt
    [ "$(grep -c 'timer_create failed' err.txt)" -eq 1 ] || fail "stderr: $(cat err.txt)"
    info >info.json
    grep -q 'thread without a timer' info.json || fail "info does not say what is missing: $(cat info.json)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt afterwards)" "$(cat truth.txt)" 5 "CPU after there was room for a timer"
    reader accounting info.json
}

switches() {
    awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$pid/task/$thread/status"
}

no_switch_in() {
    local before
    before=$(switches)
    sleep "$1"
    [ "$(switches)" -eq "$before" ]
}

late_is_written() {
    collapsed >stacks.txt && [ "$(reader inclusive stacks.txt late)" -gt "$1" ]
}

@test "an idle process: the flush thread wakes once a second, and after a while only when CPU is used" {
    mkfifo go
    profiled "$PYTHON" -c '
import os, threading, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def late(): spin(0.3)
spin(0.3)
with open("pid.new", "w") as out: print(os.getpid(), file=out)
os.rename("pid.new", "pid.txt")
open("go").close()
thread = threading.Thread(target=late)
thread.start()
thread.join()
time.sleep(600)' 3>&- &
    wait_until 60 test -e pid.txt
    pid=$(cat pid.txt)
    thread=$(grep -lx pyprof "/proc/$pid/task/"*/comm | cut -d/ -f5)
    sleep 2
    before=$(switches)
    sleep 5
    between 1 $(($(switches) - before)) 7 "times that the flush thread slept in 5 idle seconds"
    wait_until 60 no_switch_in 2
    no_switch_in 4 || fail "the flush thread wakes in an idle process"
    : >go
    wait_until 60 late_is_written 200000000
    kill -KILL "$pid"
    wait $! || true
    adds_up
}

@test "second by second: the intervals add up to the whole, with context switches and page faults" {
    profiled "$PYTHON" -c '
import time
end = time.process_time() + 1.5
while time.process_time() < end: sum(range(1000))
for _ in range(400): time.sleep(0.001)
end = time.process_time() + 0.5
while time.process_time() < end: sum(range(1000))'
    "$PYPROF" info --json --intervals >info.json
    reader intervals info.json 400
    "$PYPROF" info --intervals >info.txt
    [ "$(grep -cE '^ +[0-9.]+ s +[0-9.]+ s' info.txt)" -ge 3 ] || fail "not a line for each second: $(cat info.txt)"
    "$PYPROF" report | grep -q " of $(nproc) cores busy" || fail "report says nothing of the cores: $("$PYPROF" report | head -n 3)"
}

@test "the rate changes while many short threads wait: what they do then has its share" {
    for overhead in 100 0.3; do
        rm -rf pyprof.out
        PYPROF_MAX_OVERHEAD=$overhead profiled "$PYTHON" "$WORKLOADS/short_lives.py" 1000 >truth.txt
        collapsed --native=none >stacks.txt
        truth=$(awk '$1 == "works" { print $2 }' truth.txt)
        adds_up
        # estimated from the samples of others: 15 % more than chance of 3 s
        cpu_near "$(reader inclusive stacks.txt works)" "$truth" 20 "work of 3 ms in each of 1,000 threads"
    done
}
