# Programs of musl, as on Alpine: the library is the same, and so are the profiles.
load lib/helper

setup_file() {
    # MUSL: another name of tests/roots.sh
    if ! MUSL_ROOT=$("$BATS_TEST_DIRNAME/../roots.sh" "${MUSL:-musl}" 2>&1); then
        [ -z "${CI:-}" ] || { echo "$MUSL_ROOT" && return 1; }
        skip "${MUSL_ROOT##*$'\n'}"
    fi
    export MUSL_ROOT
    # As the compilers of musl's own distributions do.
    musl-gcc -O1 -g -Wl,--eh-frame-hdr -o "$BATS_FILE_TMPDIR/libc_calls" "$BATS_TEST_DIRNAME/../workloads/libc_calls.c"
}

setup() {
    prepare
    MUSL_PYTHON=$(echo "$MUSL_ROOT"/bin/python3.*[0-9])
    LIBPYTHON=$(echo "$MUSL_ROOT"/lib/libpython3.*.so.1.0)
}

# closes: the sums of all processes, and what the library says of itself.
closes() {
    adds_up
    [ ! -s stderr.txt ] || fail "stderr: $(cat stderr.txt)"
}

@test "a C program: threads on stacks of any kind, signals, changes of the user, children; with an interpreter all are sampled" {
    "$BATS_FILE_TMPDIR/libc_calls" >plain.txt
    profiled "$BATS_FILE_TMPDIR/libc_calls" >with.txt 2>stderr.txt
    diff plain.txt with.txt
    [ ! -e pyprof.out ] || fail "a program without Python has a profile"
    profiled "$BATS_FILE_TMPDIR/libc_calls" "$LIBPYTHON" 0.2 >with.txt 2>>stderr.txt
    diff plain.txt with.txt
    collapsed >stacks.txt
    for kind in usual small own detached child; do
        cpu_near "$(awk -v name=";use_$kind " 'index($0, name) { ns += $NF } END { printf "%d", ns }' stacks.txt)" 200000000 15 "use_$kind"
    done
    for kind in usual small own detached; do
        # What is above is libc's function that starts threads.
        reader stacks stacks.txt '.* \(ld-musl.*' 'run \(libc_calls\)' "use_$kind .*"
    done
    reader stacks stacks.txt '.* \(ld-musl.*' 'main \(libc_calls\)' 'children .*' 'use_child .*'
    closes
}

@test "threads of Python: each function has its CPU, native and Python frames are paired, stacks are whole" {
    mkdir truth
    profiled "$MUSL_PYTHON" "$WORKLOADS/measured_threads.py" truth busy 4 1.6 2>stderr.txt
    closes
    collapsed >stacks.txt
    reader cpu_used truth info.json
    reader split truth stacks.txt info.json 15
    reader stacks stacks.txt '.* \(ld-musl.*' 'thread_run \(libpython.*' 'Thread._bootstrap \(.*' 'busy_0 \(.*'
    # What calls libc's own functions, which have no unwind information, is hardly ever not known.
    awk '/\[native stack truncated/ { cut += $NF } { all += $NF } END { print cut / all; exit cut > 0.03 * all }' stacks.txt || fail "stacks are not whole"
}

@test "what runs in libc is under the Python function that called it" {
    cat >copies.py <<'END'
import sys, time
def in_libc(ns):
    data, end = bytes(1 << 20), time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        bytearray(data)
sum(i * i for i in range(1_000_000)) # a stack that is whole tells how large the interpreter's frame is
in_libc(500_000_000)
END
    profiled "$MUSL_PYTHON" copies.py 2>stderr.txt
    closes
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt in_libc)" 500000000 10 in_libc
    reader stacks stacks.txt 'main \(python.*' 'Py_RunMain .*' '<module> \(copies.*' 'in_libc \(.*' 'memcpy \(ld-musl.*'
}

@test "the stacks of libc's own functions, which have no unwind information, are whole: its instructions tell them" {
    cat >allocates.py <<'END'
import time
end = time.thread_time_ns() + 1_500_000_000
while time.thread_time_ns() < end:
    [bytearray(size) for size in range(600, 900)]
    "%s %d %f" % ("x" * 50, 5, 3.25)
    [bytearray(1 << 20) for _ in range(4)]
END
    profiled "$MUSL_PYTHON" allocates.py 2>stderr.txt
    closes
    collapsed --native all >stacks.txt
    awk '/\(ld-musl/ { libc += $NF; cut += /\[native stack truncated/ ? $NF : 0 } { all += $NF }
        END { print libc / all, cut / all; exit libc < 0.3 * all || cut > 0.03 * all }' stacks.txt || fail "stacks are cut"
}

@test "a C handler of a signal is above what the signal interrupted" {
    cat >handler.c <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <time.h>
volatile unsigned long sum;
void in_handler(int number)
{
    while (clock() < 300000)
        for (int i = 0; i < 1000; i++)
            sum += (unsigned long)(i + number);
}
int main(int count, char **words)
{
    ((void (*)(void))dlsym(dlopen(words[count - 1], RTLD_NOW | RTLD_GLOBAL), "Py_Initialize"))();
    signal(SIGUSR1, in_handler);
    raise(SIGUSR1);
    return !++sum;
}
END
    musl-gcc -O1 -g -Wl,--eh-frame-hdr -o handler handler.c
    PYTHONHOME=$MUSL_ROOT profiled ./handler "$LIBPYTHON" 2>stderr.txt
    closes
    collapsed --native all >stacks.txt
    reader stacks stacks.txt 'main \(handler\)' 'raise \(ld-musl.*' '.*' '.*' 'in_handler \(handler\)'
}

@test "fork, multiprocessing, daemons' ends: a file for each process, CPU of all" {
    spent=$(profiled "$MUSL_PYTHON" "$WORKLOADS/pool.py" fork 2>stderr.txt)
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt pool_job)" "$spent" 10 "pool_job"
    closes
    rm -r pyprof.out
    mkdir truth
    profiled "$MUSL_PYTHON" -W ignore "$WORKLOADS/forks.py" truth 2>stderr.txt
    [ "$(log_files | wc -l)" -eq 2 ] || fail "expected two files: $(log_files)"
    closes
}

@test "a change of the user reaches every thread, ours too, also while the profile ends" {
    cat >user.py <<'END'
import os, threading
def work():
    sum(i * i for i in range(200_000))
for _ in range(20):
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for _ in range(20): os.setresuid(*os.getresuid())
    for thread in threads: thread.join()
    if os.fork() == 0:
        os.setresuid(*os.getresuid())
        os._exit(0)
    os.wait()
def to_the_end():
    while True: os.setresuid(*os.getresuid())
threading.Thread(target=to_the_end, daemon=True).start()
print("done")
END
    TIMEOUT=60 profiled "$MUSL_PYTHON" user.py >out.txt 2>stderr.txt
    grep -qx 'done' out.txt
    closes
}

@test "tasks and threads have their names: what a thread keeps under a key is found" {
    cat >tasks.py <<'END'
import asyncio, threading, time
def spin(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end: sum(range(1000))
async def one(): spin(300_000_000)
async def both():
    await asyncio.gather(asyncio.create_task(one(), name="first"), asyncio.create_task(one(), name="second"))
thread = threading.Thread(target=asyncio.run, args=(both(),), name="loop")
thread.start()
thread.join()
END
    profiled "$MUSL_PYTHON" tasks.py 2>stderr.txt
    closes
    for name in first second; do
        collapsed --focus "task=$name" >stacks.txt
        cpu_near "$(reader inclusive stacks.txt spin)" 300000000 15 "task $name"
    done
    collapsed --thread loop >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 600000000 10 "thread loop"
}

@test "children of the other libc start undisturbed and are profiled" {
    cat >children.py <<'END'
import os, subprocess, sys
def use_here(): sum(i * i for i in range(2_000_000))
use_here()
if len(sys.argv) > 1:
    print(subprocess.run(["/bin/echo", "child"], capture_output=True, text=True).stdout, end="")
    subprocess.run([sys.argv[1], __file__], check=True)
    os.execv(sys.argv[2], [sys.argv[2], __file__])
END
    for pair in "$MUSL_PYTHON $PYTHON" "$PYTHON $MUSL_PYTHON"; do
        rm -rf pyprof.out
        # shellcheck disable=SC2086
        profiled ${pair% *} children.py ${pair#* } ${pair#* } >out.txt 2>stderr.txt
        [ "$(cat out.txt)" = child ] || fail "$(cat out.txt)"
        closes
        info | grep -c '"pid"' >processes.txt
        collapsed --processes | grep use_here | cut -d';' -f1 | sort -u >used.txt
        [ "$(wc -l <used.txt)" -eq 3 ] || fail "not three programs have used CPU time: $(cat used.txt)"
    done
}

@test "what musl has for itself or lacks is said in one line; doctor knows" {
    PYPROF_SIGNAL=34 profiled "$MUSL_PYTHON" -c 'sum(i * i for i in range(2000000))' 2>stderr.txt
    lines_of stderr.txt 1 'PYPROF_SIGNAL=34: musl keeps that signal'
    PYPROF_UNWIND=libunwind profiled "$MUSL_PYTHON" -c 'sum(i * i for i in range(2000000))' 2>stderr.txt
    lines_of stderr.txt 1 'PYPROF_UNWIND=libunwind: .*: using the own unwind rows'
    PYPROF_SIGNAL=35 profiled "$MUSL_PYTHON" -c 'sum(i * i for i in range(2000000))' 2>stderr.txt
    closes
    "$PYPROF" doctor -- "$MUSL_PYTHON" >doctor.txt || fail "$(cat doctor.txt)"
    unwrapped <doctor.txt | grep -q 'the program is of musl libc' || fail "$(cat doctor.txt)"
}
