#!/bin/bash
# The library on AArch64, under qemu-user: builds it, with checks, runs its unit tests, and profiles Pythons of Debian's
# arm64, the long check (CHECK_LONG) all that there are; this machine's pyprof reads these profiles. Speaks TAP. Needs
# tests/deps.sh and tests/roots.sh arm64, and in a CI job fails without them.
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
[ -z "${CHECK_LONG:-}" ] || names+=(arm64-bullseye arm64-sid)
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
for name in "${tests[@]}"; do
    CMOCKA_MESSAGE_OUTPUT=TAP emulated "$built/unit/$name" >"$output/tap" 2>&1
    ended=$?
    sed "s|^\(not \)\?ok [0-9]* - |&aarch64: $name: |" "$output/tap"
    if [ "$ended" -ne 0 ]; then
        status=1
        grep -q '^not ok' "$output/tap" || echo "not ok - aarch64: $name ended with status $ended"
    fi
done

# profiled PYTHON-ARGUMENT...: into $output/log.
profiled() {
    rm -rf "$output/log"
    emulated -E LD_PRELOAD="$built/libpyprof.so" -E PYPROF_OUT="$output/log" \
        -E PYPROF_HZ=250 -E PYPROF_MAX_OVERHEAD=50 "$python" "$@"
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

# shares PYTHON: of each function what it was given, of each stack all frames.
shares() {
    local python=$1
    profiled "$output/shares.py" && "$BUILD/pyprof" export -f collapsed -o "$output/stacks" "$output/log" &&
        python3 - "$output/stacks" <<'PYTHON'
import sys

stacks = [line.rsplit(" ", 1) for line in open(sys.argv[1]) if line.strip()]
total = sum(int(count) for _, count in stacks)
def share(*words):
    return sum(int(count) for stack, count in stacks if all(word in stack for word in words)) / total
ratio = share("heavy") / share("light")
print(f"heavy {share('heavy'):.3f} light {share('light'):.3f} compress {share('compress'):.3f} deflate {share('compress', 'deflate'):.3f} cut {share('truncated'):.3f}")
assert 2 < ratio < 4.5, ratio
assert share("compress", "deflate") > 0.8 * share("compress") > 0.15
assert share("truncated") < 0.02
PYTHON
}
for python in "${pythons[@]}"; do
    one "a profile of Debian's ${python##*/} for arm64" shares "$python"
done
exit $status
