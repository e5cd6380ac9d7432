#!/bin/bash
# The library for AArch64 on kernels of AArch64, in guests of qemu (guest.sh): its unit tests, profiles of Debian's Python 3.11 and
# what the kernel bills, libunwind beside our walk, and single steps; the first two on a kernel with pages of 16 KiB too. Speaks TAP.
# What tests/aarch64.sh leaves out under qemu-user is here. A part of `make check-long`; what it needs, tests/deps.sh long installs.
#     tests/guest_arm64.sh [KERNEL PART...]   only these parts of tests/workloads/guest_arm64.py
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
mkdir -p "$BUILD"
BUILD=$(realpath "$BUILD")
unset LD_PRELOAD MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS "${!PYPROF_@}"

status=0
one() {
    local name=$1
    shift
    if "$@"; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        status=1
    fi
}

root=$(tests/roots.sh arm64 2>&1 | tail -n 1)
if ! [ -x "$root/usr/bin/python3.11" ]; then
    echo "not ok - arm64: $root"
    exit 1
fi
libraries=$root/usr/lib/aarch64-linux-gnu
places="-L$libraries -Wl,--dynamic-linker=$root/lib/ld-linux-aarch64.so.1 -Wl,--disable-new-dtags,-rpath,$libraries:$root/lib/aarch64-linux-gnu"

# make_arm64 DIRECTORY FLAGS TARGET...: return addresses are signed, as in tests/aarch64.sh.
make_arm64() {
    local directory=$1 flags=$2
    shift 2
    make -j"$(nproc)" BUILD="$directory" CC=aarch64-linux-gnu-gcc CFLAGS="-O2 -g1 -mbranch-protection=standard$flags" \
        CHECKS=-DPP_CHECKS CPPFLAGS="-idirafter $root/usr/include -idirafter $root/usr/include/aarch64-linux-gnu" \
        LDFLAGS="$places" "${@/#/$directory/}" >&2
}

build() {
    local source name units=() workloads=tests/workloads
    for source in tests/unit/test_*.c; do
        name=$(basename "$source" .c)
        # made by hand of x86-64's registers
        [[ $name == @(test_tools_*|test_unwind_rows) ]] || units+=("unit/$name")
    done
    make_arm64 "$BUILD/aarch64" '' wheel/linux/{pyprof,libpyprof.so} || return
    # A step ends a load that is to be followed by a store of the same value only if nothing came between: a loop of both
    # that is stepped has no end. Armv8.1 has atomic instructions instead.
    make_arm64 "$BUILD/guest-arm64" ' -march=armv8.1-a' "${units[@]}" \
        unit/{tls_forms,tls_forms_static,unwind_oracle}_preload.so torture/torture.so || return
    ln -sfn ../aarch64/wheel/linux/pyprof "$BUILD/guest-arm64/pyprof"
    for name in handler interrupted; do
        aarch64-linux-gnu-gcc -O1 -g -shared -fPIC -D_GNU_SOURCE -o "$BUILD/guest-arm64/$name.so" "$workloads/lib/$name.c" || return
    done
    # shellcheck disable=SC2086
    aarch64-linux-gnu-gcc -O1 -D_GNU_SOURCE $places -o "$BUILD/guest-arm64/filtered" "$workloads/filtered.c"
}

# guest KERNEL PART...
guest() {
    local kernel=$1
    shift
    tests/guest.sh -t 3000 -s "$PWD" -s "$BUILD" arm64 "$kernel" "$root" -- \
        "$root/usr/bin/python3.11" "$PWD/tests/workloads/guest_arm64.py" "$BUILD" "$@" | sed -u "s/^\(not \)\?ok - /&$kernel: /"
    return "${PIPESTATUS[0]}"
}

one "arm64: builds, no warning" build
[ "$status" -eq 0 ] || exit 1
if [ $# -gt 0 ]; then
    one "$1: the guest ends well" guest "$@"
else
    one "linux-bookworm-arm64: the guest ends well" guest linux-bookworm-arm64 units profile servers pairing oracle torture
    one "linux-trixie-arm64-16k: the guest ends well" guest linux-trixie-arm64-16k units profile
fi
exit $status
