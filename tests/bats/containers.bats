# What containers take away from a process: rights, system calls, file systems, and time.
load lib/helper

setup() {
    prepare
    cp "$WORKLOADS/two_threads.py" two.py
    cp two.py "$TMPDIR"
}

# inside SETUP COMMAND...: in mount, pid and time of its own, after SETUP (a script of sh, that does what a container has
# done before the program starts); the program is preloaded only then. Its output must be empty.
inside() {
    local setup=$1
    shift
    # shellcheck disable=SC2016
    timeout -k 5 "$TIMEOUT" unshare -m "${NAMESPACES[@]}" sh -c 'eval "$1"; shift; LD_PRELOAD=$1; shift; export LD_PRELOAD; exec "$@"' sh "$setup" \
        "$LIBPYPROF" "$@" >out.txt 2>&1 || fail "$setup: $*: status $?: $(cat out.txt)"
}

whole() {
    [ ! -s out.txt ] || fail "$WHERE: it says: $(cat out.txt)"
    adds_up
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt use_cpu)" 600000000 15 "use_cpu in two threads, $WHERE"
    rm -rf "${OUT:-pyprof.out}"
}

# bats test_tags=core
@test "pid 1, rootless: profiled, and not a word" {
    needs_namespaces -m -U -r -p -f --mount-proc
    WHERE="pid 1 in a user and pid namespace of its own"
    NAMESPACES=(-U -r -p -f --mount-proc)
    inside : "$PYTHON" "$BATS_TEST_TMPDIR/two.py"
    whole
}

@test "no capability; no /proc, or a hidden one; no /dev: profiled, and not a word" {
    needs_namespaces -m -p -f --mount-proc
    local two=("$PYTHON" "$BATS_TEST_TMPDIR/two.py")
    NAMESPACES=()
    WHERE="without any capability"
    inside : setpriv --bounding-set -all --inh-caps -all --no-new-privs "${two[@]}"
    whole
    WHERE="without /proc"
    inside 'mount -t tmpfs none /proc' "${two[@]}"
    whole
    WHERE="with a hidden /proc"
    # Before Linux 5.8 hidepid is the pid namespace's: not that of the whole machine.
    NAMESPACES=(-p -f)
    inside 'mount -t proc -o hidepid=2 proc /proc' "${two[@]}"
    whole
    NAMESPACES=()
    WHERE="without /dev"
    inside 'mount -t tmpfs none /dev' "${two[@]}"
    whole
}

# All that is mounted read-only, but a volume; then not even that.
read_only='mount --make-rprivate / && mount --rbind / /mnt && mount -o remount,ro,bind /mnt'

# bats test_tags=core
@test "a read-only root with a volume; without one: one line, the program runs on" {
    needs_namespaces -m
    mkdir volume
    NAMESPACES=()
    WHERE="on a read-only file system with a volume"
    OUT=volume/out
    inside "$read_only && mount --bind '$PWD/volume' '/mnt$PWD/volume' && cd /mnt$PWD" env PYPROF_OUT="$PWD/volume/out" \
        chroot /mnt "$PYTHON" "$BATS_TEST_TMPDIR/two.py"
    whole
    unset OUT
    inside "$read_only && cd /mnt$PWD" env PYPROF_OUT="$PWD/volume/out" TMPDIR=/nowhere chroot /mnt "$PYTHON" "$BATS_TEST_TMPDIR/two.py"
    lines_of out.txt 1 '^pyprof: cannot write .*: (R|r)ead-only file system'
}

# What docker's default profile denies, and what older ones do: the calls end with EPERM.
@test "the system calls that docker's default filter denies, and process_vm_readv besides" {
    profiled "$BUILD/workloads/filtered" docker "$PYTHON" "$BATS_TEST_TMPDIR/two.py" >out.txt 2>&1 || fail "status $?: $(cat out.txt)"
    WHERE="with docker's default filter"
    whole
    for how in old absent; do
        profiled "$BUILD/workloads/filtered" "$how" "$PYTHON" "$BATS_TEST_TMPDIR/two.py" >out.txt 2>&1 || fail "status $?: $(cat out.txt)"
        WHERE="where process_vm_readv is refused: $how"
        whole
        grep -q 'memory is read by /proc/self/mem' info.json || fail "info does not say so: $(cat info.json)"
        "$BUILD/workloads/filtered" "$how" "$PYPROF" doctor >doctor.txt || true
        unwrapped <doctor.txt | grep -q 'ok machine process_vm_readv is not permitted here .*: memory is read by /proc/self/mem' ||
            fail "doctor: $(cat doctor.txt)"
    done
}

# RHEL 8's: no close_range, clone3, openat2, faccessat2, pidfd_getfd.
@test "the system calls of Linux 4.18: threads, forks, a pool and an exec are profiled at ticks, which is said" {
    cat >children.py <<'EOF'
import multiprocessing, os, subprocess, sys, time


def use_cpu(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


if __name__ == "__main__" and sys.argv[1:]:
    use_cpu(0.4)
elif __name__ == "__main__":
    pid = os.fork()
    if pid == 0:
        use_cpu(0.4)
        os._exit(0)
    os.waitpid(pid, 0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(use_cpu, [0.4, 0.4], chunksize=1)
        pool.close()
        pool.join()
    subprocess.check_call([sys.executable, __file__, "again"])
EOF
    profiled "$BUILD/workloads/filtered" 4.18 "$PYTHON" "$BATS_TEST_TMPDIR/two.py" >out.txt 2>&1 || fail "status $?: $(cat out.txt)"
    info >info.json
    grep -q 'no perf events: the kernel has no descriptor table' info.json || fail "info does not say why: $(cat info.json)"
    WHERE="on Linux 4.18"
    whole
    profiled "$BUILD/workloads/filtered" 4.18 "$PYTHON" children.py >out.txt 2>&1 || fail "status $?: $(cat out.txt)"
    [ ! -s out.txt ] || fail "it says: $(cat out.txt)"
    reader accounting <(info)
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt use_cpu)" 1600000000 15 "use_cpu in four children"
}

@test "neither process_vm_readv nor /proc: native frames only, and one line says so" {
    needs_namespaces -m
    NAMESPACES=()
    inside 'mount -t tmpfs none /proc' "$BUILD/workloads/filtered" old "$PYTHON" "$BATS_TEST_TMPDIR/two.py"
    lines_of out.txt 1 '^pyprof: neither process_vm_readv nor /proc/self/mem can be used here .*: native frames only'
    reader accounting <(info)
    collapsed >stacks.txt
    [ "$(reader inclusive stacks.txt use_cpu)" -eq 0 ] || fail "Python frames without a way to read memory"
}

closed() {
    profiled "$BUILD/workloads/filtered" absent "$PYTHON" "$WORKLOADS/closes_memory.py" >out.txt 2>err.txt || fail "status $?: $(cat err.txt)"
    [ "$(cat out.txt)" = end ] || fail "it says: $(cat out.txt)"
    # The child may fork before its parent has said it.
    ! grep -vE 'process [0-9]+ has closed descriptor [0-9]+, by which its memory was read: native frames only' err.txt || fail "$(cat err.txt)"
    between 1 "$(wc -l <err.txt)" 2 "lines"
    reader accounting <(info)
    collapsed >stacks.txt
    for function in before_close in_child; do
        cpu_near "$(reader inclusive stacks.txt "$function")" 500000000 15 "$function"
    done
    for function in after_close after_reuse; do
        [ "$(reader inclusive stacks.txt "$function")" -eq 0 ] || fail "$function: by whose memory?"
    done
    cpu_near "$(awk '{ n += $NF } END { print n + 0 }' stacks.txt)" 2000000000 15 "the sum"
}

@test "where process_vm_readv is not there, a program that closes its descriptors lives on; its children have their stacks" {
    with_each_python closed
}

# The program computes until it has been held up, and says what the kernel billed it.
while_it_works='import os, time
def use_cpu():
    while not os.path.exists("enough"):
        sum(range(1000))
        if not os.path.exists("works") and time.thread_time() > 0.2:
            open("works", "w").close()
    end = time.thread_time() + 0.3
    while time.thread_time() < end: sum(range(1000))
before = time.thread_time()
use_cpu()
with open("truth", "w") as truth:
    truth.write(f"{int(1e9 * (time.thread_time() - before))} {int(1e9 * time.process_time())}")'

# Nothing may stay that no signal ends.
end_of_test() {
    if [ -n "${pid:-}" ]; then
        eval "$go" || true
        stop_server "$pid" KILL
    fi
    [ -z "${cgroup:-}" ] || wait_until 10 rmdir "$cgroup"
}

# held STOP GO HOLDS: eval'ed; after the first the last becomes true, and two seconds later the second ends it.
held() {
    local stop=$1 holds=$3 truth all
    go=$2
    LD_PRELOAD=$LIBPYPROF "$PYTHON" -c "$while_it_works" >out.txt 2>&1 3>&- &
    pid=$!
    wait_until 60 test -e works
    eval "$stop"
    wait_until 60 eval "$holds" || fail "$WHERE: it is not"
    sleep 2
    eval "$go"
    touch enough
    wait "$pid" || fail "$WHERE: status $?: $(cat out.txt)"
    adds_up
    collapsed >stacks.txt
    # None of the two seconds is counted.
    truth=$(cut -d' ' -f1 truth)
    all=$(cut -d' ' -f2 truth)
    cpu_near "$(reader inclusive stacks.txt use_cpu)" "$truth" 8 "use_cpu, $WHERE"
    between "$truth" "$(reader field info.json cpu_ns)" $((all + 1000000000)) "CPU time, $WHERE"
}

# make_cgroup FILE...: one that has one of these; its path. As version 1 names them, and version 2.
make_cgroup() {
    local parent made file
    for parent in /sys/fs/cgroup/freezer /sys/fs/cgroup/cpu /sys/fs/cgroup/memory /sys/fs/cgroup/unified /sys/fs/cgroup; do
        made=$(mktemp -d "$parent/pyprof-test.XXXXXX" 2>/dev/null) || continue
        for file in "$@"; do
            if [ -w "$made/$file" ] && [ -w "$made/cgroup.procs" ]; then
                echo "$made"
                return
            fi
        done
        rmdir "$made"
    done
    return 1
}

needs_cgroup() {
    local made
    made=$(make_cgroup "$@") || skip "no cgroup with $* can be made here"
    rmdir "$made"
}

# shellcheck disable=SC2016 # held evaluates them
@test "stopped by SIGSTOP: no burst, and no time that no thread used" {
    cgroup=
    WHERE="stopped by SIGSTOP"
    held 'kill -STOP $pid' 'kill -CONT $pid' 'grep -q "^State:.*T (stopped)" /proc/$pid/status'
}

# shellcheck disable=SC2016
# bats test_tags=core
@test "frozen by its cgroup: no burst, and no time that no thread used" {
    needs_cgroup freezer.state cgroup.freeze
    cgroup=$(make_cgroup freezer.state cgroup.freeze)
    WHERE="frozen by its cgroup"
    if [ -e "$cgroup/freezer.state" ]; then
        held 'echo $pid >$cgroup/cgroup.procs; echo FROZEN >$cgroup/freezer.state' 'echo THAWED >$cgroup/freezer.state' \
            'grep -q FROZEN $cgroup/freezer.state'
    else
        held 'echo $pid >$cgroup/cgroup.procs; echo 1 >$cgroup/cgroup.freeze' 'echo 0 >$cgroup/cgroup.freeze' \
            'grep -q "frozen 1" $cgroup/cgroup.events'
    fi
}

# shellcheck disable=SC2016
# bats test_tags=core
@test "throttled by its cgroup: no burst, and no time that no thread used" {
    needs_cgroup cpu.cfs_quota_us cpu.max
    cgroup=$(make_cgroup cpu.cfs_quota_us cpu.max)
    local was='grep -q "nr_throttled [1-9]" $cgroup/cpu.stat'
    WHERE="throttled by its cgroup"
    if [ -e "$cgroup/cpu.max" ]; then
        held 'echo 20000 100000 >$cgroup/cpu.max; echo $pid >$cgroup/cgroup.procs' : "$was"
    else
        held 'echo 20000 >$cgroup/cpu.cfs_quota_us; echo $pid >$cgroup/cgroup.procs' : "$was"
    fi
}

# The program has done its work, and slept until that is written, when it takes more memory than there is.
# bats test_tags=core
@test "killed for its cgroup's limit of memory: what was written before is whole" {
    needs_cgroup memory.limit_in_bytes memory.max
    cgroup=$(make_cgroup memory.limit_in_bytes memory.max)
    for limit in memory.limit_in_bytes memory.max; do
        [ ! -e "$cgroup/$limit" ] || echo $((64 << 20)) >"$cgroup/$limit"
    done
    [ ! -e "$cgroup/memory.swap.max" ] || echo 0 >"$cgroup/memory.swap.max"
    local status=0
    # shellcheck disable=SC2016
    sh -c 'echo $$ >"$1/cgroup.procs"; shift; LD_PRELOAD=$LIBPYPROF exec "$@"' sh "$cgroup" "$PYTHON" -c 'import time
def use_cpu():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        sum(range(1000))
def use_memory():
    while True:
        kept.append(b"." * (1 << 20))
kept = []
use_cpu()
time.sleep(2.5)
use_memory()' >out.txt 2>&1 || status=$?
    [ "$status" -eq 137 ] || fail "status $status: $(cat out.txt)"
    ! grep pyprof: out.txt || fail "it says something"
    adds_up
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt use_cpu)" 1000000000 15 "use_cpu before the kernel killed it"
}

# In a time namespace the clocks that are not of the wall differ.
# bats test_tags=core
@test "in a time namespace" {
    needs_namespaces -m -T --monotonic 100000 --boottime 100000 -f
    NAMESPACES=(-T --monotonic 100000 --boottime 100000 -f)
    WHERE="in another time"
    inside : "$PYTHON" "$BATS_TEST_TMPDIR/two.py"
    "$PYPROF" info --json >info.json
    judge 'process = json.load(open("info.json"))["processes"][0]
assert 0 < process["end_unix_ns"] - process["start_unix_ns"] < 600e9, process'
    whole
}
