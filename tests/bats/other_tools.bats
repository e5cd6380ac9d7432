# Beside other libraries that are preloaded, under other tools, and in children that cannot be profiled.
load lib/helper

setup_file() {
    cp "$WORKLOADS/two_threads.py" "$BATS_FILE_TMPDIR/two.py"
}

# whole [PERCENT]: the profile adds up, and both threads are in it. Then it is gone.
whole() {
    info >info.json
    # AddressSanitizer takes its part of a thread down after the last that we see of it, in milliseconds; the kernel adds a
    # process's clock up by ticks while ITIMER_PROF runs, as gperftools has it.
    [[ $BESIDE == *asan* || $BESIDE == *profiler* ]] || reader accounting info.json
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt use_cpu)" 400000000 "${1:-15}" "use_cpu in two threads, $BESIDE"
    rm -rf pyprof.out
}

# quiet_host COMMAND...: runs it; it prints nothing.
quiet_host() {
    "$@" >out.txt 2>&1 || fail "$BESIDE: status $?: $(head -n 20 out.txt)"
    [ ! -s out.txt ] || fail "$BESIDE: it says: $(head -n 20 out.txt)"
}

# The file that the compiler would link.
sanitizer() {
    realpath "$(gcc -print-file-name="lib$1.so")"
}

# computes [SECONDS]
computes() {
    echo "$PYTHON $BATS_FILE_TMPDIR/two.py ${1:-0.2}"
}

@test "preloaded beside tcmalloc, jemalloc, much thread-local storage: in front of us and behind" {
    # As much as some GPU libraries want: it lies on every stack, on that of our own thread too.
    echo '__thread char much[600 * 1024] = {1};' | gcc -shared -fPIC -o much.so -x c -
    for BESIDE in libtcmalloc.so.4 libtcmalloc_minimal.so.4 libjemalloc.so.2 ./much.so; do
        LD_PRELOAD=$BESIDE true 2>beside.txt
        [ ! -s beside.txt ] || fail "$(cat beside.txt)"
        for together in "$BESIDE:$LIBPYPROF" "$LIBPYPROF:$BESIDE"; do
            # shellcheck disable=SC2046
            quiet_host profiled LD_PRELOAD="$together" $(computes)
            whole
        done
    done
}

@test "LD_AUDIT, LD_BIND_NOW, LD_DEBUG" {
    gcc -O1 -shared -fPIC -o audit.so -x c - <<'END'
#define _GNU_SOURCE
#include <link.h>
unsigned la_version(unsigned version) { return version; }
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{ (void)map; (void)space; (void)cookie; return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{ (void)index; (void)from; (void)to; (void)flags; (void)name; return symbol->st_value; }
END
    for BESIDE in LD_AUDIT=./audit.so LD_BIND_NOW=1 "LD_DEBUG=all LD_DEBUG_OUTPUT=debug" LD_DYNAMIC_WEAK=1; do
        # shellcheck disable=SC2046,SC2086
        quiet_host profiled $BESIDE $(computes)
        whole
    done
}

@test "under stdbuf and strace" {
    BESIDE=stdbuf
    # shellcheck disable=SC2046
    quiet_host profiled stdbuf -o0 $(computes)
    whole
    BESIDE="strace -f"
    # shellcheck disable=SC2046
    quiet_host profiled strace -f -o trace.txt $(computes)
    whole 25
}

@test "under valgrind: not a word of its more than without us, and the program's functions are seen" {
    command -v valgrind >/dev/null || skip "valgrind is missing"
    # It does not know the loader that Debian sid's have with them.
    use_python "$(list_pythons | grep -m 1 ' shared')"
    BESIDE="valgrind"
    # Python's own allocator reads where nothing is. Signals are few there.
    # shellcheck disable=SC2046
    PYTHONMALLOC=malloc quiet_host valgrind -q --error-exitcode=9 $(computes 1)
    # shellcheck disable=SC2046
    quiet_host profiled PYTHONMALLOC=malloc valgrind -q --error-exitcode=9 $(computes 1)
    collapsed >stacks.txt
    reader stacks stacks.txt 'use_cpu \(.*two\.py:\d+\)'
}

@test "with gdb attached and detached" {
    needs_ptrace
    local pid
    BESIDE="gdb that comes and goes"
    # It works until gdb has gone, and says what it has used.
    LD_PRELOAD=$LIBPYPROF "$PYTHON" -c 'import os, threading, time
used = []
def use_cpu():
    begin = time.thread_time_ns()
    while not os.path.exists("detached") or time.thread_time_ns() - begin < 1e9: sum(range(1000))
    used.append(time.thread_time_ns() - begin)
thread = threading.Thread(target=use_cpu)
thread.start()
use_cpu()
thread.join()
print(sum(used), file=open("truth", "w"))' >out.txt 2>&1 3>&- &
    pid=$!
    wait_until 60 test -e pyprof.out
    gdb -nx -batch -p "$pid" -ex 'thread apply all backtrace 3' -ex detach >gdb.txt 2>&1
    touch detached
    wait "$pid" || fail "$BESIDE: status $?: $(cat out.txt)"
    grep -q 'detached' gdb.txt || fail "gdb: $(cat gdb.txt)"
    adds_up
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt use_cpu)" "$(cat truth)" 10 "use_cpu, $BESIDE"
}

@test "beside sys.setprofile, sys.settrace, cProfile and perf" {
    cat >profilers.py <<'END'
import cProfile, sys, threading, time
calls = [0]
def count(*_): calls[0] += 1
def use_cpu():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: sum(i for i in range(100))
if sys.argv[1] == "setprofile":
    threading.setprofile(count); sys.setprofile(count)
elif sys.argv[1] == "settrace":
    threading.settrace(lambda *_: count); sys.settrace(lambda *_: count)
else:
    profile = cProfile.Profile(); profile.enable()
thread = threading.Thread(target=use_cpu)
thread.start()
use_cpu()
thread.join()
if sys.argv[1] == "cProfile":
    profile.disable()
    calls[0] = sum(entry.callcount for entry in profile.getstats())
sys.setprofile(None); sys.settrace(None)
sys.exit(calls[0] < 100)
END
    for BESIDE in setprofile settrace cProfile; do
        quiet_host profiled "$PYTHON" profilers.py $BESIDE
        whole
    done
    if command -v perf >/dev/null && perf record -q -o perf.data true 2>/dev/null; then
        BESIDE="perf record"
        # shellcheck disable=SC2046
        quiet_host profiled perf record -q -e cpu-clock -o perf.data $(computes)
        whole
    fi
}

under_memray() {
    venv=$(venv_with memray) || fail "$venv"
    for BESIDE in "" --native; do
        # shellcheck disable=SC2086
        quiet_host profiled "$venv/bin/python" -m memray run $BESIDE -q -o "memray$BESIDE.bin" "$BATS_FILE_TMPDIR/two.py" 0.2
        "$venv/bin/python" -m memray stats --json -f -o stats.json "memray$BESIDE.bin" >stats.txt || fail "memray's file: $(cat stats.txt)"
        whole
    done
}

@test "beside memray, which replaces malloc in every library's tables" {
    with_pythons "$(list_pythons | awk '$2 ~ "^3[.]12[.]" { print; exit }')" under_memray
}

# A second set of libraries, as plugins of some programs and LD_AUDIT have it: the loader tells us nothing of those.
@test "libraries in a namespace of the loader's of their own (dlmopen): sums close, the callers are there" {
    echo 'int busy(int n) { volatile unsigned x = 1; while (n--) for (int i = 0; i < 1000; i++) x = x * 7 + i; return x; }' |
        gcc -O1 -shared -fPIC -o apart.so -x c -
    cat >apart.py <<'END'
import ctypes, threading
libc = ctypes.CDLL(None)
libc.dlmopen.restype = libc.dlsym.restype = ctypes.c_void_p
libc.dlmopen.argtypes = [ctypes.c_long, ctypes.c_char_p, ctypes.c_int]
libc.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
def use_cpu(): ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(busy)(150000)
for _ in range(3):
    handle = libc.dlmopen(-1, b"./apart.so", 2)
    busy = libc.dlsym(handle, b"busy")
    thread = threading.Thread(target=use_cpu)
    thread.start()
    use_cpu()
    thread.join()
    libc.dlclose.argtypes = [ctypes.c_void_p]
    libc.dlclose(handle)
END
    quiet_host profiled "$PYTHON" apart.py
    adds_up
    collapsed >stacks.txt
    share=$(reader share stacks.txt 'use_cpu \(.*apart\.py:\d+\)')
    between $((50 - $(few 2))) "$share" 100 "percent below use_cpu"
}

# Each of them ends as without us; what its loader says of us is one line.
@test "children that are static, 32-bit, of musl, privileged, or scripts with pipes: as without us" {
    local child placed
    cat >child.c <<'END'
#include <stdio.h>
int main(void) { puts("child"); return 3; }
END
    gcc -o dynamic child.c
    gcc -static -o static child.c
    gcc -static-pie -o static_pie child.c
    gcc -m32 -o bits32 child.c 2>/dev/null || rm -f bits32
    gcc -fsanitize=thread -o threads_checked child.c
    musl-gcc -o musl child.c 2>/dev/null || rm -f musl
    musl-gcc -static -o musl_static child.c 2>/dev/null || rm -f musl_static
    for child in bits32 musl musl_static; do
        [ -e $child ] || [ -z "${CI:-}" ] || fail "no $child here, tests/deps.sh has the compiler"
    done
    # Its runtime of gcc 12 fails where the kernel places things over more of the memory than it knew, some times.
    placed=
    setarch -R true 2>/dev/null || rm threads_checked
    cp dynamic privileged
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534 privileged && chmod u+s privileged
    fi
    printf '#!/bin/sh\necho child | cat | sed s/x/y/\nexit 3\n' >script
    chmod +x script
    for child in dynamic static static_pie bits32 threads_checked musl musl_static privileged script; do
        [ -e $child ] || continue
        [ $child != threads_checked ] || placed="setarch -R"
        # shellcheck disable=SC2086
        profiled $placed "$PYTHON" -c 'import subprocess, sys
for way in {}, {"close_fds": False}, {"preexec_fn": int}:
    done = subprocess.run(["./" + sys.argv[1]], stdout=-1, stderr=-1, text=True, **way)
    lines = done.stderr.splitlines()
    if sys.argv[1] == "bits32":
        assert len(lines) == 1 and "wrong ELF class" in lines[0], lines
    else:
        assert not lines, lines
    assert (done.returncode, done.stdout) == (3, "child\n"), done' $child || fail "$child"
        placed=
    done
    [ -e bits32 ] || return 0
    # An empty library where the 32-bit loader expects ours: no line.
    mkdir -p places/lib32 places/lib/i386-linux-gnu places/lib/x86_64-linux-gnu places/lib64
    echo | gcc -m32 -shared -x c -o places/lib32/libpyprof.so -
    cp places/lib32/libpyprof.so places/lib/i386-linux-gnu
    cp "$LIBPYPROF" places/lib/x86_64-linux-gnu
    cp "$LIBPYPROF" places/lib64
    # shellcheck disable=SC2016 # the loader's $LIB
    LD_PRELOAD=$PWD'/places/$LIB/libpyprof.so' "$PYTHON" -c 'import subprocess
done = subprocess.run(["./bits32"], stdout=-1, stderr=-1)
assert (done.returncode, done.stdout, done.stderr) == (3, b"child\n", b""), done
sum(i for i in range(3000000))'
    reader accounting <(info)
}

# AddressSanitizer's runtime, as a library, wants to be the first of all; that is said where one asks.
@test "a program with AddressSanitizer: linked in, or preloaded before us; doctor says so" {
    echo 'int main(void) { return 0; }' >clean.c
    gcc -fsanitize=address -o needs_asan clean.c
    LD_PRELOAD="$(sanitizer asan):$LIBPYPROF" ./needs_asan
    ASAN_OPTIONS=verify_asan_link_order=0 profiled ./needs_asan
    if "$PYPROF" doctor -- ./needs_asan >doctor.txt; then
        fail "doctor: $(cat doctor.txt)"
    fi
    tr -s ' \n' ' ' <doctor.txt | grep -qE 'FAIL library .*AddressSanitizer.* LD_PRELOAD=.*libasan\.so[^ ]*:' || fail "$(cat doctor.txt)"
    clang-19 -fsanitize=address -o has_asan clean.c
    profiled ./has_asan
}
