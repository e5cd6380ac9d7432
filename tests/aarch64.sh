#!/bin/bash
# The library on AArch64, under qemu-user: builds it, with checks, runs its unit tests, and profiles Pythons of Debian's
# arm64, the long check (CHECK_LONG) all that there are, and programs of musl; it runs the unit tests with pages of 16 and
# 64 KiB, too. This machine's pyprof reads these profiles. Speaks TAP. Needs tests/deps.sh and tests/roots.sh arm64, and in a CI
# job fails without them.
#
# qemu-user has no process_vm_readv, ptrace, seccomp and perf events, executes no program of its processor, and copies by
# /proc/self/mem what mprotect forbids: what tests that is left out.
set -u
shopt -s extglob
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
mkdir -p "$BUILD/aarch64"
built=$(realpath "$BUILD/aarch64")
# Some of their tests need what qemu-user lacks: tests/guest_arm64.sh runs them. unwind_rows is made by hand of x86-64's
# registers; tables takes long and is any processor's.
left_out='account disk interval loop meeting modules object_copies safe_copy symbols tables unwind_oracle unwind_rows'

unset LD_PRELOAD MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS "${!PYPROF_@}"

one() {
    local name=$1
    shift
    if "$@"; then
        echo "ok - aarch64: $name"
    else
        echo "not ok - aarch64: $name"
        status=1
    fi
}

# What the machine lacks is a skipped test, but in a CI job a failed one.
absent() {
    if [ -n "${CI:-}" ]; then
        echo "not ok - aarch64: $1"
        exit 1
    fi
    echo "ok - aarch64 # SKIP $1"
    exit 0
}

emulated() {
    timeout 300 qemu-aarch64-static "$@"
}

status=0
for tool in aarch64-linux-gnu-gcc qemu-aarch64-static; do
    command -v "$tool" >/dev/null || absent "no $tool"
done
names=(arm64 arm64-trixie)
other_pages=()
if [ -n "${CHECK_LONG:-}" ]; then
    names+=(arm64-bullseye arm64-sid)
    other_pages=(16384 65536)
    musl=$(tests/roots.sh arm64-musl 2>&1 | tail -n 1)
    [ -d "$musl" ] || absent "$musl"
fi
root=$(tests/roots.sh arm64 2>&1 | tail -n 1)
pythons=()
for name in "${names[@]}"; do
    made=$(tests/roots.sh "$name" 2>&1 | tail -n 1)
    [ -d "$made" ] || absent "$made"
    pythons+=("$made"/usr/bin/python3.+([0-9]))
done

libraries=$root/usr/lib/aarch64-linux-gnu
tests=()
for source in tests/unit/test_*.c; do
    name=$(basename "$source" .c)
    if [[ $name != test_tools_* && " $left_out " != *" ${name#test_} "* ]]; then
        tests+=("$name")
    fi
done
# Once, and not with and without checks; return addresses are signed, which qemu's processor checks.
one "builds, no warning" make -j"$(nproc)" BUILD="$built" CC=aarch64-linux-gnu-gcc CFLAGS='-O2 -g1 -mbranch-protection=standard' CHECKS=-DPP_CHECKS \
    CPPFLAGS="-idirafter $root/usr/include -idirafter $root/usr/include/aarch64-linux-gnu" \
    LDFLAGS="-L$libraries -Wl,--dynamic-linker=$root/lib/ld-linux-aarch64.so.1 -Wl,--disable-new-dtags,-rpath,$libraries:$root/lib/aarch64-linux-gnu" \
    "$built/libpyprof.so" "${tests[@]/#/$built/unit/}" "$built/unit/"{tls_forms_preload,tls_forms_static_preload}.so >&2
[ "$status" -eq 0 ] || exit 1

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
# units SIZE-OF-PAGES QEMU-OPTION...
units() {
    local size=$1 name ended
    shift
    for name in "${tests[@]}"; do
        CMOCKA_MESSAGE_OUTPUT=TAP emulated "$@" "$built/unit/$name" >"$output/tap" 2>&1
        ended=$?
        sed "s|^\(not \)\?ok [0-9]* - |&aarch64: pages of $size: $name: |" "$output/tap"
        if [ "$ended" -ne 0 ]; then
            status=1
            grep -q '^not ok' "$output/tap" || echo "not ok - aarch64: pages of $size: $name ended with status $ended"
        fi
    done
}
units 4096
# SVE's loads fail there on pages of which qemu-user has lost sight.
for size in "${other_pages[@]}"; do
    units "$size" -cpu max,sve=off -p "$size"
done

native=libraries # where Debian 11's _start has no description, all stacks of 3.9 would be cut there
# profiled PROGRAM ARGUMENT...: into $output/log, and its stacks into $output/stacks.
profiled() {
    rm -rf "$output/log"
    emulated -E LD_PRELOAD="$built/libpyprof.so" -E PYPROF_OUT="$output/log" \
        -E PYPROF_HZ=250 -E PYPROF_MAX_OVERHEAD=50 "$@" &&
        "$BUILD/pyprof" export -f collapsed --native "$native" --unit ns -o "$output/stacks" "$output/log"
}

cat >"$output/shares.py" <<'PYTHON'
import threading, time, zlib

def heavy():
    return sum(i * i % 7 for i in range(30000))

def light():
    return sum(i * i % 7 for i in range(10000))

def compress():
    end = time.thread_time() + 1
    data = bytes(range(256)) * 4096
    while time.thread_time() < end:
        zlib.compress(data, 9)

def main():
    end = time.thread_time() + 2
    while time.thread_time() < end:
        heavy()
        light()

thread = threading.Thread(target=compress)
thread.start()
main()
thread.join()
PYTHON

cat >"$output/judge.py" <<'PYTHON'
import sys

what, *names = sys.argv[2:]
stacks = [line.rsplit(" ", 1) for line in open(sys.argv[1]) if line.strip()]
total = sum(int(ns) for _, ns in stacks)
def used(*words):
    return sum(int(ns) for stack, ns in stacks if all(word in stack for word in words))
def share(*words):
    return used(*words) / total
print(what, f"cut {share('truncated'):.3f}", *(f"{name} {share(name):.3f}" for name in names))
if what == "shares":
    ratio = share("heavy") / share("light")
    print(f"ratio {ratio:.2f} deflate {share('compress', 'deflate'):.3f}")
    assert 2 < ratio < 4.5, ratio
    # half of what the others use; how much of all that is depends on how slowly the interpreter starts
    assert share("compress", "deflate") > 0.8 * share("compress") > 0.2 * (share("heavy") + share("light"))
    assert share("truncated") < 0.02
elif what == "gaps":
    libc = sum(int(ns) for stack, ns in stacks if "(ld-musl" in stack.split(";")[-1]) / total
    print(f"in libc {libc:.3f}")
    assert libc > 0.3 and share("truncated") < 0.05
else:  # each has used 0.5 s, and its stacks begin with libc's first function
    for name in names:
        whole = sum(int(ns) for stack, ns in stacks if name in stack and "(ld-musl" in stack.split(";")[0])
        assert 0.42e9 < used(name) < 0.58e9 and whole > 0.97 * used(name), (name, used(name), whole)
assert not share(";$x (") and not share("0x0 (")
PYTHON

# judged WHAT NAME...
judged() {
    python3 "$output/judge.py" "$output/stacks" "$@"
}

# shares PYTHON: of each function what it was given, of each stack all frames.
shares() {
    profiled "$1" "$output/shares.py" && judged shares heavy light compress
}

# Threads on stacks of any kind and a child, of a C program in which an interpreter is loaded, and which does what it does
# without the library.
stacks_of_any_kind() {
    aarch64-linux-gnu-gcc -O1 -g -D_GNU_SOURCE -Wl,--eh-frame-hdr -mno-outline-atomics -specs "$musl/usr/lib/aarch64-linux-musl/musl-gcc.specs" \
        -o "$output/libc_calls" tests/workloads/libc_calls.c &&
        emulated -E PYTHONHOME="$musl" "$output/libc_calls" "$musl"/lib/libpython3.*.so.1.0 0.01 >"$output/plain" &&
        PYTHONHOME=$musl profiled "$output/libc_calls" "$musl"/lib/libpython3.*.so.1.0 0.5 >"$output/with" &&
        diff "$output/plain" "$output/with" && judged kinds use_usual use_small use_own use_detached use_child
}

# allocates PYTHON: it is most of the time in libc's functions.
allocates() {
    cat >"$output/allocates.py" <<'PYTHON'
import time
end = time.thread_time_ns() + 3_000_000_000
while time.thread_time_ns() < end:
    [bytearray(size) for size in range(600, 900)]
    "%s %d %f" % ("x" * 50, 5, 3.25)
    [bytearray(1 << 20) for _ in range(4)]
PYTHON
    profiled "$1" "$output/allocates.py" && judged gaps
}

for python in "${pythons[@]}"; do
    one "a profile of Debian's ${python##*/} for arm64" shares "$python"
done
if [ -n "${CHECK_LONG:-}" ]; then
    native=all
    python=$(echo "$musl"/bin/python3.+([0-9]))
    one "a profile of ${python##*/} for musl" shares "$python"
    one "musl: threads on stacks of any kind and a child have the CPU that they used, and whole stacks" stacks_of_any_kind
    one "musl: stacks in its own functions have hardly any gap" allocates "$python"
fi
exit $status
