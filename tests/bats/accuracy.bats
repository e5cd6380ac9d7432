# How right the figures are: every function of a program that knows what it used.
load lib/helper

@test "mixed program: each function within 5 % of its thread clock, total within 1 %" {
    profiled "$PYTHON" "$WORKLOADS/mixed.py" truth.json
    collapsed >stacks.txt
    adds_up
    reader mixed truth.json stacks.txt info.json
}

@test "PYPROF_HZ changes the rate and not the seconds" {
    # Beside a perf event the timer signals at each tick.
    PYPROF_CLOCK=tick PYPROF_HZ=250 profiled "$PYTHON" "$WORKLOADS/timers.py" 2 >intervals.txt
    [ "$(wc -l <intervals.txt)" -eq 1 ] || fail "not one timer: $(cat intervals.txt)"
    # 5 to 10 % off, so that work in step with the period is met everywhere.
    between 3600 "$(cat intervals.txt)" 4400 "µs between two samples at 250 Hz"
    collapsed >stacks.txt
    info >info.json
    # One sample each 4 ms of CPU at most. How many ticks the program meets is the machine's affair.
    between 1 "$(reader field info.json samples)" 550 "samples of 2 s at 250 Hz"
    cpu_near "$(reader inclusive stacks.txt spin)" 2000000000 5 "spin at 250 Hz"
    reader accounting info.json
}

@test "work that repeats after exactly one period: each half has its share, within 5 sigma of chance" {
    profiled "$PYTHON" "$WORKLOADS/one_period.py" 6 0.7
    "$PYPROF" export pyprof.out --format collapsed --unit samples >samples.txt
    for thread in {0..5}; do
        first=$(grep -E ";first_$thread \(" samples.txt | awk '{ n += $NF } END { print n + 0 }')
        second=$(grep -E ";second_$thread \(" samples.txt | awk '{ n += $NF } END { print n + 0 }')
        # The variance of the difference is the number of samples. In step with them one half would have all.
        [ $(((first - second) ** 2)) -le $((25 * (first + second))) ] || fail "thread $thread: $first and $second samples: $(cat samples.txt)"
    done
}

@test "native threads, however they end and whatever they block, are sampled" {
    gcc -O1 -g -shared -fPIC -o native_threads.so "$WORKLOADS/lib/native_threads.c" -lpthread
    profiled "$PYTHON" -c 'import ctypes
library = ctypes.CDLL("./native_threads.so")
library.run_native_threads.restype = ctypes.c_uint64
print(library.run_native_threads())' >truth.txt
    [ "$(cat truth.txt)" -gt 0 ] || fail "a thread did not end as it should"
    collapsed >stacks.txt
    seen=$(grep -F 'burn_native (native_threads.so)' stacks.txt | awk '{ n += $NF } END { print n }')
    cpu_near "$seen" "$(cat truth.txt)" 6 "native threads: returned, left, cancelled, detached, deaf to signals"
    adds_up
}

# measured PROGRAM ARGUMENTS...: runs measured_PROGRAM.py, whose processes print the CPU time that they used. Their sums must close, and hold
# all of it.
measured() {
    rm -rf pyprof.out truth
    mkdir truth
    profiled "$PYTHON" "$WORKLOADS/measured_$1.py" truth "${@:2}" >printed.txt || fail "$1: status $?: $(cat printed.txt)"
    collapsed >stacks.txt
    adds_up
    reader cpu_used truth info.json
}

# all_threads_are COUNT, of which some may not have ended yet when the process does: Python joins a thread too early.
all_threads_are() {
    local threads
    threads=$(($(reader field info.json threads) + $(reader field info.json exited_threads)))
    [ "$threads" -eq "$1" ] || fail "$threads threads in the profile, there were $1"
}

native_library() {
    gcc -O1 -g -shared -fPIC -o measured_native.so "$WORKLOADS/lib/measured_native.c" -lpthread
}

@test "the sum closes: many threads, short ones, tids used again, daemons at the end, a tree of forks, a mostly idle program" {
    measured threads busy 64 1
    all_threads_are 65
    measured threads short 400
    all_threads_are 401
    measured threads reused 40
    all_threads_are 41
    measured threads daemons 4 0.3
    measured forks 3 0.03
    [ "$(log_files | wc -l)" -eq 15 ] || fail "files of 15 processes: $(log_files)"
    measured split idle 1
    native_library
    measured native ./measured_native.so short 1000 1
    reader estimate info.json
    measured native ./measured_native.so exits 4 100
    measured native ./measured_native.so cancelled 4 100
    measured native ./measured_native.so raw_masked 4 100
}

# without_timers COMMAND...: prepends COMMAND to a program that runs on as it would, with one line, and a profile that
# says what is missing.
without_timers() {
    rm -rf pyprof.out truth
    mkdir truth
    profiled "$@" "$PYTHON" "$WORKLOADS/measured_threads.py" truth busy 2 0.3 >printed.txt 2>stderr.txt ||
        fail "$1: status $?: $(cat stderr.txt)"
    lines_of stderr.txt 1 'timer_create'
    "$PYPROF" info | unwrapped >info.txt
    grep -q 'without a timer' info.txt || fail "info does not say what is missing: $(cat info.txt)"
    adds_up
    reader cpu_used truth info.json
}

# bats test_tags=core
@test "no timers, for seccomp or for RLIMIT_SIGPENDING: the program runs on, one line, info tells" {
    without_timers "$BUILD/workloads/denied"
    without_timers bash -c 'ulimit -i 0 && exec "$@"' bash
}

# native_seen KIND: ns in burn_KIND.
native_seen() {
    grep -F "burn_$1 (measured_native.so)" stacks.txt | awk '{ n += $NF } END { print n + 0 }'
}

# bats test_tags=core
@test "threads made by a bare clone, and such as block all signals: their CPU is in their functions" {
    native_library
    measured native ./measured_native.so raw_clone 4 500
    cpu_near "$(native_seen raw_clone)" 2000000000 4 "threads made by a bare clone"
    measured native ./measured_native.so masked 4 500
    cpu_near "$(native_seen masked)" 2000000000 4 "threads that block all signals"
    # Nothing of libc's is between these and the kernel.
    measured native ./measured_native.so raw_masked 2 1200
    "$PYPROF" info | unwrapped >info.txt
    grep -q 'cannot be interrupted' info.txt || fail "info does not name the threads that no signal reaches: $(cat info.txt)"
}

@test "bursts in step with the tick: what no tick meets is [unsampled], and nobody else's" {
    measured split locked 6
    reader locked truth stacks.txt info.json locked_burst
    measured split eight 8
    reader locked truth stacks.txt info.json locked_burst
}

@test "a split of 512:256:...:1, also in bursts that are shorter than a tick" {
    measured split steady 2
    reader split truth stacks.txt info.json
    measured split bursts 1
    reader split truth stacks.txt info.json
}

# bats test_tags=long
@test "a split of 512:256:...:1 over 60 s of CPU: each function within 2 % of all" {
    measured split steady 60
    reader split truth stacks.txt info.json 2
    measured split bursts 60
    reader split truth stacks.txt info.json 2
}

odd() {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o odd_threads.so "$WORKLOADS/lib/odd_threads.c" -lpthread
    odd='import ctypes; odd = ctypes.CDLL("./odd_threads.so")'
}

@test "threads that begin by a system call and end without a word are billed once" {
    odd
    profiled "$PYTHON" -c "$odd
assert odd.generations(4, 1, 2, 1500) == 0"
    info >info.json
    # What no clock has shown before the first of them is found, and nothing twice.
    between -2000000 "$(reader field info.json difference_ns)" 60000000 "ns that are left over"
    OUT=short.out
    PYPROF_OUT=$OUT profiled "$PYTHON" -c "$odd
assert odd.generations(1, 1, 1, 1500) == 0 and odd.generations(30, 1, 2, 130) == 0"
    info >info.json
    # A thread that a busy machine kept from two scans in its life has no other place.
    between -2000000 "$(reader field info.json difference_ns)" 300000000 "ns that are left over of short threads"
}

@test "threads that end past libc have nothing of what a thread uses that was made past it" {
    odd
    profiled "$PYTHON" -c "$odd
assert odd.leave_beside(8, 2500) == 0"
    info >info.json
    between -2000000 "$(reader field info.json difference_ns)" 100000000 "ns that are left over"
    between 0 "$(reader field info.json thread_exit_ns)" 20000000 "ns in the ends of eight threads"
}

@test "a thread that lingers after its end is billed once" {
    odd
    profiled "$PYTHON" -c "$odd
assert odd.lingering(700) == 0"
    adds_up
}

# Each uses 3 ms before its end, and 3 ms in its end, where no clock of ours is read any more.
@test "what threads use in their ends is billed, and while other threads run nothing of theirs is" {
    odd
    profiled "$PYTHON" -c "$odd
import threading
left = []
def others():
    while not left:
        sum(range(1000))
threads = [threading.Thread(target=others) for _ in range(2)]
for thread in threads:
    thread.start()
assert odd.long_ends(60, 3) == 0
left.append(1)
for thread in threads:
    thread.join()"
    adds_up
    ends=$(reader field info.json thread_exit_ns)
    between 90000000 "$ends" 220000000 "ns in the ends of 60 threads that use 3 ms each there"
}

@test "threads on a page of stack get no signal, and are named" {
    odd
    profiled "$PYTHON" -c "$odd
assert odd.on_small_stacks(2, 300, 0) == 0
assert odd.on_small_stacks(2, 300, 1) == 0" 2>err.txt
    [ "$(grep -c 'too small a stack for a signal' err.txt)" -eq 1 ] || fail "stderr: $(cat err.txt)"
    adds_up
    [ "$(reader truncated info.json | sed -n 's/^thread that cannot be interrupted: its stack .*: //p')" -eq 4 ] || fail "not counted: $(cat info.json)"
}

crowd() {
    odd
    profiled "$PYTHON" -c "$odd
assert odd.crowd(1500, 3000) == 0"
    adds_up
    [ "$(reader field info.json exited_threads)" -eq 1500 ] || fail "threads: $(reader field info.json exited_threads)"
}

# bats test_tags=long
@test "1500 busy threads, some of which wait for their first turn for seconds: each is one" {
    with_each_python crowd
}

@test "2,000 threads of 1 ms: each counted once, their CPU is in the functions, the sum closes" {
    profiled "$PYTHON" "$WORKLOADS/churn.py" 2000
    adds_up
    # A thread that has been joined may not have left the process when it ends: it is alive then.
    exited=$(reader field info.json exited_threads)
    alive=$(reader field info.json threads)
    [ $((exited + alive)) -eq 2001 ] || fail "not 2,000 threads and the main one: $exited ended, $alive alive"
    between 1900 "$exited" 2000 "ended threads"
    reader estimate info.json
}
