#!/bin/sh
# Installs the Debian packages that are missing: tests/deps.sh build | demo | bench | check | long (each includes the
# one before) | accuracy (bench, and profilers to compare with) | wheel (demo, and what the wheel is linked with) |
# wheel-aarch64 (wheel, and what compiles for that processor) | deb (build, and what makes a Debian package) |
# deb-arm64 (deb, and what compiles for that processor).
# Prints nothing and needs no rights when nothing is missing.
set -eu

want=${1:-check}
missing=
other_processor=
case $want in
wheel-aarch64 | deb-arm64) want=${want%-*} other_processor=1 ;;
check | long) other_processor=1 ;;
esac

# need PACKAGE TEST...: PACKAGE is missing when TEST fails.
need() {
    package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        missing="$missing $package"
    fi
}

has_command() {
    for name in "$@"; do
        command -v "$name" && return 0
    done
    return 1
}

has_file() {
    for name in "$@"; do
        [ -e "$name" ] && return 0
    done
    return 1
}

is_static() {
    [ -e "$1" ] && ! ldd "$1"
}

# moreutils has another one
has_gnu_parallel() {
    parallel --version | grep -q GNU
}

has_venv() {
    /usr/bin/python3 -c 'import venv, ensurepip'
}

need make has_command make
need gcc has_command gcc
need libc6-dev has_file /usr/include/stdio.h
need libelf-dev has_file /usr/include/libelf.h
need libdw-dev has_file /usr/include/elfutils/libdwfl.h
need libiberty-dev has_file /usr/include/libiberty/demangle.h
need zlib1g-dev has_file /usr/include/zlib.h
need libisal-dev has_file /usr/include/isa-l/igzip_lib.h

if [ "$want" = deb ] || [ "$want" = long ]; then
    need debhelper has_command dh
    need lintian has_command lintian
fi

if [ "$want" != build ] && [ "$want" != deb ]; then
    need python3 has_file /usr/bin/python3
    need python3-venv has_venv
fi

# The static libdw needs them; their -dev packages have the static libraries.
if [ "$want" = wheel ] || [ "$want" = check ] || [ "$want" = long ]; then
    need liblzma-dev has_file /usr/lib/*/liblzma.a
    need libbz2-dev has_file /usr/lib/*/libbz2.a
fi

if [ -n "$other_processor" ]; then
    need gcc-aarch64-linux-gnu has_command aarch64-linux-gnu-gcc
    need libc6-dev-arm64-cross has_file /usr/aarch64-linux-gnu/include/stdio.h
fi

# `make bench` measures libunwind beside our walk.
if [ "$want" != build ] && [ "$want" != demo ] && [ "$want" != wheel ] && [ "$want" != deb ]; then
    need libunwind-dev has_file /usr/include/libunwind.h /usr/include/*/libunwind.h
fi

if [ "$want" = accuracy ]; then
    need libgoogle-perftools4 has_file /usr/lib/*/libprofiler.so*
    need google-perftools has_command google-pprof
    need zstd has_command zstd
    need wrk has_command wrk
fi

if [ "$want" = check ] || [ "$want" = long ]; then
    need git has_command git
    need g++ has_command g++
    need libcmocka-dev has_file /usr/include/cmocka.h
    need bats has_command bats
    # for bats --jobs
    need parallel has_gnu_parallel
    need musl-tools has_command musl-gcc
    need clang has_command clang
    # the first runtime of AddressSanitizer that is prepared for fork in a program with threads
    need clang-19 has_command clang-19
    need libclang-rt-19-dev has_file /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan-x86_64.so
    need libclang-rt-dev has_file /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a
    need clang-format has_command clang-format
    need shellcheck has_command shellcheck
    need golang-go has_command go
    # what their completions offer
    need zsh has_command zsh
    need fish has_command fish
    need procps has_command ps
    need curl has_command curl
    # promtool, too
    need prometheus has_command promtool
    need chromium has_command chromium chromium-browser google-chrome
    need valgrind has_command callgrind_annotate
    need gdb has_command gdb
    need strace has_command strace
    # for tests/aarch64.sh
    need qemu-user-static has_command qemu-aarch64-static
    # a 32-bit child
    need gcc-12-multilib has_file /usr/lib/gcc/x86_64-linux-gnu/*/32/libgcc.a
    need dwz has_command dwz
    need xz-utils has_command xz
    need debuginfod has_command debuginfod-find
    need libgoogle-perftools4 has_file /usr/lib/*/libprofiler.so.0
    need libtcmalloc-minimal4 has_file /usr/lib/*/libtcmalloc_minimal.so.4
    need libjemalloc2 has_file /usr/lib/*/libjemalloc.so.2
    # tests/roots.sh makes interpreters that this Debian has no package of. The second is in a directory for root.
    need patchelf has_command patchelf
    need debootstrap has_file /usr/sbin/debootstrap
    # tests/bats/images.bats
    need runc has_file /usr/sbin/runc /usr/bin/runc
    need python3-yaml /usr/bin/python3 -c 'import yaml'
    need busybox-static is_static /bin/busybox
    need uwsgi-core has_command uwsgi-core
    need uwsgi-plugin-python3 has_file /usr/lib/uwsgi/plugins/python3*_plugin.so
fi

# What the source of CPython is built with.
if [ "$want" = long ]; then
    need libssl-dev has_file /usr/include/openssl/ssl.h
    need libffi-dev has_file /usr/include/ffi.h /usr/include/*/ffi.h
    need linux-perf has_command perf
    # tests/guest.sh, and the kernels of tests/roots.sh
    need qemu-system-arm has_command qemu-system-aarch64
    need qemu-system-x86 has_command qemu-system-x86_64
    need cpio has_command cpio
    need kmod has_file /usr/sbin/modprobe /sbin/modprobe
    need apparmor has_file /usr/sbin/apparmor_parser /sbin/apparmor_parser
fi

[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "tests/deps.sh: needs these packages and is neither root nor has sudo; install them with:" >&2
        echo "    apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
if ! command -v apt-get >/dev/null; then
    echo "tests/deps.sh: no apt-get here; install what these Debian packages hold:$missing" >&2
    exit 1
fi

echo "installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Word splitting is wanted: one argument per package.
# shellcheck disable=SC2086
if ! { $as_root apt-get -o Acquire::Retries=3 update &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "tests/deps.sh: could not install$missing" >&2
    exit 1
fi
