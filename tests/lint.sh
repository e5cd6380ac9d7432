#!/bin/bash
# Style and static checks, as TAP.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
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

files() {
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
        if [ -f "$file" ]; then
            echo "$file"
        fi
    done
}

shell_scripts() {
    files | xargs grep -lE -m1 '^#!.*\b(ba)?sh$' --
    files 'tests/bats/*.sh'
}

format() {
    files '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

# SC2317 takes functions that are called by name for dead code.
shell() {
    shell_scripts | sort -u | xargs shellcheck -x -P SCRIPTDIR -e SC2317
}

# SC2030 and SC2031 do not know that bats runs each test by itself.
bats_syntax() {
    files '*.bats' '*.bash' | xargs shellcheck -x -P SCRIPTDIR -e SC2317,SC2030,SC2031
}

# gcc 12 does not see that a loop fills an array, and calls its elements uninitialized: that one warning is off. Without
# optimisation it finds more (a double free in a function that was inlined is lost at -O2), and takes two thirds of the time.
# The tools are compiled for another processor at the same time.
analyse() {
    local flags="-O0 -fanalyzer -Wno-analyzer-use-of-uninitialized-value"
    make -j"$(nproc)" BUILD="$BUILD/analyzer" CC=gcc CFLAGS="$flags" CAPTURE_CFLAGS= "$BUILD/analyzer/libpyprof.so" &&
        make -j"$(nproc)" BUILD="$BUILD" CFLAGS="$flags" compile-aarch64
}

# What a version of CPython is like is asked of its row in preload/cpython: nothing else compares minor versions.
compares_versions='\w*minor(?!_faults)\w*(\([^()]*\)|\))*\s*([<>]=?|[=!]=)(?![<>=])|((?<![-<>])>=?|(?<!<)<=?|[=!]=)\s*[\w.>-]*minor(?!_faults)'

version_tests() {
    local line
    for line in 'layout->minor >= 12' 'x.minor == 3' 'HEX_MINOR(hex) < WITH' '12 <= layout->minor' 'minor < 11 ? 3 : 1' 'a > LAST_MINOR'; do
        if ! grep -qPi -- "$compares_versions" <<<"$line"; then
            echo "is not found: $line"
            return 1
        fi
    done
    ! files 'preload/*.[ch]' 'tools/*.[ch]' | grep -v '^preload/cpython/' | xargs grep -nPi -- "$compares_versions"
}

# Texts of pseudo-frames are in preload/common/pseudo_frames.h alone.
pseudo_frames() {
    ! files 'preload/*.[ch]' 'tools/*.[ch]' | grep -v '/pseudo_frames.h$' |
        xargs grep -nE '^[^*/]*"[^"]*\[(unsampled|lost|not selected|thread exit|task|awaiter|awaited|creator|jit|gc|interpreter|native|loop)[] ]' | grep .
}

one "clang-format" format
one "CPython versions are compared in preload/cpython only" version_tests
one "shellcheck, scripts" shell
one "shellcheck, bats" bats_syntax
one "pseudo-frames go by their names" pseudo_frames
one "gcc -fanalyzer, of the tools for aarch64" analyse
one "what differs between processors is in preload/arch" tests/processors.sh
one "the tests that tests/host.md names" tests/host_table.sh
exit $status
