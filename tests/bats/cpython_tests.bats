# CPython's own tests come out under the library as they do without it: tests/cpython/compare.py.
load lib/helper

# What a program could most likely see of us, as classes of those tests.
PART='test_fork1\.ForkTest\.test_nested|test_signal\.(PosixTests|PendingSignalsTests\.test_(sigpending|sigwait_thread|pthread_sigmask)|RaiseSignalTest|WakeupFDTests|ItimerTest\.test_itimer_(prof|exc))|test_posix\.(TestPosixSpawn\.|PosixTester)|test_os\.(ForkTests|ExecTests|EnvironTests|FDInheritanceTests|PosixUidGidTests)|test_faulthandler\..*(threads|register|stack_overflow)|test_threading\.(ThreadJoinOnShutdown|InterruptMainTests|AtexitTests)|test_subprocess\.POSIXProcessTestCase\..*(close_fds|restore_signals|preexec|vfork|session|undecodable_env)'
MODULES=(test_fork1 test_signal test_gc test_generators test_coroutines test_posix test_os test_faulthandler test_threading
    test_subprocess test_eintr test_asyncio test_multiprocessing_fork test_concurrent_futures)

# pythons_with_tests MINOR...: as with_pythons takes them. Distributions leave the tests out.
pythons_with_tests() {
    local path number build
    list_pythons | while read -r path number build; do
        if [[ " $* " == *" ${number%.*} "* ]] && "$path" -c 'import test.fork_wait' 2>/dev/null; then
            echo "$path $number $build"
        fi
    done
}

# compare OPTIONS... MODULE...
compare() {
    local status=0
    /usr/bin/python3 "$ROOT/tests/cpython/compare.py" --library "$LIBPYPROF" --python "$PYTHON" "$@" 3>&- >outcomes.txt || status=$?
    cat outcomes.txt
    grep '^# by chance' outcomes.txt >>"$BATS_FILE_TMPDIR/chance" || true
    return "$status"
}

# What comes out by chance was tried again, both ways.
teardown_file() {
    [ ! -s "$BATS_FILE_TMPDIR/chance" ] || cat "$BATS_FILE_TMPDIR/chance" >&3
}

@test "those that look at signals, fork, spawn, threads and tracebacks come out as without the library" {
    pythons=$(pythons_with_tests 3.13)
    with_pythons "$pythons" compare --timeout 120 --match "$PART" test_fork1 test_signal test_posix test_os test_faulthandler test_threading test_subprocess
}

# bats test_tags=long
@test "fourteen modules, each test comes out as without the library" {
    pythons=$(pythons_with_tests 3.8 3.10 3.12 3.13)
    with_pythons "$pythons" compare --known-are-needed "${MODULES[@]}"
}
