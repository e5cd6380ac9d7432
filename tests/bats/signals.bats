# Programs that use our signal themselves, or block it.
load helper

blocked_signals() {
    profiled "$PYTHON" "$WORKLOADS/signals.py" masks
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt blocks_everything)" 600000000 8 "a thread that blocks every signal"
}

@test "a thread that blocks every signal is sampled, and sees the mask that it set" {
    with_some_pythons blocked_signals
}

ignored_signal() {
    profiled "$PYTHON" "$WORKLOADS/signals.py" dispositions
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn)" 600000000 8 "a program that ignores SIGPROF and takes that back"
}

@test "a program that sets SIGPROF to SIG_IGN and SIG_DFL lives on, is sampled, and sees what it set" {
    with_some_pythons ignored_signal
}

# 1.0 s at one signal each 50 ms. The kernel counts ticks here, not CPU time: beside other programs 26 came, or fewer. With
# ours among them there would be one more for each sample.
only_own_signals() {
    samples=$(info | reader field /dev/stdin samples)
    between 3 "$(cat own.txt)" $((28 + samples / 2)) "the program's own signals, beside $samples samples"
}

own_timer() {
    profiled "$PYTHON" "$WORKLOADS/own_itimer.py" >own.txt
    only_own_signals
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 10 "spin beside the program's own ITIMER_PROF"
}

@test "a program that uses ITIMER_PROF itself gets its signals, and is sampled" {
    with_some_pythons own_timer
}

another_signal() {
    PYPROF_SIGNAL=34 profiled "$PYTHON" "$WORKLOADS/own_itimer.py" >own.txt
    only_own_signals
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 10 "spin beside the program's own ITIMER_PROF"
}

@test "PYPROF_SIGNAL=34 leaves SIGPROF to a program that uses it" {
    with_some_pythons another_signal
}

inherited() {
    profiled "$PYTHON" "$WORKLOADS/signals.py" inherited
}

@test "a child inherits that SIGPROF is ignored or blocked as the program believes, however it is started" {
    with_some_pythons inherited
}

odd='import ctypes; odd = ctypes.CDLL("./odd_threads.so")'

children_reset() {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o odd_threads.so "$WORKLOADS/lib/odd_threads.c" -lpthread
    profiled "$PYTHON" -c "$odd
import os, signal
got = []
signal.signal(signal.SIGPROF, lambda *_: got.append(1))
for ignored in 0, 1:
    assert odd.vfork_resets(ignored) == 0
    os.kill(os.getpid(), signal.SIGPROF)
assert len(got) == 2, got
print('lives')" >out.txt
    [ "$(cat out.txt)" = lives ] || fail "$(cat out.txt)"
}

@test "a child of vfork that resets all its signals leaves its parent's alone" {
    with_some_pythons children_reset
}

two_at_once() {
    gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o odd_threads.so "$WORKLOADS/lib/odd_threads.c" -lpthread
    profiled "$PYTHON" -c "$odd
import os, signal, threading, time, warnings
warnings.simplefilter('ignore')
signal.signal(signal.SIGPROF, signal.SIG_IGN)
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
end = time.thread_time() + 0.5
while time.thread_time() < end: pass"
    info >info.json
    reader accounting info.json
    between 20 "$(reader field info.json samples)" 100000 "samples afterwards"
}

@test "two threads that start programs at once while SIGPROF is ignored: sampling goes on, in children of fork too" {
    with_some_pythons two_at_once
}
