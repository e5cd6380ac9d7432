# What a program can see of us, and what the kernel refuses to a process with threads.
load helper
bats_require_minimum_version 1.5.0

# Numbers of timer_create and its kin, process_vm_readv, getrusage; of none; and uses of openat and prctl.
FORBIDDEN="222,223,224,226 310 98 999 writing naming"

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
        if [ "$numbers" = 999 ]; then
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
        [ "$numbers" = 999 ] || lines_of with.err 1 'seccomp filter would kill this process'
        how=$(((how + 1) % 3))
    done
}

@test "a seccomp filter that kills for what we do, in the program or before it: profiling ends, the program lives" {
    with_some_pythons filtered
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
    grep -rhoE 'SYS_[a-z0-9_]+' "$ROOT/preload" --include='*.[ch]' --exclude=sandbox.c | sort -u >used.txt
    # Whoever ends may end.
    missing=$(grep -vxF SYS_exit_group used.txt | grep -vxF -f <(grep -oE 'SYS_[a-z0-9_]+' "$ROOT/preload/sandbox.c") || true)
    [ -z "$missing" ] || fail "not in sandbox.c: $missing"
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
