# Modules that come and go, exceptions in flight and allocators, from six threads at the highest rate.
load lib/helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    make_churn
}

# churned SECONDS ALLOCATOR: "" for libc's own.
churned() {
    local seconds=$1 allocator=$2 kind ns
    rm -rf pyprof.out
    PYPROF_HZ=1000 TIMEOUT=600 LIBPYPROF=$LIBPYPROF${allocator:+:$allocator} profiled "$PYTHON" \
        "$WORKLOADS/native_churn.py" "$BATS_FILE_TMPDIR/libnative_churn.so" "$BATS_FILE_TMPDIR/libplug" "$seconds" >truth.txt
    collapsed >stacks.txt
    adds_up
    while read -r kind ns; do
        cpu_near "$(reader inclusive stacks.txt "$kind")" "$ns" 12 "$kind with ${allocator:-libc}"
    done <truth.txt
}

with_allocators() {
    local allocator
    for allocator in "" libtcmalloc_minimal.so.4 libjemalloc.so.2; do
        churned "$1" "$allocator"
        between 80 "$(whole_stacks)" 100 "percent of the CPU in throw and allocate whose native stacks reach churn" ||
            fail "with ${allocator:-libc}: $(grep -v ';churn (libnative_churn' busy.txt | tail -n 3) of $(wc -l <busy.txt) stacks"
    done
}

# Percent of the CPU below `throw` and `allocate` that is below churn as well.
whole_stacks() {
    grep -E ';(throw|allocate) \(' stacks.txt >busy.txt
    awk '{ all += $NF } /;churn \(libnative_churn\.so\)/ { whole += $NF } END { printf "%d\n", all ? 100 * whole / all : 100 }' busy.txt
}

@test "modules come and go, exceptions fly, allocators work: nothing hangs, and the figures stay true" {
    with_allocators 0.5
}

# bats test_tags=long
@test "the same for three minutes of CPU on each Python" {
    with_allocators 10
}

@test "what is loaded, unloaded, loaded again and inherited: each address of a stack is in a module of the log, as it was mapped" {
    local i
    for i in 1 2 3 4; do
        gcc -O1 -g -shared -fPIC -DSIZE=$((i * 3001)) -Dplug_work="plug${i}_work" -Dspin="plug${i}_spin" -o "plug$i.so" "$WORKLOADS/lib/plug.c"
    done
    rm -rf pyprof.out maps.txt
    PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/modules.py" "$PWD" >truth.txt
    mapfile -t logs < <(log_files)
    /usr/bin/python3 "$ROOT/tests/oracles/modules.py" maps.txt truth.txt "${logs[@]}"
}

# reuse_addresses [LIBRARY]: is closed first.
reuse_addresses() {
    local i
    for i in {1..8}; do # with the same code, so that each fits where another was
        gcc -O1 -g -shared -fPIC -DSIZE=3001 -Dplug_work="plug${i}_work" -Dspin="plug${i}_spin" -o "plug$i.so" "$WORKLOADS/lib/plug.c"
    done
    rm -rf pyprof.out
    PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/address_reuse.py" "$PWD" "$@" >addresses.txt
    [ "$(sort addresses.txt | uniq -d | wc -l)" -gt 0 ] || fail "no library came to another's address"
    collapsed >stacks.txt
    awk '
        match($0, /caller[1-8] /) { own = "plug" substr($0, RSTART + 6, 1) "_"; called += $NF }
        /caller/ && /plug[1-8]_/ {
            match($0, /plug[1-8]_.*/)
            rest = substr($0, RSTART)
            all = gsub(/plug[1-8]_/, "&", rest)
            if (gsub(own, "&", rest) != all) { print "wrong: " $0; exit 1 }
            named += $NF
        }
        # the last one stays for longer than a flush
        END { if (!called || named < 0.15 * called) { print named " of " called " ns have names"; exit 1 } }' stacks.txt
}

@test "libraries at addresses of others that were closed within a second: no sample has another's functions" {
    reuse_addresses
    adds_up
}

@test "the same in a child that a library forks when it is closed" {
    echo '#include <sys/wait.h>
#include <unistd.h>
__attribute__((destructor)) static void forks(void) { int pid = fork(); if (pid > 0) { waitpid(pid, 0, 0); _exit(0); } }' >forks.c
    gcc -shared -fPIC -o forks.so forks.c
    reuse_addresses ./forks.so
}

# Whether an interpreter that was not started yet has been is asked once a second.
@test "a loaded interpreter that was never started, whose file has been truncated" {
    gcc -shared -fPIC -O1 -o libfake.so -DVERSION=0x040000f0 "$WORKLOADS/lib/fake_python.c" -lpthread
    profiled "$PYTHON" -c '
import ctypes, os, time
def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(1000))
fake = ctypes.CDLL("./libfake.so", mode=os.RTLD_DEEPBIND)
assert not fake.Py_IsInitialized()
work(2.2)
os.truncate("libfake.so", 0)
work(2.2)
print("done", flush=True)
os._exit(0)' >out.txt
    [ "$(cat out.txt)" = 'done' ] || fail "$(cat out.txt)"
}

# The loader's list points into the pages of the file, which are gone; a program that never calls the library again does not notice.
@test "a loaded library whose file has been truncated" {
    echo 'void cut(void) {}' >cut.c
    gcc -shared -fPIC -o cut.so cut.c
    profiled "$PYTHON" -c '
import ctypes, os, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
ctypes.CDLL("./cut.so")
os.truncate("cut.so", 0)
work(0.2)
import _decimal, _lzma # the list of modules is read again
work(1.2)
print("done", flush=True)
os._exit(0)' >out.txt
    [ "$(cat out.txt)" = 'done' ] || fail "$(cat out.txt)"
    collapsed | grep -q ';work ' || fail "no sample in work()"
}
