#!/bin/bash
# What libpyprof.so asks of the process that it is loaded into, as TAP: tests/libpyprof_symbols.sh [BUILD]
#
# It is inherited by every child of the program, also by those with an older or another libc: a library or a symbol that
# they do not have would keep them from starting.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${1:-build}
library=$BUILD/libpyprof.so
# The functions that the library interposes: those marked PP_EXPORT there, each with its reason, and syscall in assembler.
interposed=$(grep -ohP '^PP_EXPORT .*?\K\w+(?=\()' preload/interpose/*.c; echo syscall)
# Those that a program may call.
offered_to_programs=$(grep -ohP '^PP_EXPORT .*?\K\w+(?=\()' preload/api.c)
floor=2.17
status=0

ok() {
    echo "ok - $1"
}

not_ok() {
    echo "not ok - $1"
    status=1
}

# verdict NAME OFFENDERS
verdict() {
    if [ -z "$2" ]; then
        ok "$1"
    else
        echo "$2"
        not_ok "$1"
    fi
}

if [ ! -e "$library" ]; then
    not_ok "$library is missing"
    exit 1
fi

needed=$(readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
verdict "needs libc.so.6 and nothing else" "$(grep -vx 'libc\.so\.6' <<<"$needed")"

versions=$(readelf --version-info --wide "$library" | grep -oE 'Name: GLIBC_[0-9.]+' | sed 's/Name: GLIBC_//' | sort -uV)
echo "versions of glibc asked for: $(paste -sd' ' <<<"$versions")"
verdict "asks for no version above GLIBC_$floor" \
    "$(printf '%s\n%s\n' "$versions" "$floor" | sort -uV | sed "1,/^${floor/./\\.}\$/d")"

exported=$(nm --dynamic --defined-only --format=posix "$library" | awk '{ print $1 }')
echo "exports: $(paste -sd' ' <<<"$exported")"
verdict "exports what it interposes, and pyprof_ functions" "$(grep -vxF "$interposed"$'\n'"$offered_to_programs" <<<"$exported"
    grep -v '^pyprof_' <<<"$offered_to_programs")"

# pyprof_copy is for another copy of the library.
declared=$(grep -oP '^int \Kpyprof_\w+(?=\()' preload/pyprof.h)
verdict "pyprof.h declares what a program may call, and nothing else" "$(sort -u <<<"$offered_to_programs" | grep -vx pyprof_copy |
    diff - <(sort <<<"$declared"))"

verdict "has no check of the tests' (PP_CHECK): no instruction that traps" "$(objdump --disassemble --no-show-raw-insn "$library" | grep -w ud2)"

# A function that sets the action or the mask of signals past us may keep our signal from coming. siginterrupt only changes a
# flag, which the flush thread puts back.
setters=$(nm --dynamic --defined-only --format=posix "$(ldd "$BUILD/pyprof" | awk '$1 == "libc.so.6" { print $3 }')" | awk '{ sub(/@.*/, "", $1); print $1 }' |
    grep -xE '_*(bsd_|sysv_|s)?signal|_*(pthread_)?sig(action|set|ignore|hold|relse|mask|procmask|block|setmask|interrupt)' | grep -vx siginterrupt | sort -u)
[ "$(wc -l <<<"$setters")" -ge 12 ] || not_ok "libc's functions that set actions and masks were not found"
verdict "is in front of every function of libc that sets an action or a mask" "$(grep -vxF "$exported" <<<"$setters")"

verdict "no text relocation, no executable stack, no lazy binding" "$(
    readelf --dynamic --wide "$library" | grep -E '\(TEXTREL\)'
    readelf --program-headers --wide "$library" | grep -E 'GNU_STACK.*RWE'
    readelf --dynamic --wide "$library" | grep -qE 'BIND_NOW|\(FLAGS_1\).*NOW' || echo "no BIND_NOW"
    readelf --dynamic --wide "$library" | grep -qE 'NODELETE' || echo "no NODELETE"
)"

verdict "static TLS of at most 64 bytes" "$(readelf --program-headers --wide "$library" | awk '$1 == "TLS" { print $6 }' |
    while read -r size; do [ $((size)) -le 64 ] || echo "TLS of $((size)) bytes"; done)"

if ! command -v musl-gcc >/dev/null; then
    if [ -n "${CI:-}" ]; then
        not_ok "musl-gcc is missing (package musl-tools)"
    else
        ok "a musl program starts # SKIP musl-gcc is missing (package musl-tools)"
    fi
    exit $status
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
library=$(realpath "$library")

musl-gcc -o "$scratch/hello" -x c - <<'SOURCE'
#include <stdio.h>
#include <pthread.h>
static void *run(void *p) { return p; }
int main(void)
{
    pthread_t t;
    if (pthread_create(&t, 0, run, 0) || pthread_join(t, 0))
        return 1;
    puts("hello");
    return 0;
}
SOURCE
# Strong imports must all exist in musl.
musl=$(readelf --program-headers --wide "$scratch/hello" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
imports=$(nm --dynamic --undefined-only --format=posix "$library" | awk '$2 == "U" { sub(/@.*/, "", $1); print $1 }' | sort -u)
offered=$(nm --dynamic --defined-only --format=posix "$musl" | awk '{ print $1 }' | sort -u)
verdict "imports that musl has not are weak" "$(comm -23 <(echo "$imports") <(echo "$offered"))"

output=$(cd "$scratch" && LD_PRELOAD=$library ./hello 2>&1)
result=$?
if [ "$result" -eq 0 ] && [ "$output" = hello ]; then
    ok "a dynamic musl program runs under LD_PRELOAD"
else
    echo "status $result, output: $output"
    not_ok "a dynamic musl program runs under LD_PRELOAD"
fi
exit $status
