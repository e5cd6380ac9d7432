# Processes and threads that begin, start others and end, at every moment of the profiler's work.
load helper

# storm WHAT COUNT
storm() {
    gcc -O1 -g -w -shared -fPIC -D_GNU_SOURCE -o storms.so "$WORKLOADS/lib/storms.c" -lpthread -ldl
    PYPROF_HZ=1000 TIMEOUT=3500 profiled "$PYTHON" -c "import ctypes
print(ctypes.CDLL('./storms.so').storm(b'$1', $2))" >storm.txt || fail "status $?: $(tail -n 3 storm.txt)"
    [ "$(cat storm.txt)" = 0 ] || fail "$(sort storm.txt | uniq -c)"
}

storms() {
    for what in exec exit exit_group kill; do
        storm $what "$1"
    done
    storm spawns $(($1 * 4))
    storm forks "$2"
}

short_storms() {
    storms 15 40
}

long_storms() {
    storms 2500 100000
}

@test "children of fork that exec, exit or are killed from any thread, spawns from two threads, forks while every lock is in use" {
    with_some_pythons short_storms
}

# bats test_tags=long
@test "thousands of children that exec, exit or are killed, spawns from two threads, 100,000 forks while every lock is in use" {
    with_pythons "$(list_pythons | tail -n 1)" long_storms
}

# forks_of MEGABYTES MAPPINGS COUNT: while the kernel copies the process SIGURG is blocked; so no tick starts it again.
forks_of() {
    gcc -O1 -g -w -shared -fPIC -D_GNU_SOURCE -o storms.so "$WORKLOADS/lib/storms.c" -lpthread -ldl
    cat >slow.py <<END
import ctypes
print("us of a fork:", ctypes.CDLL("./storms.so").slow_fork($1, $2, $3))
END
    timeout 500 "$PYTHON" slow.py >plain.txt
    PYPROF_HZ=1000 profiled "$PYTHON" slow.py >with.txt
    echo "without us: $(cat plain.txt); with us: $(cat with.txt)"
    grep -q 'us of a fork: [0-9]' with.txt || fail "forks failed: $(cat with.txt)"
    read -r _ looks _ unblocked <with.txt
    # A look may fall before the fork proper.
    if [ "$looks" -lt 10 ] || [ "$unblocked" -gt $((looks / 4)) ]; then
        fail "$(cat with.txt)"
    fi
    read -r _ looks _ unblocked <plain.txt
    [ "$unblocked" -eq "$looks" ] || fail "it is blocked without us: $(cat plain.txt)"
}

forks_slowly() {
    forks_of 128 20000 4
}

@test "a fork that takes many ticks is not interrupted by them" {
    with_pythons "$(list_pythons | tail -n 1)" forks_slowly
}

forks_of_gigabytes() {
    local megabytes
    megabytes=$(awk '/MemAvailable/ { m = $2 / 1024 / 2; print int(m > 20480 ? 20480 : m) }' /proc/meminfo)
    forks_of "$megabytes" 60000 5
    echo "$megabytes MB: without us: $(cat plain.txt); with us: $(cat with.txt)" | sed 's/^/# /' >&3
}

# bats test_tags=long
@test "forks of a process of gigabytes and 60,000 mappings are not interrupted by ticks" {
    with_pythons "$(list_pythons | tail -n 1)" forks_of_gigabytes
}

ENDINGS="exit _exit quick_exit abort term exit_in_thread _exit_in_thread abort_in_thread exit_in_handler exit_in_sigprof
    _exit_in_handler pthread_exit finalize_at_exit"

# end_by HOW PRELOAD: what it prints and its status.
end_by() {
    local status=0
    # Not of timeout: what it says is the program's.
    timeout -k 5 60 env ENDINGS=1 LD_PRELOAD="$2" PYPROF_HZ=1000 "$PYTHON" -c "import ctypes
ctypes.CDLL('./endings.so').ending(b'$1')" 2>>stderr.txt || status=$?
    echo "$1: status $status"
}

same_ends() {
    gcc -O1 -g -w -shared -fPIC -D_GNU_SOURCE -o endings.so "$WORKLOADS/lib/endings.c" -lpthread -ldl
    # It dies as it is meant to.
    ulimit -Sc 0
    for how in $ENDINGS; do
        end_by "$how" ./endings.so >>plain.txt
        end_by "$how" "$LIBPYPROF ./endings.so" >>before.txt
        end_by "$how" "./endings.so $LIBPYPROF" >>behind.txt
    done
    ! grep pyprof stderr.txt || fail "it says: $(grep pyprof stderr.txt)"
    diff plain.txt before.txt || fail "behind ours"
    diff plain.txt behind.txt || fail "in front of ours"
}

@test "exit, _exit, quick_exit, abort, signals, from threads, handlers and exit handlers: as without us, whoever comes last" {
    with_some_pythons same_ends
}
