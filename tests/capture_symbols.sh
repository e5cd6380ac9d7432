#!/bin/bash
# What the signal handler's objects may call, as TAP: tests/capture_symbols.sh [BUILD]
#
# Everything in preload/handler, preload/context and preload/capture, with the tables of preload/frameworks and what copies memory for them, runs inside a signal handler, in a thread that may hold any lock:
# nothing there may reach libc, but for the four functions that compilers call on their own. No thread-local variable (a raw-clone thread has its
# creator's) and no stack protector (its canary is one). Calls through pointers are named below, each with its reason.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${1:-build}
libc_allowed=(memcpy memset memmove memcmp)
# Data of the rest of preload/ that the handler reads; no function belongs here.
project_allowed=(pp_process pp_libc_kind)
# Objects that may call through pointers: libunwind_walk.o calls libunwind, which is not async-signal-safe, and says so.
indirect_allowed=(libunwind_walk.o)
status=0

ok() {
    echo "ok - $1"
}

not_ok() {
    echo "not ok - $1"
    status=1
}

# indirect_calls OBJECT: one line per call or jump to where a register or a pointer in memory says, but through the linker's
# own table of addresses (GOT), whose symbols are checked as all others.
indirect_calls() {
    objdump --disassemble --reloc --no-show-raw-insn "$1" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = $2 }
        waits && !/R_X86_64_(REX_)?GOTPCREL/ { print name, waits }
        { waits = "" }
        /\t(notrack )?(call|jmp) +\*.*\(%rip\)/ { waits = $0; next }
        /\t(notrack )?(call|jmp) +\*/ { print name, $0 }' | tr -s ' \t' ' '
}

# violations OBJECT...: one line per symbol or relocation that is not allowed.
violations() {
    local object allowed defined
    defined=$(nm --defined-only --format=posix "$@" | awk 'NF >= 2 && $1 !~ /:$/ { print $1 }')
    # Only the linker's own name, and only for position-independent addressing.
    allowed=$(printf '%s\n' "${libc_allowed[@]}" "${project_allowed[@]}" _GLOBAL_OFFSET_TABLE_ "$defined")
    for object in "$@"; do
        nm --undefined-only --format=posix "$object" | awk '{ print $1 }' | grep -vxF "$allowed" |
            sed "s|^|$(basename "$object"): calls |"
        # TLSGD, TLSLD, DTPMOD, GOTTPOFF, TPOFF …: any access to a thread-local variable.
        readelf --relocs --wide "$object" | grep -oE 'R_X86_64_[A-Z0-9]*(TLS|TPOFF|DTP)[A-Z0-9]*' | sort -u |
            sed "s|^|$(basename "$object"): thread-local access by |"
        readelf --symbols --wide "$object" | awk '$4 == "TLS" { print $8 }' | sed "s|^|$(basename "$object"): thread-local |"
        # A canary is read from %fs:0x28 even where the failure function is not called. %fs:0x10 is the thread pointer
        # itself, by which the handler knows whose TLS it has.
        objdump --disassemble --no-show-raw-insn "$object" | grep -oE '%fs:[0-9a-fx]+' | sort -u | grep -vx '%fs:0x10' |
            sed "s|^|$(basename "$object"): reads |"
        printf '%s\n' "${indirect_allowed[@]}" | grep -qxF "$(basename "$object")" ||
            indirect_calls "$object" | sed "s|^|$(basename "$object"): calls through a pointer in |"
    done
}

# The check must find what it is there for. caught WHAT EXPECTED FLAGS... < source
caught() {
    local what=$1 expected=$2 found
    shift 2
    if ! gcc -x c -O2 -fPIC "$@" -c -o "$scratch/bad.o" -; then
        not_ok "self-test: $what does not compile"
        return
    fi
    found=$(violations "$scratch/bad.o")
    if grep -qF "$expected" <<<"$found"; then
        ok "self-test: finds $what"
    else
        not_ok "self-test: does not find $what; it found: $found"
    fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

caught "a call of malloc" "calls malloc" -fno-stack-protector <<'SOURCE'
void *malloc(unsigned long);
void *pp_bad(void) { return malloc(16); }
SOURCE
caught "errno" "calls __errno_location" -fno-stack-protector <<'SOURCE'
#include <errno.h>
int pp_bad(void) { return errno; }
SOURCE
caught "a thread-local variable" "thread-local" -fno-stack-protector <<'SOURCE'
static __thread int counter;
int pp_bad(void) { return ++counter; }
SOURCE
caught "a stack protector" "calls __stack_chk_fail" -fstack-protector-all <<'SOURCE'
int pp_bad(int i) { volatile char buffer[64]; buffer[i] = 1; return buffer[0]; }
SOURCE
caught "a function of preload/ that is not in capture/" "calls pp_flush_now" -fno-stack-protector <<'SOURCE'
void pp_flush_now(void);
void pp_bad(void) { pp_flush_now(); }
SOURCE

caught "a call through a pointer" "calls through a pointer in <pp_bad>" -fno-stack-protector <<'SOURCE'
int pp_bad(int (*call)(void)) { return call() + 1; }
SOURCE
caught "a call through a pointer in a variable" "calls through a pointer in <pp_bad>" -fno-stack-protector <<'SOURCE'
static int (*call)(void);
void pp_set(int (*new)(void)) { call = new; }
int pp_bad(void) { return call() + 1; }
SOURCE
caught "a jump to a pointer" "calls through a pointer in <pp_bad>" -fno-stack-protector <<'SOURCE'
struct calls { long other; int (*call)(void); };
int pp_bad(const struct calls *calls) { return calls->call(); }
SOURCE

objects=()
for source in preload/{frameworks,capture,context,handler}/*.c preload/base/memory_file.c; do
    objects+=("$BUILD/obj/${source%.c}.o")
done
if [ ! -e "${objects[0]}" ]; then
    not_ok "no objects in $BUILD/obj/preload/capture"
else
    found=$(violations "${objects[@]}")
    if [ -z "$found" ]; then
        ok "${#objects[@]} objects of preload/frameworks, capture, context and handler use nothing but ${libc_allowed[*]} ${project_allowed[*]}"
    else
        echo "$found"
        not_ok "the handler calls what a signal handler may not"
    fi
fi
exit $status
