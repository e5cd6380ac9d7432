# Whole stacks, frame by frame, of threads that stand still: Python frames with their lines as faulthandler prints them, native
# frames with their addresses as libunwind finds them from another process.
load helper

frozen() {
    PYPROF_SIGNAL=34 profiled "$PYTHON" "$WORKLOADS/frozen.py" python.txt "$BUILD/oracles/native_stack" native.txt
    "$PYPROF" export --lines --threads --format perf -o p.perf
    "$PYTHON" "$ROOT/tests/bats/read_frozen.py" p.perf python.txt native.txt
}

@test "17 ways from C to Python: each frame is that of libunwind and faulthandler" {
    if [ "$(id -u)" -ne 0 ] && [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" -ne 0 ]; then
        skip "a child may not trace its parent here"
    fi
    with_each_python frozen
}
