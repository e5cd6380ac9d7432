# Seccomp filters, Landlock and rights that a program gives up: profiling ends or goes on, the program lives.
load lib/helper

# Numbers of timer_create and its kin, and of getrusage; of process_vm_readv, of pidfd_open, close_range and pidfd_getfd, of
# all these, and of none, which end nothing; and uses of openat and prctl.
FORBIDDEN="222,223,224,226 98 310 434,436,438 310,434,436,438 999 writing naming"

# bats test_tags=core
@test "a seccomp filter that kills for what we do, in the program or before it: profiling ends, the program lives" {
    gcc -O1 -shared -fPIC -o sandbox.so "$WORKLOADS/sandbox.c"
    ulimit -Sc 0
    for how in 0 1 2; do
        rm -rf pyprof.out
        timeout 60 "$PYTHON" -W ignore "$WORKLOADS/sandboxed.py" ./sandbox.so 222,223,226,310,98 $how >plain.txt || fail "$? without us"
        PYPROF_HZ=1000 profiled "$PYTHON" -W ignore "$WORKLOADS/sandboxed.py" ./sandbox.so 222,223,226,310,98 $how >with.txt 2>with.err ||
            fail "a filter in the program kills it: $?"
        diff plain.txt with.txt
        lines_of with.err 1 'the program installs a seccomp filter: profiling ends here'
        collapsed >stacks.txt
        adds_up
        [ "$(reader inclusive stacks.txt before_filter)" -gt 0 ] || fail "nothing before the filter"
        [ "$(reader inclusive stacks.txt behind_filter)" -eq 0 ] || fail "profiled behind the filter"
    done
    for numbers in $FORBIDDEN; do
        rm -rf pyprof.out
        profiled "$BUILD/workloads/sandbox" "$numbers" "$PYTHON" -c 'sum(range(10000000))' 2>with.err ||
            fail "a filter before the program kills it for $numbers: $?"
        case $numbers in
        999 | 310* | 434,*)
            [ ! -s with.err ] || fail "$numbers: $(cat with.err)"
            [ -d pyprof.out ] || fail "$numbers: not profiled"
            ;;
        *) lines_of with.err 1 'seccomp filter would kill this process' ;;
        esac
    done
}

@test "a seccomp filter for all threads waits for our thread, which needs seconds on a slow machine" {
    gcc -O1 -shared -fPIC -o sandbox.so "$WORKLOADS/sandbox.c"
    ulimit -Sc 0
    profiled "$PYTHON" "$WORKLOADS/sandboxed_slowly.py" ./sandbox.so 1,18,222,223,226,257,310,98 || fail "killed: $?"
    adds_up
}

@test "a seccomp filter for all threads waits for threads that begin and end" {
    gcc -O1 -shared -fPIC -o threads.so "$WORKLOADS/lib/filtered_threads.c"
    ulimit -Sc 0
    cat >filtered.py <<'END'
import ctypes, sys, time

while time.thread_time() < 0.1:
    pass
sys.exit(ctypes.CDLL("./threads.so").filter_while_threads_begin())
END
    for _ in 1 2 3; do
        profiled "$PYTHON" filtered.py || fail "killed: $?"
    done
}

@test "a seccomp filter after the flush thread could not be made again: the process and its children live" {
    needs_namespaces -U -r -p -m
    cat >moved.py <<'END'
import ctypes, os, time

class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("t", ctypes.c_ubyte), ("f", ctypes.c_ubyte), ("k", ctypes.c_uint)]

def use_cpu():
    until = time.thread_time() + 0.2
    while time.thread_time() < until:
        sum(range(1000))

libc = ctypes.CDLL(None)
use_cpu()
assert libc.unshare(0x10000000 | 0x20000000) == 0  # CLONE_NEWUSER | CLONE_NEWPID: the kernel makes no thread afterwards
steps = [(0x20, 0, 0, 0)]
for forbidden in 222, 223, 226, 310:  # timer_create and its kin, process_vm_readv
    steps += [(0x15, 0, 1, forbidden), (6, 0, 0, 0x80000000)]
steps += [(6, 0, 0, 0x7FFF0000)]
code = (Instruction * len(steps))(*steps)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(Program(len(code), ctypes.addressof(code)))) == 0
use_cpu()
child = os.fork()
if child == 0:
    use_cpu()
    os._exit(7)
print(os.waitpid(child, 0)[1])
END
    ulimit -Sc 0
    PYPROF_HZ=1000 profiled unshare -U -r "$PYTHON" moved.py >with.txt 2>with.err || fail "$?: $(cat with.err)"
    [ "$(cat with.txt)" = 1792 ] || fail "the child: $(cat with.txt)"
}

# bats test_tags=core
@test "capabilities, privileges, users, namespaces and filters that the program gives up: our thread gives them up" {
    # The profile of children with no rights left goes elsewhere.
    "$PYTHON" "$WORKLOADS/rights_given_up.py" >plain.txt
    profiled "$PYTHON" "$WORKLOADS/rights_given_up.py" >with.txt 2>with.err
    diff plain.txt with.txt
    ! grep -v -e 'cannot write profile' -e 'installs a seccomp filter' with.err || fail "$(cat with.err)"
}

@test "Landlock holds for our thread: what came before is written, no more" {
    "$PYTHON" "$WORKLOADS/rights_given_up.py" landlock >plain.txt
    grep -qx 'True 0 0' plain.txt || skip "no Landlock here: $(cat plain.txt)"
    profiled "$PYTHON" "$WORKLOADS/rights_given_up.py" landlock >with.txt 2>with.err
    diff plain.txt with.txt
    lines_of with.err 1 'cannot write profile'
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt before_landlock)" 500000000 20 "before Landlock"
    [ "$(reader inclusive stacks.txt behind_landlock)" -eq 0 ] || fail "our thread writes behind Landlock"
}

@test "a thread that has its system calls sent to itself lives, and is counted" {
    gcc -O1 -shared -fPIC -o dispatched.so "$WORKLOADS/lib/dispatched.c"
    PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/dispatched.py" ./dispatched.so >with.txt 2>with.err || fail "status $?: $(cat with.txt)"
    ! grep -qx 'no dispatch' with.txt || skip "no syscall user dispatch here"
    grep -qx 'True' with.txt || fail "$(cat with.txt)"
    lines_of with.err 1 'cannot be interrupted'
    adds_up
    [ "$(reader truncated info.json | sed -n 's/^thread that cannot be interrupted.*: //p')" -eq 1 ] || fail "not counted: $(cat info.json)"
    collapsed >stacks.txt
    [ "$(reader inclusive stacks.txt other)" -gt 0 ] || fail "another thread is not sampled"
}

burns='import time
end = time.thread_time() + 1.5
while time.thread_time() < end: pass
print("end", flush=True)'

# Docker's filter lets it reach a pipe at once, a file in the program's own place only at the end.
@test "what the flush thread cannot say under a filter is said at the end" {
    PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$BUILD/workloads/filtered" docker "$PYTHON" -c "$burns" 2>&1 | cat >with.txt
    [ "$(grep -n 'cannot write profile' with.txt | cut -d: -f1) $(wc -l <with.txt)" = "1 2" ] || fail "a pipe: $(cat with.txt)"
    PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$BUILD/workloads/filtered" docker "$PYTHON" -c "$burns" >with.txt 2>&1
    [ "$(grep -n 'cannot write profile' with.txt | cut -d: -f1) $(wc -l <with.txt)" = "2 2" ] || fail "a file: $(cat with.txt)"
    # It does not wait for somebody to read it.
    TIMEOUT=60 PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$BUILD/workloads/filtered" docker "$PYTHON" "$WORKLOADS/full_stderr.py"
}

@test "each system call of ours is among those that are tried under a filter" {
    # Those of fd_table.c are made where there is no filter.
    grep -rhoE 'SYS_[a-z0-9_]+' "$ROOT/preload" --include='*.[ch]' --exclude=sandbox.c --exclude=fd_table.c --exclude=filter_trial.c |
        sort -u >used.txt
    { cat "$ROOT/preload/base/filter_trial.c"; grep -rh 'define PP_THREAD_POINTER_CALLS' "$ROOT/preload/arch"; } | grep -oE 'SYS_[a-z0-9_]+' >tried.txt
    # Whoever ends may end.
    missing=$(grep -vxF SYS_exit_group used.txt | grep -vxF -f tried.txt || true)
    [ -z "$missing" ] || fail "not in sandbox.c: $missing"
}
