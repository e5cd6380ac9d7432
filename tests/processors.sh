#!/bin/bash
# What differs between processors is in preload/arch only: refuses registers, instructions, relocations, page sizes and system
# calls that newer processors lack in all other files of preload/, tools/ and contrib/. Speaks TAP. What this does not know,
# tests/aarch64.sh and `make compile-aarch64` find.
set -u
cd "$(dirname "$0")/.." || exit 1

old_calls='open|creat|stat|lstat|access|readlink|unlink|link|symlink|rename|mkdir|rmdir|mknod|chmod|chown|lchown|utime|utimes'
old_calls+='|poll|select|epoll_create|epoll_wait|eventfd|signalfd|inotify_init|pipe|dup2|fork|vfork|getdents|getpgrp|alarm|pause'
old_calls+='|time|arch_prctl'
everywhere="\b(gregs|greg_t|REG_R[A-Z0-9]+|REG_EFL|uc_mcontext)\b"
everywhere+="|\br(ax|bx|cx|dx|si|di|bp|sp|ip)\b"
everywhere+="|\b(__asm__|asm)\b[^\"]*\((\$|\"[^.\"]|\"\.[^s])|__builtin_ia32_|immintrin"
everywhere+="|\bR_X86_64_|__x86_64__"
everywhere+="|\bSYS_($old_calls)\b"
# A number in a #define is a size of something else, unless its name says page.
in_library="^[^#]*\b(4096|4095|0xfff)(u|ul)?\b|#define +\w*PAGE\w* .*(\b4096|\b12\b)"
in_library+="|_SC_PAGE|getpagesize|AT_PAGESZ|\bEM_X86_64\b|GLIBC_2\.2\.5"

# refused DIRECTORY: the lines that are.
refused() {
    find "$1/preload" "$1/tools" "$1/contrib" -name '*.[ch]' -not -path '*/preload/arch/*' -print0 |
        xargs -0 grep -nHE "$everywhere" --
    find "$1/preload" -name '*.[ch]' -not -path '*/preload/arch/*' -print0 | xargs -0 grep -nHE "$in_library" --
}

# A line for each rule, and lines that are none of them.
self_test() {
    local directory bad good status=0
    directory=$(mktemp -d)
    mkdir -p "$directory"/{preload/arch,tools,contrib}
    bad=('pc = context->uc_mcontext.x;' 'r = c.gregs[0];' '/* at rsp + 8 */' '__asm__("ret");' '__asm__ volatile("syscall");'
        'x = __builtin_ia32_rdtsc();' 'case R_X86_64_64:' 'pp_syscall4(SYS_stat, (long)"/", 0, 0, 0);' 'SYS_poll, SYS_read,'
        'size = (size + 4095) & ~(size_t)4095;' '#define PAGE ((uintptr_t)4096)' '#define COPY_PAGE   4096u' 'n = sysconf(_SC_PAGESIZE);')
    good=('__asm__ volatile("" : : "i"(1));' '#define MAX_PATH 4096' 'pp_syscall4(SYS_newfstatat, 0, 0, 0, 0);' '__asm__(".symver dlsym, dlsym@" VERSION);'
        'struct pollfd poll;' 'SYS_ppoll, SYS_openat, SYS_unlinkat,' 'int description, grip;')
    printf '%s\n' "${bad[@]}" >"$directory/preload/bad.c"
    printf '%s\n' "${good[@]}" >"$directory/preload/good.h"
    printf '%s\n' "${bad[@]}" >"$directory/preload/arch/processor.h"
    [ "$(refused "$directory" | sort -u | grep -c 'bad\.c')" -eq "${#bad[@]}" ] || status=1
    [ "$(refused "$directory" | grep -vc 'bad\.c')" -eq 0 ] || status=1
    rm -r "$directory"
    return "$status"
}

status=0
result() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        status=1
    fi
}

found=$(refused .)
[ -z "$found" ] || printf '%s\n' "$found"
result "$([ -z "$found" ]; echo $?)" "no file outside preload/arch knows a processor"
self_test
result $? "self-test: finds what is a processor's, and nothing else"
exit $status
