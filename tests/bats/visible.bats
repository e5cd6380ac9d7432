# What a program can see of us, and what the kernel refuses to a process with threads.
load helper
bats_require_minimum_version 1.5.0

# Numbers of timer_create and its kin, process_vm_readv, getrusage; of pidfd_open, close_range and pidfd_getfd, and of none,
# which end nothing; and uses of openat and prctl.
FORBIDDEN="222,223,224,226 310 98 434,436,438 999 writing naming"

is_harmless() {
    case $numbers in 999 | 434,*) ;; *) false ;; esac
}

filtered() {
    [ -e "$BUILD/workloads/sandbox" ] || make -C "$ROOT" -s BUILD="$BUILD" helpers
    gcc -O1 -shared -fPIC -o sandbox.so "$WORKLOADS/sandbox.c"
    how=0
    ulimit -Sc "$(ulimit -Hc)" # a core file would be seen
    for numbers in $FORBIDDEN; do
        # Since 3.14 Python names its threads itself.
        case "$numbers $VERSION" in "naming 3.1"[4-9].*) continue ;; esac
        rm -rf pyprof.out
        # The program itself needs none of them.
        timeout 60 "$PYTHON" -W ignore "$WORKLOADS/sandboxed.py" ./sandbox.so "$numbers" $how >plain.txt || fail "$numbers: $? without us"
        PYPROF_HZ=1000 profiled "$PYTHON" -W ignore "$WORKLOADS/sandboxed.py" ./sandbox.so "$numbers" $how >with.txt 2>with.err ||
            fail "a filter in the program kills it for $numbers: $?"
        diff plain.txt with.txt
        collapsed >stacks.txt
        info >info.json
        reader accounting info.json
        [ "$(reader inclusive stacks.txt before_filter)" -gt 0 ] || fail "$numbers: nothing before the filter"
        if is_harmless; then
            [ ! -s with.err ] || fail "$(cat with.err)"
            [ "$(reader inclusive stacks.txt behind_filter)" -gt 0 ] || fail "nothing behind a filter that does no harm"
            [ "$(log_files | wc -l)" -eq 2 ] || fail "the child is not profiled: $(log_files)"
        else
            lines_of with.err 1 'seccomp filter that would kill it'
        fi
        # One that was there before the program.
        rm -rf pyprof.out
        profiled "$BUILD/workloads/sandbox" "$numbers" "$PYTHON" -c 'sum(range(10000000))' 2>with.err ||
            fail "a filter before the program kills it for $numbers: $?"
        is_harmless || lines_of with.err 1 'seccomp filter would kill this process'
        how=$(((how + 1) % 3))
    done
}

@test "a seccomp filter that kills for what we do, in the program or before it: profiling ends, the program lives" {
    with_some_pythons filtered
}

burns='import time
end = time.thread_time() + 1.5
while time.thread_time() < end: pass
print("end", flush=True)'

said_at_the_end() {
    gcc -O1 -shared -fPIC -o sandbox.so "$WORKLOADS/sandbox.c"
    PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$PYTHON" -c 'import ctypes, time
print(ctypes.CDLL("./sandbox.so").sandbox_here(b"999", 2))
end = time.thread_time() + 1.5
while time.thread_time() < end: pass
print("end")' >with.txt 2>&1
    lines_of with.txt 3 'cannot write profile'
    [ "$(head -n 1 with.txt)" = 0 ] || fail "no filter: $(cat with.txt)"
    # Docker's filter lets it reach a pipe at once, a file in the program's own place only at the end.
    rm -f file.txt
    PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$BUILD/workloads/filtered" docker "$PYTHON" -c "$burns" 2>&1 | cat >with.txt
    [ "$(grep -n 'cannot write profile' with.txt | cut -d: -f1) $(wc -l <with.txt)" = "1 2" ] || fail "a pipe: $(cat with.txt)"
    PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$BUILD/workloads/filtered" docker "$PYTHON" -c "$burns" >with.txt 2>&1
    [ "$(grep -n 'cannot write profile' with.txt | cut -d: -f1) $(wc -l <with.txt)" = "2 2" ] || fail "a file: $(cat with.txt)"
    # It does not wait for somebody to read it.
    TIMEOUT=60 PYPROF_OUT=/dev/null/out TMPDIR=/dev/null profiled "$PYTHON" "$WORKLOADS/full_stderr.py" ./sandbox.so
}

@test "what the flush thread cannot say behind a filter is said at the end" {
    with_some_pythons said_at_the_end
}

no_child() {
    gcc -O1 -shared -fPIC -o sandbox.so "$WORKLOADS/sandbox.c"
    chmod 755 .
    # root may have as many processes as it wants.
    cat >crowded.py <<'END'
import ctypes, os, resource, sys
library = ctypes.CDLL("./sandbox.so")
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
print(library.sandbox_here(b"999", 0), sum(range(3000000)))
END
    "$PYTHON" crowded.py >plain.txt
    profiled "$PYTHON" crowded.py >with.txt 2>with.err || fail "status $?: $(cat with.err)"
    diff plain.txt with.txt
    # The profile is root's.
    grep -v 'cannot write profile' with.err >seccomp.err
    lines_of seccomp.err 1 'seccomp filter, and no child can be made to try'
}

@test "a seccomp filter, and no child may be made to try what it does: profiling ends and says why" {
    with_some_pythons no_child
}

@test "each system call of ours is among those that are tried under a filter" {
    # Those of own_descriptors.c are made where there is no filter.
    grep -rhoE 'SYS_[a-z0-9_]+' "$ROOT/preload" --include='*.[ch]' --exclude=sandbox.c --exclude=own_descriptors.c |
        sort -u >used.txt
    # Whoever ends may end.
    missing=$(grep -vxF SYS_exit_group used.txt | grep -vxF -f <(grep -oE 'SYS_[a-z0-9_]+' "$ROOT/preload/sandbox.c") || true)
    [ -z "$missing" ] || fail "not in sandbox.c: $missing"
}

# descriptors_of COMMAND_LINE_OF_OWN_DESCRIPTORS [FILTER...]
descriptors_of() {
    local what
    read -ra what <<<"$1"
    shift
    rm -rf pyprof.out
    # shellcheck disable=SC2086
    profiled "$@" "$PYTHON" "$WORKLOADS/own_descriptors.py" "${what[@]}" >with.txt 2>with.err <&-
    [ ! -s with.err ] || fail "$(cat with.err)"
    grep -qxF '0 is closed' with.txt || fail "$(cat with.txt)"
    # One file, none that was begun for nothing.
    [ "$(log_files | wc -l)" -eq 1 ] || fail "$(log_files)"
    info >info.json
    reader accounting info.json
}

numbers_are_its_own() {
    descriptors_of "numbers none_left"
    grep -qxF '0 others' with.txt || fail "descriptors of ours: $(cat with.txt)"
    collapsed >stacks.txt
    [ "$(reader inclusive stacks.txt with_none_left)" -gt 2000000000 ] || fail "what burned with no descriptor left is not there"
    # Docker's filter refuses a part of it, and kills for nothing.
    rm -rf pyprof.out
    profiled "$BUILD/workloads/filtered" docker "$PYTHON" "$WORKLOADS/own_descriptors.py" young numbers >with.txt
    [ "$(grep -cxF '0 others' with.txt)" -eq 2 ] || fail "descriptors of ours: $(cat with.txt)"
    # Under one that kills ours are the program's for moments, but none stays; and none is there in the first second.
    descriptors_of "" "$BUILD/workloads/sandbox" 434,436,438
    profiled "$BUILD/workloads/sandbox" 434,436,438 "$PYTHON" "$WORKLOADS/own_descriptors.py" young >with.txt
    grep -qxF '0 others' with.txt || fail "descriptors of ours in the first second: $(cat with.txt)"
}

@test "no descriptor number is taken by us, none is needed of those that a limit allows" {
    read -r major minor _ <<<"$(uname -r | tr . ' ')"
    [ "$major" -gt 5 ] || [ "$major$minor" -ge 59 ] || skip "close_range is of Linux 5.9, here is $(uname -r)"
    [ -e "$BUILD/workloads/sandbox" ] || make -C "$ROOT" -s BUILD="$BUILD" helpers
    with_some_pythons numbers_are_its_own
}

same_to_the_kernel() {
    # Two of its children are meant to die.
    ulimit -Sc 0
    timeout 120 "$PYTHON" "$WORKLOADS/visible.py" >plain.txt
    PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/visible.py" >with.txt 2>with.err
    diff plain.txt with.txt
    # Its descriptors were used up, its user has changed.
    ! grep -v 'cannot write profile' with.err || fail "$(cat with.err)"
}

@test "fault handlers, descriptors, user and groups, namespaces, affinity, process flags, limits: as without us" {
    with_some_pythons same_to_the_kernel
}
