# Processes and threads that begin, start others and end, at every moment of the profiler's work.
load lib/helper

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

@test "children of fork that exec, exit or are killed from any thread, spawns from two threads, forks while every lock is in use" {
    storms 15 40
}

# bats test_tags=long
@test "thousands of children that exec, exit or are killed, spawns from two threads, 100,000 forks while every lock is in use" {
    storms 2500 100000
}

# forks_of MEGABYTES MAPPINGS COUNT: while the kernel copies the process SIGURG is blocked; so no tick starts it again.
forks_of() {
    gcc -O1 -g -w -shared -fPIC -D_GNU_SOURCE -o storms.so "$WORKLOADS/lib/storms.c" -lpthread -ldl
    cat >slow.py <<END
import ctypes
print("us of a fork:", ctypes.CDLL("./storms.so").slow_fork($1, $2, $3))
END
    timeout 500 "$PYTHON" slow.py >plain.txt
    # The thread that checks may get no turn during a fork.
    for _ in 1 2 3 4 5 6; do
        PYPROF_HZ=1000 profiled "$PYTHON" slow.py >with.txt
        read -r _ looks _ <with.txt
        [ "$looks" -lt 10 ] || break
    done
    echo "without us: $(cat plain.txt); with us: $(cat with.txt)"
    grep -q 'us of a fork: [0-9]' with.txt || fail "forks failed: $(cat with.txt)"
    read -r _ looks _ unblocked <with.txt
    read -r _ plain_looks _ <plain.txt
    [ "$looks" -ge 10 ] || [ "$plain_looks" -ge 10 ] || skip "a thread gets no turn here while another forks, without us neither"
    # A check may fall before the fork proper.
    if [ "$looks" -lt 10 ] || [ "$unblocked" -gt $((looks / 4)) ]; then
        fail "$(cat with.txt)"
    fi
    read -r _ looks _ unblocked <plain.txt
    [ "$unblocked" -eq "$looks" ] || fail "it is blocked without us: $(cat plain.txt)"
}

@test "a fork that takes many ticks is not interrupted by them" {
    forks_of 128 20000 4
}

# bats test_tags=long
@test "forks of a process of gigabytes and 60,000 mappings are not interrupted by ticks" {
    local megabytes
    megabytes=$(awk '/MemAvailable/ { m = $2 / 1024 / 2; print int(m > 20480 ? 20480 : m) }' /proc/meminfo)
    forks_of "$megabytes" 60000 5
    echo "$megabytes MB: without us: $(cat plain.txt); with us: $(cat with.txt)" | sed 's/^/# /' >&3
}

ENDINGS="exit _exit quick_exit abort term exit_in_thread _exit_in_thread abort_in_thread exit_in_handler exit_in_sigprof
    _exit_in_handler pthread_exit finalize_at_exit"

# end_by HOW PRELOAD: what it prints and its status.
end_by() {
    local status=0
    # Not of timeout: what it says is the program's.
    timeout -k 5 "$TIMEOUT" env ENDINGS=1 LD_PRELOAD="$2" PYPROF_HZ=1000 "$PYTHON" -c "import ctypes
ctypes.CDLL('./endings.so').ending(b'$1')" 2>>stderr.txt || status=$?
    echo "$1: status $status"
}

# bats test_tags=core
@test "exit, _exit, quick_exit, abort, signals, from threads, handlers and exit handlers: as without us, whoever comes last" {
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

@test "the main thread ends while our thread needs seconds to stop: what is registered for the end of the process has its output" {
    gcc -O1 -g -w -shared -fPIC -D_GNU_SOURCE -o endings.so "$WORKLOADS/lib/endings.c" -lpthread -ldl
    cat >main_ends.py <<'END'
import ctypes, sys
sys.path.insert(0, sys.argv[1])
from cpu import spin
from traced import find_profiler, slow_down
endings = ctypes.CDLL("./endings.so")
spin(0.3)
if len(sys.argv) > 2:
    slow_down(find_profiler(), 5)
spin(1.2) # it is in a flush then
endings.ending(b"pthread_exit")
END
    ENDINGS=1 "$PYTHON" main_ends.py "$WORKLOADS" >plain.txt
    ENDINGS=1 profiled "$PYTHON" main_ends.py "$WORKLOADS" slowly >with.txt
    diff plain.txt with.txt
}

@test "the main thread ends while our thread is kept from running: it is not waited for" {
    cat >main_ends.py <<'END'
import ctypes, os, sys, threading, time
sys.path.insert(0, sys.argv[1])
from cpu import spin
from traced import find_profiler, hold
def wait_for_main():
    begun = time.monotonic()
    while open(f"/proc/self/task/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] not in "ZX":
        time.sleep(0.05)
    print("soon" if time.monotonic() - begun < 10 else "late", flush=True)
    os._exit(0)
spin(0.3)
hold(find_profiler(), 20)
threading.Thread(target=wait_for_main).start()
ctypes.CDLL(None).pthread_exit(None)
END
    [ "$(profiled "$PYTHON" main_ends.py "$WORKLOADS")" = soon ]
}

# with_loader HOW SECONDS [CODE]: the flush thread gets stuck, slow or waiting in the loader (lib/stuck_loader.c), and the program
# uses so much CPU time, prints the time and runs the code. Leaves began.txt and err.txt.
with_loader() {
    gcc -O1 -Wall -Werror -shared -fPIC -o stuck_loader.so "$WORKLOADS/lib/stuck_loader.c" -ldl
    LIBPYPROF=$PWD/stuck_loader.so:$LIBPYPROF profiled "$PYTHON" -c "import ctypes, os, time
ctypes.CDLL('./stuck_loader.so').get_$1()
until = time.thread_time() + $2
while time.thread_time() < until:
    sum(range(1000))
print(time.time(), flush=True)
${3:-}" >began.txt 2>err.txt
}

# An exec that fails and the end of a process whose flush thread is stuck share one wait.
@test "a flush thread that stands still holds up all the ends of a process for two seconds together" {
    with_loader stuck 1.3 'for _ in range(8):
    try:
        os.execv("/nonexistent", ["nonexistent"])
    except OSError:
        pass'
    # Each by itself would be sixteen seconds.
    awk -v now="$EPOCHREALTIME" '{ exit !(now - $1 < 8) }' began.txt || fail "from $(cat began.txt) to $EPOCHREALTIME"
    lines_of err.txt 1 'ends before the last of its profile is written'
}

# As on an emulated processor that other processes use, too: whole profiles were lost there, without a word.
@test "an end waits for a flush thread that works for longer than two seconds" {
    local end status
    for end in '' 'os.kill(os.getpid(), 15)' 'os.execv("/bin/true", ["true"])'; do
        rm -rf pyprof.out
        status=0
        with_loader slow 0.5 "$end" || status=$?
        [ "$status" -eq "$([[ $end == *kill* ]] && echo 143 || echo 0)" ] || fail "status $status"
        ! grep pyprof: err.txt || fail "$end: it says so"
        adds_up
        [ "$(reader field info.json sampled_ns)" -gt 400000000 ] || fail "$end: $(cat info.json)"
    done
}

@test "an end does not wait for longer than that for a flush thread that waits for its disk" {
    with_loader waiting 0.5
    awk -v now="$EPOCHREALTIME" '{ exit !(now - $1 < 6) }' began.txt || fail "from $(cat began.txt) to $EPOCHREALTIME"
    lines_of err.txt 1 'ends before the last of its profile is written'
}

# The kernel makes no thread for a process whose children are to be in another pid namespace.
@test "a process that moves its children into another pid namespace is profiled on, or says that it is not; they are" {
    needs_namespaces -U -r -p -m
    cat >moved.py <<'END'
import ctypes, os, sys, time
from cpu import spin

NEWUSER, NEWPID = 0x10000000, 0x20000000
libc = ctypes.CDLL(None)

def burn_after():
    spin(0.4)

def burn_child():
    spin(0.4)

def another_namespace():
    ready, write = os.pipe()
    first = os.fork()
    if first == 0:
        libc.unshare(NEWPID)
        second = os.fork()
        if second:
            os.write(write, b"%d" % second)
        time.sleep(600)
    second = int(os.read(ready, 10))
    descriptor = os.open("/proc/%d/ns/pid" % second, os.O_RDONLY)
    return descriptor, (first, second)

spin(0.3)
how, others = sys.argv[1], ()
if how == "unshare":
    error = libc.unshare(NEWUSER | NEWPID)
elif how == "unshare-memory":
    error = libc.unshare(0x100 | NEWPID)  # CLONE_VM: a process of one thread shares its memory with none
else:
    descriptor, others = another_namespace()
    error = libc.setns(descriptor, NEWPID if how == "setns" else 0)
burn_after()
child = os.fork()
if child == 0:
    burn_child()
    os._exit(7)
print(error, os.waitpid(child, 0)[1] >> 8)
for other in others:
    os.kill(other, 9)
END
    for how in unshare unshare-memory setns setns-any; do
        OUT=$PWD/$how
        PYPROF_OUT=$OUT profiled PYTHONPATH="$WORKLOADS" unshare -U -r "$PYTHON" moved.py $how >out.txt 2>err.txt || fail "$how: $(cat err.txt)"
        [ "$(cat out.txt)" = "0 7" ] || fail "$how: $(cat out.txt)"
        collapsed >"$how.txt"
        cpu_near "$(reader inclusive "$how.txt" burn_child)" 400000000 15 "$how: the child"
        if [[ $how = unshare* ]]; then
            grep -qx 'pyprof: cannot make a thread: process [0-9]* is in no profile from here on' err.txt || fail "$(cat err.txt)"
        else
            ! grep pyprof err.txt || fail "$how: it says: $(cat err.txt)"
            cpu_near "$(reader inclusive "$how.txt" burn_after)" 400000000 15 "$how: the process"
        fi
    done
}

on_a_frozen_disk() {
    OUT=$BATS_TEST_TMPDIR/disk/out
    cat >frozen.py <<'END'
import ctypes, os, time
from cpu import spin

def burn_frozen():
    spin(1.3)

spin(1.2)
os.close(os.open("ready", os.O_CREAT))
while not os.path.exists("frozen"):
    time.sleep(0.01)
burn_frozen()
began = time.monotonic()
assert ctypes.CDLL(None).unshare(0x04000000) == 0  # CLONE_NEWUTS
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
took = time.monotonic() - began
os.close(os.open("ended", os.O_CREAT))
assert took < 20, f"{took:.1f} s"
while not os.path.exists("thawed"):
    time.sleep(0.01)
spin(0.3)
END
    PYPROF_OUT=$OUT profiled PYTHONPATH="$WORKLOADS" "$PYTHON" frozen.py &
    pid=$!
    wait_until 60 test -e ready
    fsfreeze -f "$BATS_TEST_TMPDIR/disk"
    touch frozen
    wait_until 120 test -e ended || fail "it is held up"
    fsfreeze -u "$BATS_TEST_TMPDIR/disk"
    touch thawed
    wait "$pid"
    adds_up
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_frozen)" 1300000000 8 "while the disk stood still"
}

@test "a disk that stands still holds up neither unshare nor a child that has nothing to say; nothing is lost" {
    truncate -s 32M disk.img
    mkdir disk
    if ! mkfs.ext4 -q disk.img || ! mount -o loop disk.img disk; then
        skip "no file system can be made and mounted here"
    fi
    status=0
    with_a_python on_a_frozen_disk || status=1
    fsfreeze -u disk 2>/dev/null || true
    umount disk
    return $status
}

@test "the main thread leaves by pthread_exit: the process ends with its last thread, nothing counts twice" {
    profiled "$PYTHON" "$WORKLOADS/main_exits.py" >truth.txt
    adds_up
    [ "$(reader field info.json exited_threads)" -eq 2 ] || fail "not two ended threads: $(cat info.json)"
    truth=$(cat truth.txt)
    between $((truth - truth / 1000)) $(($(reader field info.json cpu_ns) + $(reader field info.json before_start_ns))) $((truth + 300000000)) "the process clock"
}

@test "of two copies of the library under two paths one profiles: nothing counts twice" {
    cp "$LIBPYPROF" copy.so
    for both in "$LIBPYPROF:$PWD/copy.so" "$PWD/copy.so:$LIBPYPROF"; do
        rm -rf pyprof.out
        profiled LD_PRELOAD="$both" "$PYTHON" -c '
import os, time
def spin(seconds):
    while time.process_time() < seconds:
        sum(range(1000))
spin(0.5)
if os.fork():
    os.wait()
else:
    spin(0.3)'
        adds_up
        [ "$(find pyprof.out -name '*.pyprof' | wc -l)" -eq 2 ] || fail "$both: $(ls pyprof.out)"
    done
}

# Of a function that it names, an executable which is not position-independent has the address in itself.
@test "a program that names a function of the library, or has one itself, is profiled" {
    cat >names.c <<'END'
#include <stdio.h>
#include <unistd.h>
#ifdef OWN
__attribute__((weak)) int pyprof_is_active(void) { return 0; }
#else
int pyprof_is_active(void);
#endif
int (*volatile is_active)(void) = pyprof_is_active;
int Py_BytesMain(int, char **);
int main(int count, char **arguments)
{
    fprintf(stderr, "%d", is_active() & 1);
    return Py_BytesMain(count, arguments);
}
END
    python_of() { "$PYTHON" -c "import sysconfig; print(sysconfig.get_config_var('$1'))"; }
    PYTHON=$(matching_pythons 3.12)
    library=$(python_of LIBDIR)
    gcc -fno-pie -no-pie -o named names.c -L"$BUILD" -l:libpyprof.so -L"$library" -lpython3.12 -Wl,-rpath,"$library"
    gcc -DOWN -rdynamic -o own names.c -L"$library" -lpython3.12 -Wl,-rpath,"$library"
    for program in named own; do
        rm -rf pyprof.out
        profiled LD_LIBRARY_PATH="$BUILD" PYTHONHOME="$("$PYTHON" -c 'import sys; print(sys.base_prefix)')" "./$program" -c '
import time
while time.process_time() < 0.3: sum(range(1000))'
        adds_up
        between 250000000 "$(reader field info.json cpu_ns)" 500000000 "ns of $program"
    done
}
