# Whole stacks, frame by frame, of threads that stand still: Python frames with their lines as faulthandler prints them, native
# frames with their addresses as libunwind finds them from another process.
load helper

frozen() {
    PYPROF_SIGNAL=34 profiled "$PYTHON" "$WORKLOADS/frozen.py" python.txt "$BUILD/oracles/native_stack" native.txt
    "$PYPROF" export --lines --threads --format perf -o p.perf
    "$PYTHON" "$ROOT/tests/bats/read_frozen.py" p.perf python.txt native.txt
}

@test "17 ways from C to Python: each frame is that of libunwind and faulthandler" {
    needs_ptrace
    with_each_python frozen
}
