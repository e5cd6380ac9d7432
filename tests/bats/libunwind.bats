# PYPROF_UNWIND=libunwind: the same stacks by another walker.
load lib/helper

# Its libunwind.so.8 is the system's, whatever the Python.
setup_file() {
    ldconfig -p 2>/dev/null | grep -q 'libunwind.so.8 ' || /sbin/ldconfig -p | grep -q 'libunwind.so.8 ' || skip "no libunwind.so.8 here"
}

used() {
    info | grep -q "\"unwind\": \"$1\"" || fail "not walked by $1: $(info | grep '"unwind"')"
}

@test "by libunwind: hashlib and sorted(key=function)" {
    PYPROF_UNWIND=libunwind profiled "$PYTHON" "$WORKLOADS/stacks.py" hash 2>err.txt
    [ ! -s err.txt ] || fail "$(cat err.txt)"
    used libunwind
    "$PYPROF" info pyprof.out | grep -q 'native stacks by libunwind'
    collapsed >stacks.txt
    reader stacks stacks.txt '_start \(.*' '<module> \(.*stacks\.py:1\)' 'main \(.*stacks\.py:\d+\)' 'c_hash \(.*stacks\.py:10\)' \
        '.* \(libcrypto\.so.*\)'
    share=$(reader share stacks.txt 'c_hash \(.*' '.* \(libcrypto\.so.*\)')
    [ "$share" -ge $((85 - $(few 2))) ] || fail "only $share % of the CPU is in libcrypto below c_hash: $(sort -k1,1 stacks.txt | head -n 20)"
    rm -rf pyprof.out
    PYPROF_UNWIND=libunwind profiled "$PYTHON" "$WORKLOADS/stacks.py" sort
    collapsed >stacks.txt
    share=$(reader share stacks.txt 'sort_them \(.*' '.* \((lib)?python3.*\)' 'by_key \(.*')
    [ "$share" -ge $((80 - $(few 2))) ] || fail "only $share % of the CPU is in by_key below C below sort_them"
    share=$(reader share stacks.txt 'by_key \(.*' 'sort_them \(.*')
    [ "$share" -eq 0 ] || fail "$share % of the CPU has sort_them below by_key"
}

@test "by libunwind: less than one sample in a hundred is unpaired" {
    PYPROF_UNWIND=libunwind PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/pairing.py" 3 >kinds.json
    info >info.json
    used libunwind
    samples=$(reader field info.json samples)
    reader truncated info.json >truncated.txt
    unpaired=$(sed -n 's/^python and native stack do not pair: //p' truncated.txt)
    between 0 "${unpaired:-0}" $((samples / 100 + 1)) "unpaired of $samples samples: $(cat truncated.txt)"
    cut=$(awk -F': ' '/^(native|python)/ { n += $NF } END { print n + 0 }' truncated.txt)
    between 0 "$cut" $((samples / 50 + 1)) "incomplete of $samples samples: $(cat truncated.txt)"
    collapsed >stacks.txt
    nested=$(reader share stacks.txt 'main \(.*pairing\.py:[0-9]+\)' '[^.]*\((lib)?python3.*|.*\.so.*\)' '.*\(.*pairing\.py:[0-9]+\)')
    [ "$nested" -ge $((40 - $(few 2))) ] || fail "only $nested % of the CPU is in Python below C below main: $(head -n 5 stacks.txt)"
}

# Forks while other threads are in their handlers: libunwind has locks, which no child may inherit.
@test "by libunwind: forks of a program with busy threads" {
    PYPROF_UNWIND=libunwind PYPROF_HZ=1000 TIMEOUT=120 profiled "$PYTHON" -W ignore -c '
import os, threading, time
stop = time.time() + 4
def burn(until):
    while time.time() < until:
        sum(i * i % 7 for i in range(1000))
threads = [threading.Thread(target=burn, args=(stop,)) for _ in range(4)]
for thread in threads:
    thread.start()
children = 0
while time.time() < stop:
    pid = os.fork()
    if pid == 0:
        burn(time.time() + 0.05)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    children += 1
print(children)'
    adds_up
}

# What was unloaded is forgotten.
@test "by libunwind: modules that come and go" {
    make_churn
    PYPROF_UNWIND=libunwind PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/native_churn.py" ./libnative_churn.so ./libplug 1 >truth.txt
    used libunwind
    adds_up
}

# What daemons do: libunwind's descriptors are closed, and their numbers the program's own, which is to find in its pipe
# what it wrote and in its files nothing else.
@test "by libunwind: a program that closes its descriptors and uses the numbers again" {
    PYPROF_UNWIND=libunwind PYPROF_HZ=1000 TIMEOUT=60 profiled PYTHONPATH="$WORKLOADS" "$PYTHON" -c '
import os, threading
from cpu import spin
def deep(n):
    return spin(0.1) if n == 0 else deep(n - 1)
def busy():
    threads = [threading.Thread(target=deep, args=(i * 10,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
spin(0.5)
os.closerange(3, 200)
ends = os.pipe()
os.write(ends[1], b"mine")
files = [os.open("file%d" % i, os.O_RDWR | os.O_CREAT, 0o600) for i in range(20)]
busy()
assert [os.fstat(file).st_size for file in files] == [0] * 20
os.write(ends[1], b"too")
assert os.read(ends[0], 100) == b"minetoo"
for file in files:
    os.close(file)
os.close(ends[0]), os.close(ends[1])
files = [os.open("file%d" % i, os.O_RDWR) for i in range(20)]
busy()
assert [os.fstat(file).st_size for file in files] == [0] * 20' 2>err.txt || fail "$(cat err.txt)"
    lines_of err.txt 1 '^pyprof: PYPROF_UNWIND=libunwind: the program has closed the pipe that it needs: using the own unwind rows$'
    adds_up
}

@test "libunwind that cannot be loaded: one line, and unwind rows" {
    mkdir empty
    : >empty/libunwind.so.8
    PYPROF_UNWIND=libunwind LD_LIBRARY_PATH=$PWD/empty${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        profiled "$PYTHON" "$WORKLOADS/stacks.py" hash 2>err.txt
    lines_of err.txt 1 '^pyprof: PYPROF_UNWIND=libunwind: libunwind.so.8 cannot be loaded: using the own unwind rows$'
    used rows
    collapsed >stacks.txt
    share=$(reader share stacks.txt 'c_hash \(.*' '.* \(libcrypto\.so.*\)')
    [ "$share" -ge $((85 - $(few 2))) ] || fail "only $share % of the CPU is in libcrypto below c_hash"
}

@test "a value of PYPROF_UNWIND that is none: one line, and the default" {
    PYPROF_UNWIND=frame-pointers profiled "$PYTHON" -c 'sum(range(10**7))' 2>err.txt
    lines_of err.txt 1 '^pyprof: PYPROF_UNWIND=frame-pointers is not rows or libunwind: using rows$'
    used rows
    for value in rows ""; do
        PYPROF_UNWIND=$value profiled "$PYTHON" -c 'sum(range(10**6))' 2>err.txt
        [ ! -s err.txt ] || fail "$(cat err.txt)"
    done
}
