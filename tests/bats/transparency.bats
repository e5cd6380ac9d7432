# The program does not notice, and programs without Python are left alone.
load lib/helper

@test "sh, git and ls: no file, no thread, no output, same status" {
    repository=$BATS_TEST_TMPDIR/repository
    git init -q "$repository"
    for command in "sh -c true" "ls /" "git -C $repository status --porcelain" "git --version" "sh -c 'exit 5'"; do
        plain=0
        eval "$command" >plain.out 2>plain.err || plain=$?
        status=0
        LD_PRELOAD=$LIBPYPROF PYPROF_VERBOSE='' sh -c "$command" >with.out 2>with.err || status=$?
        [ "$status" -eq "$plain" ] || fail "$command: status $status, without $plain"
        diff plain.out with.out || fail "$command: another stdout"
        diff plain.err with.err || fail "$command: another stderr"
    done
    [ ! -e pyprof.out ] || fail "they made $(find pyprof.out)"
    # Each of these counts the threads of the process in question.
    threads=$(LD_PRELOAD=$LIBPYPROF sh -c 'set -- /proc/$$/task/*; echo $#')
    [ "$threads" -eq 1 ] || fail "sh has $threads threads"
    # shellcheck disable=SC2012
    threads=$(LD_PRELOAD=$LIBPYPROF ls /proc/self/task | wc -l)
    [ "$threads" -eq 1 ] || fail "ls has $threads threads"
    # shellcheck disable=SC2016
    threads=$(LD_PRELOAD=$LIBPYPROF git -C "$repository" -c 'alias.count=!set -- /proc/$PPID/task/*; echo $#' count)
    [ "$threads" -eq 1 ] || fail "git has $threads threads"
    [ ! -e pyprof.out ] || fail "they made $(find pyprof.out)"
}

# system_calls LIBRARY: those of /bin/true, but for what the loader says of addresses and sizes.
system_calls() {
    strace -o trace.txt -E LD_PRELOAD="$1" /bin/true
    grep -oE '^[a-z0-9_]+' trace.txt | grep -vxE 'mmap|brk|pread64' | sort
}

@test "a program without Python makes no system call of ours" {
    echo 'int nothing;' | gcc -shared -x c -o nothing.so -
    system_calls "$PWD/nothing.so" >nothing.txt
    system_calls "$LIBPYPROF" >ours.txt
    diff nothing.txt ours.txt || fail "with a library that does nothing (<), with ours (>)"
}

# bats test_tags=core
@test "stdin, stdout, stderr, descriptors and exit status of a Python program are its own" {
    plain=0
    with=0
    printf 'input\n' | timeout 60 "$PYTHON" "$WORKLOADS/output.py" >plain.out 2>plain.err || plain=$?
    printf 'input\n' | profiled "$PYTHON" "$WORKLOADS/output.py" >with.out 2>with.err || with=$?
    [ "$with" -eq 7 ] || fail "status $with, expected 7"
    diff plain.out with.out || fail "another stdout"
    diff plain.err with.err || fail "another stderr"
    [ "$(log_files | wc -l)" -eq 1 ] || fail "expected one file: $(log_files)"
}

@test "python -c pass, --version, many short threads: nothing on stderr" {
    profiled "$PYTHON" -c pass >out.txt 2>&1
    [ ! -s out.txt ] || fail "output: $(cat out.txt)"
    profiled "$PYTHON" -S -E -c 'import threading; [threading.Thread(target=int).start() for _ in range(50)]' >out.txt 2>&1
    [ ! -s out.txt ] || fail "output: $(cat out.txt)"
    profiled "$PYTHON" --version >out.txt 2>&1
    [ "$(cat out.txt)" = "Python $VERSION" ] || fail "output: $(cat out.txt)"
}

@test "pthread_exit, pthread_cancel and detached threads of a C program" {
    run -0 --separate-stderr profiled "$BUILD/workloads/pthread_exit"
    # shellcheck disable=SC2154
    [ "$output$stderr" = "last thread done" ] || fail "stdout: $output, stderr: $stderr"
}

@test "a program that closes every descriptor keeps its files, and its profile" {
    # Closes everything that it did not open, as daemons do, and takes the numbers for its own files.
    cat >closes.py <<'END'
import os, sys, time
from cpu import spin

spin(0.3)
os.closerange(3, 1024)
files = [open(f"own{i}", "wb") for i in range(20)]
spin(1.5)
for f in files:
    f.close()
    if os.path.getsize(f.name):
        sys.exit(f"{f.name} holds what is not the program's")
END
    profiled PYTHONPATH="$WORKLOADS" "$PYTHON" closes.py
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1800000000 6 "spin, before and after all descriptors were closed"
}

@test "PYPROF_OUT means the directory where the program started; files are private" {
    mkdir elsewhere
    PYPROF_OUT=here profiled "$PYTHON" -c 'import os
os.chdir("elsewhere")
sum(range(4000000))
pid = os.fork()
if pid == 0:
    sum(range(4000000))
    os._exit(0)
os.waitpid(pid, 0)'
    [ "$(log_files here | wc -l)" -eq 2 ] || fail "here: $(log_files here); elsewhere: $(find elsewhere)"
    [ "$(stat -c %a "$(log_files here | head -n 1)")" = 600 ] || fail "mode: $(stat -c %a "$(log_files here | head -n 1)")"
}

@test "the address space that a thread takes, before its first sample and after it" {
    cat >threads.py <<'END'
import sys, threading, time

def size():
    for line in open("/proc/self/status"):
        if line.startswith("VmSize"):
            return int(line.split()[1])

def work(go, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    begun.release()
    go.wait()

threading.stack_size(1 << 16)
begun = threading.Semaphore(0)
for seconds, count in (0, 400), (0.02, 100):  # many: arenas of a MB come for all, Python's and the flush thread's
    go = threading.Event()
    before = size()
    threads = [threading.Thread(target=work, args=(go, seconds)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        begun.acquire()
    print((size() - before) // count)
    go.set()
    for thread in threads:
        thread.join()
    time.sleep(1.5)
END
    MALLOC_ARENA_MAX=1 "$PYTHON" threads.py >plain.txt
    profiled MALLOC_ARENA_MAX=1 "$PYTHON" threads.py >with.txt
    paste plain.txt with.txt
    read -r idle sampled <<<"$(paste plain.txt with.txt | awk '{ printf "%d ", $2 - $1 }')"
    between -8 "$idle" 16 "KB for a thread that has no sample"
    # of 100, the first 16 have larger ones
    between -8 "$sampled" 100 "KB for a thread that has some"
}

@test "a file that has taken the place of stderr gets not a byte from us" {
    # The directory vanishes under the program, so that there is something to say.
    PYPROF_OUT=$PWD/out profiled "$PYTHON" "$WORKLOADS/other_stderr.py" data 2.5 3>&- &
    wait_until 120 test -d out
    mv out gone
    touch out
    wait
    [ -e data ] && [ ! -s data ] || fail "it reads: $(cat data)"
}

@test "a program of one thread may unshare a user namespace" {
    plain=$("$PYTHON" "$WORKLOADS/unshare.py" | sort | uniq -c)
    # Where a process may not have one at all, nothing is to be seen.
    seen=$(profiled "$PYTHON" "$WORKLOADS/unshare.py" | sort | uniq -c)
    [ "$seen" = "$plain" ] || fail "without us: $plain; with us: $seen"
    adds_up
}

# descriptors_of COMMAND_LINE_OF_OWN_DESCRIPTORS [FILTER...]
descriptors_of() {
    local what
    read -ra what <<<"$1"
    shift
    rm -rf pyprof.out
    # shellcheck disable=SC2086
    profiled "$@" "$PYTHON" "$WORKLOADS/own_descriptors.py" "${what[@]}" >with.txt 2>with.err <&-
    [ ! -s with.err ] || fail "$(cat with.err)"
    grep -qxF '0 is closed' with.txt || fail "$(cat with.txt)"
    # One file, none that was begun for nothing.
    [ "$(log_files | wc -l)" -eq 1 ] || fail "$(log_files)"
    adds_up
}

# bats test_tags=core
@test "no descriptor number is taken by us, none is needed of those that a limit allows" {
    read -r major minor _ <<<"$(uname -r | tr . ' ')"
    [ "$major" -gt 5 ] || [ "$major$minor" -ge 59 ] || skip "close_range is of Linux 5.9, here is $(uname -r)"
    descriptors_of "numbers none_left"
    grep -qxF '0 others' with.txt || fail "descriptors of ours: $(cat with.txt)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt with_none_left)" 1300000000 20 "CPU with no descriptor left"
    # Docker's filter refuses a part of it, and kills for nothing.
    rm -rf pyprof.out
    profiled "$BUILD/workloads/filtered" docker "$PYTHON" "$WORKLOADS/own_descriptors.py" young numbers >with.txt
    [ "$(grep -cxF '0 others' with.txt)" -eq 2 ] || fail "descriptors of ours: $(cat with.txt)"
    # Under one that kills ours are the program's for moments, but none stays; and none is there in the first second.
    descriptors_of "" "$BUILD/workloads/sandbox" 434,436,438
    profiled "$BUILD/workloads/sandbox" 434,436,438 "$PYTHON" "$WORKLOADS/own_descriptors.py" young >with.txt
    grep -qxF '0 others' with.txt || fail "descriptors of ours in the first second: $(cat with.txt)"
}

@test "fault handlers, descriptors, user and groups, namespaces, affinity, process flags, limits: as without us" {
    # Two of its children are meant to die.
    ulimit -Sc 0
    timeout 120 "$PYTHON" "$WORKLOADS/as_the_kernel_sees.py" >plain.txt
    PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/as_the_kernel_sees.py" >with.txt 2>with.err
    diff plain.txt with.txt
    # Its descriptors were used up, its user has changed.
    ! grep -v 'cannot write profile' with.err || fail "$(cat with.err)"
}
