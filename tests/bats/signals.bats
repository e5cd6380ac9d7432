# Programs that use our signal themselves, block it, or change its action. It is SIGURG unless PYPROF_SIGNAL says else.
load lib/helper

# bats test_tags=core
@test "a thread that blocks every signal is sampled, and sees the mask that it set" {
    profiled "$PYTHON" "$WORKLOADS/signals.py" masks
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt blocks_everything)" 600000000 8 "a thread that blocks every signal"
}

@test "a program that sets SIGURG to SIG_IGN and SIG_DFL lives on, is sampled, and sees what it set" {
    profiled "$PYTHON" "$WORKLOADS/signals.py" dispositions
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn)" 600000000 8 "a program that ignores SIGURG and takes that back"
}

# 1.0 s at one signal each 50 ms. The kernel counts ticks here, not CPU time: beside other programs 26 came, or fewer. With
# ours among them there would be one more for each sample.
only_own_signals() {
    samples=$(info | reader field /dev/stdin samples)
    between 1 "$(cat own.txt)" $((28 + samples / 2)) "the program's own signals, beside $samples samples"
}

# bats test_tags=core
@test "a program that uses ITIMER_PROF itself gets its signals, and is sampled" {
    profiled "$PYTHON" "$WORKLOADS/own_itimer.py" >own.txt
    only_own_signals
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 10 "spin beside the program's own ITIMER_PROF"
}

@test "PYPROF_SIGNAL=SIGPROF: a program that handles SIGPROF gets it whole, and is sampled by another" {
    PYPROF_SIGNAL=SIGPROF profiled "$PYTHON" "$WORKLOADS/own_itimer.py" >own.txt
    only_own_signals
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 10 "spin beside the program's own ITIMER_PROF"
}

# resets FUNCTION [dlopen flag]: the program and a worker of it set every signal; prints what became of both.
resets() {
    profiled "$PYTHON" -c "
import ctypes, os, sys, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
spin(0.05)
library = ctypes.CDLL('./resets.so', os.RTLD_NOW | ${2:-0})
library.sets_every_signal(b'$1')
pid = os.fork()
if pid == 0:
    library.sets_every_signal(b'$1')
    spin(0.3)
    os._exit(7)
spin(${3:-0.5})
print('lives', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if sys.version_info >= (3, 9) else 7)"
}

@test "a program and its worker reset, ignore or block every signal by each function of libc: both live and are sampled" {
    gcc -O1 -shared -fPIC -D_GNU_SOURCE -Wno-deprecated-declarations -o resets.so "$WORKLOADS/lib/resets.c"
    for own in SIGURG SIGPROF; do
        functions="sigaction signal __sysv_signal ssignal sigset sigignore sighold siginterrupt"
        [ "$own" = SIGURG ] || functions="sigaction signal sighold" # what they do to it is not the number's affair
        for how in $functions; do
            rm -rf pyprof.out
            [ "$(PYPROF_SIGNAL=$own resets "$how")" = "lives 7" ] || fail "$how of every signal, $own"
            adds_up
            # It was reset after a twentieth of the time.
            between "$(($(reader field info.json cpu_ns) * 3 / 10))" "$(reader field info.json sampled_ns)" 100000000000 "sampled after $how, $own"
        done
    done
}

@test "every signal is reset past our functions: the program lives, and the flush thread puts our handler back" {
    gcc -O1 -shared -fPIC -D_GNU_SOURCE -Wno-deprecated-declarations -o resets.so "$WORKLOADS/lib/resets.c"
    for how in "system call" "signal"; do
        rm -rf pyprof.out
        [ "$(resets "$how" os.RTLD_DEEPBIND 3)" = "lives 7" ] || fail "$how of every signal"
        collapsed >stacks.txt
        cpu_near "$(reader inclusive stacks.txt spin)" 3350000000 45 "spin, whose signal was reset past us by $how"
        info >info.json
        grep -q 'handler of our signal was replaced past libc' info.json || fail "not counted: $(cat info.json)"
    done
}

@test "a handler for our signal that was set past us has the signal to itself a second later" {
    gcc -O1 -shared -fPIC -D_GNU_SOURCE -Wno-deprecated-declarations -o resets.so "$WORKLOADS/lib/resets.c"
    profiled "$PYTHON" -c "
import ctypes, os, signal, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
spin(0.05)
library = ctypes.CDLL('./resets.so', os.RTLD_NOW | os.RTLD_DEEPBIND)
library.sets_a_handler()
spin(2.5)
before = library.handled()
spin(1)
os.kill(os.getpid(), signal.SIGURG)
print(library.handled() - before)" >out.txt
    [ "$(cat out.txt)" = 1 ] || fail "its handler ran $(cat out.txt) times for one signal"
    adds_up
    between 1000000000 "$(reader field info.json sampled_ns)" 100000000000 sampled
}

@test "gdb neither stops nor says a word at a tick" {
    timeout 120 gdb -nx -batch -ex "set env LD_PRELOAD=$LIBPYPROF" -ex run --args "$PYTHON" -c 'import time
end = time.thread_time() + 0.5
while time.thread_time() < end: pass' >gdb.txt 2>&1
    grep -q 'exited normally' gdb.txt || fail "$(cat gdb.txt)"
    ! grep 'received signal' gdb.txt || fail "gdb stops at a tick"
    adds_up
    between 2 "$(reader field info.json samples)" 100000 samples # ten a second where the machine meets few ticks
}

odd='import ctypes; odd = ctypes.CDLL("./odd_threads.so")'

# bats test_tags=long
@test "an action set by a system call is found while the process sleeps, within ten seconds" {
    TIMEOUT=60 profiled "$PYTHON" -c '
import ctypes, time
def used_later():
    while time.process_time() < 1.5: sum(range(1000))
while time.process_time() < 0.3: sum(range(1000))
time.sleep(13)
SYS_rt_sigaction, SIGURG = 13, 23
ctypes.CDLL(None).syscall(SYS_rt_sigaction, SIGURG, ctypes.byref((ctypes.c_ulong * 4)()), None, 8)
time.sleep(11)
used_later()'
    collapsed --unit samples >stacks.txt
    awk '/;used_later / { n += $NF } END { print n + 0; exit n < 30 }' stacks.txt
}

@test "a child of vfork that resets all its signals leaves its parent's alone" {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o odd_threads.so "$WORKLOADS/lib/odd_threads.c" -lpthread
    profiled "$PYTHON" -c "$odd
import os, signal
got = []
signal.signal(signal.SIGURG, lambda *_: got.append(1))
for ignored in 0, 1:
    assert odd.vfork_resets(ignored) == 0
    os.kill(os.getpid(), signal.SIGURG)
assert len(got) == 2, got
print('lives')" >out.txt
    [ "$(cat out.txt)" = lives ] || fail "$(cat out.txt)"
}

@test "two threads that start programs at once while SIGURG is ignored: sampling goes on, in children of fork too" {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o odd_threads.so "$WORKLOADS/lib/odd_threads.c" -lpthread
    profiled "$PYTHON" -c "$odd
import os, signal, threading, time, warnings
warnings.simplefilter('ignore')
signal.signal(signal.SIGURG, signal.SIG_IGN)
starting = threading.Thread(target=odd.start_programs, args=(100,))
starting.start()
children = []
while starting.is_alive():
    pid = os.fork()
    if pid == 0:
        os._exit(odd.ignores_kernel_side())
    children.append(os.waitpid(pid, 0)[1])
starting.join()
assert not any(children), children
assert not odd.ignores_kernel_side()
def afterwards():
    end = time.thread_time() + 0.5
    while time.thread_time() < end: pass
afterwards()"
    adds_up
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt afterwards)" 500000000 20 "afterwards"
}

# bats test_tags=core
@test "a program that takes SIGURG over while a thread of it, or ours, cannot run gets its own signals, once each" {
    needs_ptrace
    for thread in profiler worker; do
        for how in handler descriptor; do
            got=$(PYPROF_CLOCK=perf PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" "$WORKLOADS/takes_over.py" $thread $how)
            [ "$got" = 40 ] || fail "$thread, $how: it got $got signals of 40"
        done
    done
}

@test "signals that we moved to: threads that set and reset them at once, and a thread that waits in vfork, see none of ours" {
    cat >vfork_slowly.c <<'END'
#include <time.h>
#include <unistd.h>
int vfork_slowly(void)
{
    int child = vfork();
    if (child == 0) {
        nanosleep(&(struct timespec){4, 0}, 0);
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    return child;
}
END
    gcc -D_GNU_SOURCE -w -O1 -shared -fPIC -o vfork_slowly.so vfork_slowly.c
    for how in threads vfork; do
        got=$(profiled "$PYTHON" "$WORKLOADS/signals_contested.py" $how) || fail "$how: ended with status $?"
        [ "$got" = 0 ] || fail "$how: it got $got signals that nothing has sent"
    done
}

# bats test_tags=core
@test "sigwait, signalfd, sigpending, masks of calls, flags of the handler, jumps out of it: as without us" {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o own_signals.so "$WORKLOADS/lib/own_signals.c" -lpthread
    timeout 120 "$PYTHON" "$WORKLOADS/own_signals.py" ./own_signals.so >plain.txt
    PYPROF_HZ=1000 TIMEOUT=300 profiled "$PYTHON" "$WORKLOADS/own_signals.py" ./own_signals.so >with.txt 2>with.err
    diff plain.txt with.txt || fail "not as without us: $(cat with.err)"
    [ ! -s with.err ] || fail "stderr: $(cat with.err)"
}

@test "a thread that blocks the signal and takes it, by whatever call, is sampled all the time" {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o own_signals.so "$WORKLOADS/lib/own_signals.c" -lpthread
    for how in sigsuspend ppoll pselect epoll_pwait sigwait SIG_SETMASK signalfd; do
        rm -rf pyprof.out
        [ "$(profiled "$PYTHON" -c "import ctypes
print(ctypes.CDLL('./own_signals.so').taken(b'$how'))")" = 1 ] || fail "$how: the signal or the mask is lost"
        adds_up
        between "$(($(reader field info.json cpu_ns) / 2))" "$(reader field info.json sampled_ns)" 100000000000 "sampled with $how"
    done
}

@test "a thread that waits for every signal there is gets those of the program, and is sampled" {
    PYPROF_HZ=1000 profiled "$PYTHON" -c 'import os, signal, threading, time
every = signal.valid_signals()
taken = []
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(1000))
def at_a_stretch():
    burn(0.5)
def waits():
    signal.pthread_sigmask(signal.SIG_BLOCK, every)
    for _ in range(100):
        burn(0.004)
        taken.append(signal.sigtimedwait(every, 0.0005))
    at_a_stretch()
    os.kill(os.getpid(), signal.SIGUSR1)
    taken.append(signal.sigwait(every))
signal.pthread_sigmask(signal.SIG_BLOCK, every)
threads = [threading.Thread(target=burn, args=(0.3,)), threading.Thread(target=waits)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert [signal for signal in taken if signal] == [signal.SIGUSR1], taken
assert not signal.sigpending(), signal.sigpending()'
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt at_a_stretch)" 500000000 15 "a thread that waits for every signal"
    adds_up
}

@test "a program that blocks SIGURG by name before Python starts goes on taking it, and is sampled" {
    profiled "$PYTHON" -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
os.execv(sys.executable, [sys.executable, "-c", """
import os, signal, time
end = time.thread_time() + 0.3
while time.thread_time() < end: pass
os.kill(os.getpid(), signal.SIGURG)
print(signal.sigtimedwait(signal.valid_signals(), 5))"""])' >out.txt
    grep -q 'si_signo=23' out.txt || fail "SIGURG was lost: $(cat out.txt)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt '<module>')" 300000000 60 "sampled by another signal"
}

# Without a handler SIGURG is ignored, and no call that waits ends early by it. Calls of C: Python repeats its own.
left_alone() {
    profiled "$PYTHON" -c "
import ctypes, re, signal, sys, threading, time
libc = ctypes.CDLL(None)
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(100))
def wait_and_get_it():
    def send():
        time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGURG)
    sender = threading.Thread(target=send)
    sender.start()
    early = libc.poll(None, 0, 100)
    sender.join()
    return early
def is_caught():
    return int(re.search(r'SigCgt:\\s*(\\w+)', open('/proc/self/status').read())[1], 16) >> signal.SIGURG - 1 & 1
spin(0.3)
assert is_caught()
wait_and_get_it()
end = time.monotonic() + 20
while is_caught() and time.monotonic() < end: time.sleep(0.01)
print(is_caught(), [wait_and_get_it() for _ in range(5)], signal.getsignal(signal.SIGURG) is signal.SIG_DFL)
def afterwards(): spin(0.5)
afterwards()" >out.txt
}

@test "a program that leaves SIGURG alone and is sent it: at most one call ends early, and sampling goes on" {
    for clock in tick perf; do
        rm -rf pyprof.out
        PYPROF_CLOCK=$clock left_alone 2>err.txt || fail "$clock: $(cat err.txt)"
        [ "$(cat out.txt)" = "0 [0, 0, 0, 0, 0] True" ] || fail "$clock: caught, calls that end early, action: $(cat out.txt)"
        collapsed >stacks.txt
        cpu_near "$(reader inclusive stacks.txt afterwards)" 500000000 20 "afterwards, $clock"
    done
}

# sent_meanwhile READY COMMAND...: sends SIGURG to the Python program below the command, all the time from when it is ready on.
sent_meanwhile() {
    local ready=$1 command program
    shift
    rm -rf pyprof.out "$ready"
    "$@" >out.txt 2>err.txt 3>&- &
    command=$!
    wait_until 60 test -e "$ready"
    program=$(pgrep -f "^[^ ]*python[^ ]* [^ ]*sent_from_outside.py $ready")
    while kill -URG "$program" 2>/dev/null; do
        sleep 0.02
    done
    wait "$command" || fail "status $?: $(cat err.txt)"
    collapsed >stacks.txt
    # Of a profile with few samples more than that would be near enough for cpu_near: those of the time before may be all.
    between 200000000 "$(reader inclusive stacks.txt afterwards)" 700000000 "afterwards, 0.5 s"
}

@test "a SIGURG from another pid namespace has no sender's number, and makes our timers move like any other" {
    needs_namespaces -m -p -f
    # As the signals of events have none where the kernel can queue no more.
    # shellcheck disable=SC2016
    PYPROF_CLOCK=perf LIBRARY=$LIBPYPROF sent_meanwhile "$PWD/ready" timeout 120 unshare -m -p -f --mount-proc \
        sh -c 'LD_PRELOAD=$LIBRARY exec "$@"' sh "$PYTHON" "$WORKLOADS/sent_from_outside.py" "$PWD/ready"
    [ "$(cat out.txt)" = "0 0" ] || fail "caught, calls that end early: $(cat out.txt)"
}

@test "a SIGURG that others send where RLIMIT_SIGPENDING allows no other timer: sampling goes on" {
    PYPROF_CLOCK=perf sent_meanwhile "$PWD/ready" profiled "$PYTHON" "$WORKLOADS/sent_from_outside.py" "$PWD/ready" none
}

@test "a program that uses a real-time signal, or SIGURG beside threads that block all, loses none when our timers move" {
    for how in pending descriptor waits masks; do
        [ "$(profiled "$PYTHON" "$WORKLOADS/real_time.py" $how)" = 20 ] || fail "$how: signals of the program's are lost"
    done
}

needs_quiet_timers() {
    [ "$(printf '5.9\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 5.9 ] || skip "before Linux 5.9 a sample may interrupt a call, see libpyprof(7)"
}

# census COUNT
census() {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o interrupted.so "$WORKLOADS/lib/interrupted.c" -lpthread
    # A timer of the program's own shows that calls are interrupted at all.
    seen=$(PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" -c "import ctypes
print(ctypes.CDLL('./interrupted.so').interrupted(300, 1))" | tail -n 1)
    [ "$seen" -gt 0 ] || fail "signals of the program's own interrupt nothing: $seen"
    rm -r pyprof.out
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" -c "import ctypes
print(ctypes.CDLL('./interrupted.so').interrupted($1, 0))" >census.txt
    [ "$(cat census.txt)" = 0 ] || fail "ended with EINTR: $(cat census.txt)"
    info >info.json
    # Sampling went on. How often depends on the kernel's ticks, and on what else runs.
    between 3 "$(reader field info.json samples)" 10000000 "samples, between the calls"
}

# bats test_tags=core
@test "poll, select, epoll_wait, recv, accept, connect, sleeps, semaphores, futexes, msgrcv: none ends with EINTR for us" {
    needs_quiet_timers
    census 300
}

# bats test_tags=long
@test "60,000 calls of poll, select, epoll_wait, recv, accept and others: none ends with EINTR for us" {
    needs_quiet_timers
    census 5000
}

# It profiles by SIGPROF and ITIMER_PROF.
@test "gperftools' profiler preloaded before ours and after it: both sample" {
    other=$(compgen -G '/usr/lib/*/libprofiler.so.0')
    for preload in "$other $LIBPYPROF" "$LIBPYPROF $other"; do
        rm -rf pyprof.out other.prof*
        LD_PRELOAD=$preload CPUPROFILE=other.prof timeout 120 "$PYTHON" -c 'import subprocess, time
end = time.process_time() + 1
while time.process_time() < end: sum(range(1000))
raise SystemExit(subprocess.call(["true"]))' 2>other.txt || fail "status $?"
        ticks=$(sed -n 's/.*evictions.bytes = \([0-9]*\).*/\1/p' other.txt | sort -n | tail -n 1)
        between 1 "${ticks:-0}" 1000 "its own ticks"
        adds_up
        between 1 "$(reader field info.json samples)" 1000 "samples"
    done
}

# library_threads PACKAGE WHAT
library_threads() {
    environment=$(venv_with "$1")
    rm -rf pyprof.out
    profiled "$environment/bin/python" "$WORKLOADS/library_threads.py" "$2" >truth.txt
    read -r name ns <truth.txt
    collapsed --threads | grep -F "thread $name (" | grep -vF '[unsampled]' >stacks.txt
    # What falls to the ticks that other programs took is [unsampled].
    cpu_near "$(awk '{ n += $NF } END { print n + 0 }' stacks.txt)" "$ns" 5 "$name"
}

# bats test_tags=long
@test "threads of libzmq and librdkafka, which block every signal: their CPU within 5 %" {
    use_python "$(list_pythons | grep ' 3\.1[0-3]\.' | tail -n 1)"
    library_threads pyzmq zmq
    library_threads confluent-kafka kafka
}

@test "threads that block every signal, and one that waits for all, see nothing of a SIGURG that makes our timers move" {
    "$PYTHON" "$WORKLOADS/blocked_and_sent.py" >plain.txt
    for clock in tick auto; do
        PYPROF_CLOCK=$clock profiled "$PYTHON" "$WORKLOADS/blocked_and_sent.py" >with.txt 2>with.err
        diff plain.txt with.txt
        [ ! -s with.err ] || fail "$(cat with.err)"
    done
}
