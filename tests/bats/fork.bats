# fork, exec, multiprocessing: each process has its own file, nothing is counted twice, none hangs or dies.
load lib/helper

parent_and_child() {
    mkdir truth
    profiled "$PYTHON" -W ignore "$WORKLOADS/forks.py" truth
    [ "$(log_files | wc -l)" -eq 2 ] || fail "expected two files: $(log_files)"
    collapsed --processes >stacks.txt
    for who in parent child; do
        pid=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' truth/$who.json)
        log_files | grep -qE "(^|[^0-9])${pid}[^0-9]" || fail "no file of the $who, $pid: $(log_files)"
    done
    ns() {
        sed -n "s/.*\"$1\": \\([0-9.]*\\).*/\\1/p" truth/*.json | awk '{ printf "%d", $1 * 1e9 }'
    }
    cpu_near "$(reader inclusive stacks.txt before_fork)" "$(ns before_fork)" 6 "before_fork, once"
    cpu_near "$(reader inclusive stacks.txt in_child)" "$(ns in_child)" 6 "in_child"
    cpu_near "$(reader inclusive stacks.txt after_fork)" "$(ns after_fork)" 6 "after_fork"
    adds_up
}

# bats test_tags=core
@test "os.fork: the child has its own file, the parent's samples are not in it" {
    with_each_python parent_and_child
}

@test "a single-threaded program gets no warning about threads from os.fork" {
    cat >forks.py <<'END'
import os, sys
sum(i * i for i in range(2000000))
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
END
    # Not "error": 3.12, 3.13 and 3.14 clear that error before it is seen.
    profiled "$PYTHON" -W always forks.py 2>err.txt || fail "$(cat err.txt)"
    [ ! -s err.txt ] || fail "stderr: $(cat err.txt)"
    # With a thread of its own the program does get the warning.
    sed -i '1a import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()' forks.py
    profiled "$PYTHON" -W always forks.py 2>err.txt
    case $VERSION in
    3.8.* | 3.9.* | 3.10.* | 3.11.*) [ ! -s err.txt ] || fail "stderr: $(cat err.txt)" ;;
    *) grep -q 'DeprecationWarning.*multi-threaded' err.txt || fail "no warning: $(cat err.txt)" ;;
    esac
}

# pool METHOD
pool() {
    spent=$(profiled "$PYTHON" "$WORKLOADS/pool.py" "$1")
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt pool_job)" "$spent" 5 "pool_job by $1"
    adds_up
}

@test "multiprocessing: the pool's CPU is in the merged profile (fork, spawn, forkserver)" {
    for method in fork spawn forkserver; do
        mkdir "$method"
        (cd "$method" && pool "$method")
    done
}

# one_task KIND TASKS: children that serve a task each, and end by os._exit.
one_task() {
    mkdir truth
    profiled "$PYTHON" "$WORKLOADS/measured_pools.py" truth "$1" "$2" >children.txt
    [ "$1" = futures ] || [ "$(cat children.txt)" -eq "$2" ] || fail "$(cat children.txt) children for $2 tasks"
    collapsed >stacks.txt
    info >info.json
    reader split truth stacks.txt info.json 5
    reader cpu_used truth info.json
    reader accounting info.json
}

@test "multiprocessing, maxtasksperchild=1: the CPU of each child is in the merged profile" {
    one_task pool 6
}

tasks_of_executors() {
    local kind kinds="pool futures"
    # ProcessPoolExecutor has max_tasks_per_child since 3.11.
    case $VERSION in 3.8.* | 3.9.* | 3.10.*) ;; *) kinds+=" executor" ;; esac
    for kind in $kinds; do
        mkdir "$kind"
        (cd "$kind" && one_task "$kind" 24)
    done
}

# bats test_tags=long
@test "many children of multiprocessing and of concurrent.futures: their CPU is in the merged profile" {
    with_each_python tasks_of_executors
}

# ended_by HOW STATUS
ended_by() {
    local status=0
    rm -rf pyprof.out
    LD_PRELOAD=$LIBPYPROF "$PYTHON" -c 'import os, signal, sys, time
def burn_before():
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        sum(range(1000))
def goes_on():
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        sum(range(1000))
how = sys.argv[1]
if how == "handled":
    signal.signal(signal.SIGTERM, lambda *_: None)
burn_before()
if how == "interrupt":
    raise KeyboardInterrupt
if how == "abort":
    os.abort()
if how == "leave":
    os._exit(3)
signal.raise_signal(signal.SIGTERM) if how == "raise" else os.kill(os.getpid(), signal.SIGKILL if how == "kill" else signal.SIGTERM)
goes_on()' "$1" 2>/dev/null || status=$?
    [ "$status" -eq "$2" ] || fail "$1: status $status, expected $2"
    adds_up
    [ "$(grep -c '"ended": true' info.json)" -eq 1 ] || fail "$1: not ended: $(cat info.json)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_before)" 300000000 10 "burn_before, $1"
    if [ "$1" = handled ]; then
        cpu_near "$(reader inclusive stacks.txt goes_on)" 300000000 10 "goes_on"
    fi
}

# bats test_tags=core
@test "a process that ends itself, by a signal or os._exit, loses nothing, and its status stays" {
    ended_by raise 143
    ended_by term 143
    ended_by kill 137
    ended_by handled 0
    ended_by interrupt 130
    ended_by leave 3
    ulimit -Sc 0
    ended_by abort 134
}

@test "a child that somebody kills in its first second leaves a profile" {
    cat >young.py <<'END'
import glob, os, signal, sys, time

def set_title(title):
    fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])
    with open("/proc/self/mem", "r+b", 0) as memory:
        memory.seek(start)
        memory.write(title.ljust(end - start, b"\0")[:end - start])

def size():
    return sum(map(os.path.getsize, glob.glob(f"pyprof.out/{os.getpid()}-*")))

def burn_young(done):
    while not done() and time.monotonic() < began + 60:
        sum(range(1000))

began = time.monotonic()
reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    burn_young(lambda: size() and time.monotonic() > began + 0.2)
    set_title(b"worker-title")
    for _ in range(2):  # one may have begun before
        before = size()
        burn_young(lambda: size() > before)
        time.sleep(0.03)
    os.write(writing, b".")
    while True:
        time.sleep(60)
os.read(reading, 1)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
# Others save after a second for the first time.
sys.exit(time.monotonic() > began + 0.95)
END
    runs=0
    until rm -rf pyprof.out && profiled "$PYTHON" young.py && collapsed >stacks.txt && grep -q burn_young stacks.txt; do
        [ $((++runs)) -lt 10 ] || fail "not once in its first second: $(cat stacks.txt)"
    done
    # What it called itself after the first save, in its file only.
    [ "$(grep -laF worker-title pyprof.out/* | wc -l)" -eq 1 ] || fail "no title in the files"
    [ "$(info | grep -c '"cmdline": "worker-title"')" -eq 1 ] || fail "no title: $(info | grep -F cmdline)"
}

# bats test_tags=core
@test "exec keeps the pid: two files, nothing twice, nothing lost" {
    profiled "$PYTHON" "$WORKLOADS/exec_self.py" >own_clock.txt
    read -r same before all <own_clock.txt
    [ "$same" = True ] || fail "$(cat own_clock.txt)"
    [ "$(log_files | wc -l)" -eq 2 ] || fail "expected two files of one pid: $(log_files)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt first_image)" 2500000000 4 "before exec"
    cpu_near "$(reader inclusive stacks.txt second_image)" 300000000 6 "after exec"
    adds_up
    [ "$(grep -c '"ended": true' info.json)" -eq 2 ] || fail "not both have ended: $(cat info.json)"
    # The pid's clock goes on across exec; what the first image used is not the second's.
    between $((all - all / 8)) "$(reader field info.json cpu_ns)" $((all + all / 8)) "cpu_ns of both"
    # What was used before the second image's start counts once.
    between "$before" "$(reader field info.json before_start_ns)" $((before + before / 8)) "before_start_ns"
}

# bats test_tags=core
@test "every function that starts a program does what it does without us; one that fails ends nothing" {
    profiled "$PYTHON" "$WORKLOADS/exec_family.py" >surprises.txt || fail "$(cat surprises.txt)"
    collapsed >stacks.txt
    # An exec that fails ends nothing.
    cpu_near "$(reader inclusive stacks.txt goes_on)" 1200000000 5 "after exec has failed"
    adds_up
    ! grep -q '"ended": false' info.json || fail "not ended: $(cat info.json)"
}

# bats test_tags=core
@test "a thread that came by a bare clone forks: the child is profiled" {
    gcc -O1 -g -shared -fPIC -o raw_fork.so "$WORKLOADS/lib/raw_fork.c"
    profiled "$PYTHON" -c 'import ctypes
print(ctypes.CDLL("./raw_fork.so").fork_in_raw_thread())' >status.txt
    [ "$(cat status.txt)" -eq $((7 << 8)) ] || fail "status of the child: $(cat status.txt), expected $((7 << 8))"
    [ "$(log_files | wc -l)" -eq 2 ] || fail "expected two files: $(log_files)"
    collapsed >stacks.txt
    seen=$(grep -F 'burn_in_raw_child (raw_fork.so)' stacks.txt | awk '{ n += $NF } END { print n + 0 }')
    # Its timer comes with the flush thread, which takes long to begin where all is slow: of what is sampled it has all.
    adds_up
    sampled=$(judge 'parent, child = sorted(json.load(open("info.json"))["processes"], key=lambda process: process["pid"])
print(child["sampled_ns"])')
    between 1 "$sampled" 600000000 "sampled in the child of a thread that is not registered"
    between "$((sampled * 9 / 10))" "$seen" "$sampled" "the child of a thread that is not registered"
}

child_ended() {
    info >info.json && grep -q '"ended": true' info.json
}

# glibc's daemon() fails when /dev/null cannot be opened: in the child, which gets the error and goes on.
@test "daemon() that fails after its fork: its caller, the child, is profiled" {
    cat >daemon.py <<'END'
import ctypes, os, resource, sys, time

def burn_in_daemon():
    until = time.thread_time() + 0.5
    while time.thread_time() < until:
        sum(range(1000))

libc = ctypes.CDLL(None)
parent = os.getpid()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
result = libc.daemon(1, 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
burn_in_daemon()
with open("daemon.tmp", "w") as out:
    print(result, os.getpid() != parent, file=out)
os.rename("daemon.tmp", "daemon.txt")
END
    profiled "$PYTHON" daemon.py
    wait_until 60 test -e daemon.txt
    [ "$(cat daemon.txt)" = "-1 True" ] || fail "$(cat daemon.txt), expected -1 True"
    # Its parent has left by libc's own _exit.
    wait_until 60 child_ended
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_in_daemon)" 500000000 10 "after a daemon() that failed"
}

daemon_ended() {
    info >info.json && judge 'pid = int(open("daemon.txt").read())
assert any(process["pid"] == pid and process["ended"] for process in json.load(open("info.json"))["processes"])'
}

# As daemons do it: two forks, a session of its own, no descriptor of before; the numbers are taken for its own files.
# bats test_tags=core
@test "a daemon, of two forks and with every descriptor closed: its files are its own, its CPU is in the profile" {
    cat >daemon.py <<'END'
import os, time

def burn_in_daemon():
    until = time.thread_time() + 1.2
    while time.thread_time() < until:
        sum(range(1000))

for last in False, True:
    if os.fork():
        os._exit(0)
    if not last:
        os.setsid()
os.closerange(0, 1024)
assert [os.open("/dev/null", os.O_RDWR), os.dup(0), os.dup(1)] == [0, 1, 2]
own = [os.open(f"own{i}", os.O_WRONLY | os.O_CREAT) for i in range(20)]
assert own == list(range(3, 23)), own
burn_in_daemon()
assert not any(os.path.getsize(f"own{i}") for i in range(20))
with open("daemon.tmp", "w") as out:
    print(os.getpid(), file=out)
os.rename("daemon.tmp", "daemon.txt")
END
    profiled "$PYTHON" daemon.py >out.txt 2>&1
    [ ! -s out.txt ] || fail "it says: $(cat out.txt)"
    wait_until 60 test -e daemon.txt
    wait_until 60 daemon_ended
    reader accounting info.json
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_in_daemon)" 1200000000 8 "in the daemon"
}

# The child of a fork in the middle of that would wait for the loader for ever. The thread also searches for further interpreters
# there, and is there again as soon as it has left.
@test "a fork while the flush thread is in the loader, for as long as it is: the child loads libraries" {
    gcc -O1 -Wall -Werror -shared -fPIC -o slow_loader.so "$WORKLOADS/lib/slow_loader.c" -ldl
    SLOW_LOADER=all LIBPYPROF=$PWD/slow_loader.so:$LIBPYPROF profiled "$PYTHON" -c '
import os, signal, time
for n in range(8):
    while time.process_time() < 0.1 + n * 0.03:
        pass
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        import _decimal, _lzma
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status'
}

# end_under_fire: signals that come while our last words are written are too late, as they are without us.
@test "signals that come while the last of a profile is written are too late to change how the process ends" {
    gcc -O1 -Wall -Werror -shared -fPIC -o slow_loader.so "$WORKLOADS/lib/slow_loader.c" -ldl
    LIBPYPROF=$PWD/slow_loader.so:$LIBPYPROF profiled "$PYTHON" -c '
import os, signal, sys, time
def child(out, leave):
    until = time.process_time() + 0.2
    while time.process_time() < until:
        sum(range(1000))
    os.write(out, b"x")
    leave(0)
def at_its_end(pid, number):
    """Waits until it is there, or over; whether the signal waits then."""
    while True:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        if int(fields["SigBlk"], 16) >> (number - 1) & 1 or fields["State"].split()[0] == "Z":
            return fields["State"].split()[0] != "Z"
        time.sleep(0.005)
met = 0
for leave in sys.exit, os._exit:
    ready, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(out, leave)
    os.read(ready, 1)
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGALRM:
        met += at_its_end(pid, number)
        os.kill(pid, number)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, (leave, status)
assert met, "no signal came in time"'
    adds_up
}

# Right after a flush there is hardly anything to write but that.
@test "exec right behind a flush: the file says that its program has ended" {
    cat >execs.py <<'END'
import glob, os, sys, time

def size():
    return sum(map(os.path.getsize, glob.glob(f"pyprof.out/{os.getpid()}-*")))

left = int(sys.argv[1])
until = time.monotonic() + 1.1
while time.monotonic() < until:
    sum(range(1000))
before, end = size(), time.monotonic() + 300
while size() == before and time.monotonic() < end:
    sum(range(100))
if left:
    os.execv(sys.executable, [sys.executable, "execs.py", str(left - 1)])
END
    profiled "$PYTHON" execs.py 3
    adds_up
    [ "$(grep -c '"ended": true' info.json)" -eq 4 ] || fail "not all four have ended: $(cat info.json)"
}

# Once the last of the old image is written nothing may say that it goes on.
@test "exec that takes half a second to come about: what was written before it is the last word" {
    gcc -O1 -Wall -Werror -shared -fPIC -o slow_exec.so "$WORKLOADS/lib/slow_exec.c"
    LIBPYPROF=$LIBPYPROF:$PWD/slow_exec.so profiled "$PYTHON" -c 'import os, time
until = time.monotonic() + 2.2
while time.monotonic() < until:
    sum(range(1000))
os.execv("/bin/true", ["true"])'
    adds_up
    [ "$(grep -c '"ended": true' info.json)" -eq 1 ] || fail "not ended: $(cat info.json)"
}

@test "a thread changes the user while the last of a profile is written: it need not wait for that" {
    gcc -O1 -Wall -Werror -shared -fPIC -o slow_loader.so "$WORKLOADS/lib/slow_loader.c" -ldl
    gcc -O1 -Wall -Werror -shared -fPIC -o late_setuid.so "$WORKLOADS/lib/late_setuid.c" -lpthread
    LIBPYPROF=$PWD/slow_loader.so:$LIBPYPROF profiled "$PYTHON" -c 'import ctypes, time
late = ctypes.CDLL("./late_setuid.so")
late.begin()
until = time.process_time() + 0.2
while time.process_time() < until:
    sum(range(1000))
late.leave()' >out.txt
    [ "$(cat out.txt)" = "changed 1, at its end 1" ] || fail "it says: $(cat out.txt)"
}

# Forks that meet leave no signal blocked, hold up no later one, and the profile goes on.
forks_meet() {
    gcc -O1 -g -Wall -Werror -shared -fPIC -o forks_at_once.so "$WORKLOADS/lib/forks_at_once.c" -lpthread
    LIBPYPROF=$PWD/forks_at_once.so:$LIBPYPROF profiled "$PYTHON" -W ignore -c '
import ctypes, os, sys, time
def burn_after_forks():
    until = time.thread_time() + 1.2
    while time.thread_time() < until:
        sum(range(1000))
forks = ctypes.CDLL("./forks_at_once.so")
change = getattr(forks, sys.argv[1])()
took = []
for _ in range(6):
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    took.append(time.monotonic() - began)
burn_after_forks()
# Each of them waited half a second for the fork that had left the gate shut.
assert change == 0 and min(took) < 0.4, f"signals {change:x} changed, {took} s for later forks"' "$1"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_after_forks)" 1200000000 8 "after forks that met"
    adds_up
    ! grep -q '"ended": false' info.json || fail "not ended: $(cat info.json)"
}

@test "two threads fork at once, for longer than one waits for the other: no signal is blocked, the profile is whole" {
    forks_meet two_at_once
}

@test "a signal handler forks in the middle of a fork, and its child goes on with that: as with two threads" {
    forks_meet one_in_another
}

@test "forks in the middle of pthread_create, and in a thread that has not begun: the child goes on with that" {
    gcc -O1 -shared -fPIC -pthread -o creation.so "$WORKLOADS/lib/forks_in_creation.c" -ldl
    ulimit -Sc 0
    cat >creation.py <<'END'
import ctypes, time

while time.thread_time() < 0.1:
    pass
creation = ctypes.CDLL("./creation.so")
print([creation.fork_in_creation(in_thread) for in_thread in [False, True] * 5])
END
    [ "$(LD_PRELOAD=./creation.so timeout 60 "$PYTHON" creation.py)" = "$(printf '[%s0]' "$(printf '0, %.0s' {1..9})")" ] || fail "without us, too"
    LD_PRELOAD=$LIBPYPROF:./creation.so PYPROF_OUT=pyprof.out timeout 60 "$PYTHON" creation.py >creation.txt
    grep -qx "\[0$(printf ', 0%.0s' {1..9})\]" creation.txt || fail "threads that do not run once: $(cat creation.txt)"
    [ "$(log_files | wc -l)" -eq 11 ] || fail "expected a file of each process: $(log_files)"
    collapsed >stacks.txt
    # once in each process: 10 children used 50 ms, the parent 500
    between 600000000 "$(awk '/;use_cpu / { ns += $NF } END { print ns + 0 }' stacks.txt)" 1050000000 "ns of use_cpu"
    adds_up
}

# The lock that this thread holds is never dropped in a child.
@test "children of a process with a thread in the loader end at once, and their profile is whole" {
    gcc -O1 -g -Wall -Werror -shared -fPIC -o forks_at_once.so "$WORKLOADS/lib/forks_at_once.c" -lpthread
    profiled "$PYTHON" -c 'import ctypes
forks = ctypes.CDLL("./forks_at_once.so")
forks.beside_loader.restype = ctypes.c_double
took = forks.beside_loader(6, ctypes.c_double(0.06))
# longer than a second: modules are asked for
long = forks.beside_loader(1, ctypes.c_double(1.4))
assert max(took, long) < 2, f"ends of children took {took:.2f} and {long:.2f} s"'
    collapsed >stacks.txt
    cpu_near "$(awk '/burn_in_child/ { n += $NF } END { print n + 0 }' stacks.txt)" 1760000000 10 "in the children"
    adds_up
    ! grep -q '"ended": false' info.json || fail "not ended: $(cat info.json)"
}

# The first fork cannot know that the profiler's thread waits for another thread, not for it: half a second.
@test "forks while a thread stays in its callback from the loader wait for our thread once, not each" {
    gcc -O1 -g -Wall -Werror -shared -fPIC -o forks_at_once.so "$WORKLOADS/lib/forks_at_once.c" -lpthread
    profiled "$PYTHON" -c 'import ctypes
forks = ctypes.CDLL("./forks_at_once.so")
forks.beside_callback.restype = ctypes.c_double
took = forks.beside_callback(12)
assert took > 0.4, "our thread did not wait for the loader"
assert took < 3, f"12 forks took {took:.2f} s"'
}

@test "a child that does nothing leaves no file" {
    profiled "$PYTHON" -c 'import os
for _ in range(100):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)'
    # A tick may fall into a fork: that child's sample is kept. So is what takes 5 ms on a busy machine.
    info >info.json
    python3 - <<'END' || fail "files of children that did nothing: $(log_files | wc -l)"
import json
processes = json.load(open("info.json"))["processes"]
assert processes and all(process["samples"] or process["cpu_ns"] >= 5e6 for process in processes), processes
END
}

# Its parent ends by libc's own _exit.
@test "daemon(): the last of the parent is written" {
    profiled "$PYTHON" -c 'import ctypes, time
def burn_before_daemon():
    until = time.thread_time() + 1.6
    while time.thread_time() < until:
        sum(range(1000))
burn_before_daemon()
ctypes.CDLL(None).daemon(1, 1)'
    info >info.json
    [ "$(grep -c '"ended": true' info.json)" -ge 1 ] || fail "the parent has not ended: $(cat info.json)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_before_daemon)" 1600000000 3 "before daemon()"
}

# In a namespace of its own the child of process 1 is process 1 too.
@test "a child by a bare clone() that has the number of its parent, 1, is not taken for it" {
    needs_namespaces -p -f --mount-proc
    LD_PRELOAD=$LIBPYPROF timeout -k 5 60 unshare -p -f --mount-proc "$PYTHON" -c 'import ctypes, os, time
until = time.thread_time() + 0.3
while time.thread_time() < until:
    sum(range(1000))
began = time.monotonic()
for _ in range(2):
    pid = ctypes.CDLL(None).syscall(56, 0x20000000 | 17, 0, 0, 0, 0)  # clone(CLONE_NEWPID | SIGCHLD)
    if pid == 0:
        assert os.getpid() == os.getppid() + 1 == 1
        os._exit(7)
    assert os.waitpid(pid, 0)[1] == 7 << 8
took = time.monotonic() - began
assert took < 2, f"two children took {took:.2f} s"'
    [ "$(log_files | wc -l)" -eq 1 ] || fail "expected one file: $(log_files)"
}

fork_and_exec() {
    PYPROF_HZ=250 TIMEOUT=600 profiled "$PYTHON" "$WORKLOADS/fork_exec.py" "$children"
}

@test "200 children by fork+exec, posix_spawn, subprocess, system under load at 250 Hz: none dies" {
    children=200
    with_a_python fork_and_exec
}

# bats test_tags=long
@test "2,000 children by fork+exec, posix_spawn, subprocess, system under load at 250 Hz: none dies" {
    children=2000
    with_each_python fork_and_exec
}

fork_and_import() {
    PYPROF_HZ=1000 TIMEOUT=900 profiled "$PYTHON" "$WORKLOADS/fork_import.py" "$children"
}

@test "100 forked children import C extensions at once: none hangs" {
    children=100
    with_a_python fork_and_import
}

# bats test_tags=long
@test "1,000 forked children import C extensions at once: none hangs" {
    children=1000
    with_each_python fork_and_import
}
