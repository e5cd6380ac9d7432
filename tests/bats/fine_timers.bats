# Fine timers, the default clock: what they see without any permission, and that no wait of the program notices them.
load lib/helper

# Without perf events, as in most containers: these would take over at high rates, and where fine timers do not reach.
refused() {
    DENIED=perf profiled "$BUILD/workloads/denied" "$PYTHON" "$@"
}

# shares TRUTH: each function of the file has its CPU time in the profile, to 3 sigma of its samples, the next moment of each
# drawn, and 2 %.
shares() {
    local function ns seen
    collapsed --native=none >stacks.txt
    while read -r function ns; do
        seen=$(reader inclusive stacks.txt "$function")
        reader sigma "$ns" "$seen" || fail "$function has $seen ns, its thread's clock said $ns"
    done <"$1"
}

waits() {
    [ -e waits.so ] || gcc -O1 -shared -fPIC -o waits.so "$WORKLOADS/lib/waits.c" -lpthread
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 refused "$WORKLOADS/waits.py" ./waits.so "$@" >waits.txt
    info >info.json
    grep -q '"clock": *"fine timers' info.json || fail "another clock: $(cat info.json)"
}

@test "waits of every kind: none ends with EINTR, nothing is cut short" {
    waits 6 poll ppoll select pselect epoll_wait epoll_pwait nanosleep clock_nanosleep usleep sigtimedwait semtimedop \
        sem_timedwait cond_timedwait recv accept msgrcv syscall send write
    [ "$(wc -l <waits.txt)" -eq 19 ] || fail "some did not end: $(cat waits.txt)"
    while read -r kind met count; do
        [ "$met" -eq 0 ] || fail "$met of $count interrupted: $kind"
        [ "$count" -ge 10 ] || fail "only $count of $kind"
    done <waits.txt
    # a timer that is never armed interrupts nothing
    [ "$(reader field info.json samples)" -ge 1500 ] || fail "samples: $(cat info.json)"
}

@test "handlers that wait in a wait or jump out of it, children of vfork that wait: no wait ends with EINTR" {
    for kind in nested jumps vfork; do
        rm -rf pyprof.out
        waits 3 "$kind"
        read -r _ met count <waits.txt
        [ "$met" -eq 0 ] || fail "$met of $count interrupted: $kind"
        reader accounting info.json
    done
}

@test "a wait past libc is met once at most: its thread has ticks from then on" {
    waits 5 raw
    read -r _ met count <waits.txt
    [ "$met" -le 1 ] || fail "$met of $count interrupted"
    [ "$count" -ge 100 ] || fail "only $count"
}

@test "work in step with the ticks has its shares, without permission for perf events" {
    for threads in 1 3; do
        rm -rf pyprof.out
        refused "$WORKLOADS/in_step.py" 5 "$threads" >truth.txt
        shares truth.txt
        info >info.json
        reader accounting info.json
        between 0 "$(reader field info.json uneven_ns)" $(($(reader field info.json cpu_ns) / 20)) "ns sampled by ticks"
    done
}

@test "PYPROF_CLOCK=tick: what threads that wait often have is said to lean" {
    PYPROF_CLOCK=tick profiled "$PYTHON" "$WORKLOADS/in_step.py" 3 >truth.txt
    "$PYPROF" report >report.txt 2>&1
    grep -q "sampled at the kernel's clock ticks alone" <(tr -s ' \n' ' ' <report.txt) || fail "nothing is said: $(cat report.txt)"
}

@test "short threads that contend: what they do late in their lives has its share, whatever the rate becomes" {
    for overhead in 100 0.3; do
        rm -rf pyprof.out
        PYPROF_MAX_OVERHEAD=$overhead refused "$WORKLOADS/short_lives.py" 1000 >truth.txt
        grep works truth.txt >works.txt
        shares works.txt
        info >info.json
        reader accounting info.json
    done
    grep -E 'of 100 samples' info.json || fail "the rate was not lowered: $(cat info.json)"
}

@test "a program that does nothing but wait: waits cost less than PYPROF_MAX_OVERHEAD, or are not watched, and the profile says so" {
    refused "$WORKLOADS/switches.py" 3
    info >info.json
    reader accounting info.json
    cpu=$(reader field info.json cpu_ns)
    # the flush thread's own start is no cost of waits
    between 0 "$(reader field info.json own_ns)" $((cpu / 50 + 20000000)) "ns of own cost in $cpu"
    rm -rf pyprof.out
    PYPROF_MAX_OVERHEAD=0.01 refused "$WORKLOADS/switches.py" 3
    info >info.json
    cpu=$(reader field info.json cpu_ns)
    [ "$(reader field info.json uneven_ns)" -gt $((cpu / 2)) ] || fail "not said: $(cat info.json)"
}

@test "a rate above the ticks' needs no permission" {
    PYPROF_HZ=2000 PYPROF_MAX_OVERHEAD=50 refused "$WORKLOADS/spin.py" 1 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    info >info.json
    between 1500 "$(reader field info.json samples)" 2400 "samples of 1 s at 2000 Hz"
}
