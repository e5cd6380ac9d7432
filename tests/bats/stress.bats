# Everything at once at the highest rate (see stress.py), with AddressSanitizer and UBSan in the flush code.
load lib/helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    make -s -C "$ROOT" -j"$(nproc)" ASAN=1 CFLAGS="-O1 -g1" BUILD="$BUILD/asan" "$BUILD/asan/libpyprof.so" >make.log 2>&1 || {
        cat make.log
        return 1
    }
    make_churn
}

# stressed SECONDS: none of the processes dies, hangs or is reported by a sanitizer, and each one's sums close.
stressed() {
    local runtime status=0
    runtime=$(clang-19 -print-file-name=libclang_rt.asan-x86_64.so)
    rm -rf pyprof.out
    # Its own reports go to files: a child's stderr may be anywhere.
    ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8:exitcode=99:log_path=$PWD/report UBSAN_OPTIONS=print_stacktrace=1:log_path=$PWD/report \
        PYPROF_HZ=1000 TIMEOUT=$((${1%.*} + 600)) LIBPYPROF=$runtime:$BUILD/asan/libpyprof.so \
        profiled "$PYTHON" "$WORKLOADS/stress.py" "$1" "$BATS_FILE_TMPDIR/libnative_churn.so" "$BATS_FILE_TMPDIR/libplug" \
        >rounds.txt 2>stderr.txt || status=$?
    cat rounds.txt stderr.txt
    if compgen -G 'report*' >/dev/null; then
        head -n 100 report*
        echo "a sanitizer's report" >>"$BATS_TEST_TMPDIR/crashed"
        return 1
    fi
    [ "$status" -eq 0 ] || return "$status"
    [ ! -s stderr.txt ] || fail "something on stderr"
    [ "$(wc -l <rounds.txt)" -eq 12 ] || fail "not every kind of work was done"
    # Of the short children each on a full machine some leave more than the 0.1 % of reader accounting.
    info >info.json
    [ $((200 * $(reader field info.json difference_ns))) -le "$(reader field info.json cpu_ns)" ] ||
        fail "the difference is more than 0.5 %: $(reader field info.json difference_ns) of $(reader field info.json cpu_ns) ns"
}

@test "forks, programs, threads, modules, exceptions, garbage and signals at once: nothing dies, hangs or writes where it may not" {
    stressed 6
}

# Rounds of a minute, so that starting and ending are part of it too.
half_an_hour() {
    case $VERSION in 3.11.* | 3.13.*) ;; *) return 0 ;; esac
    local round
    for ((round = 0; round < 30; round++)); do
        stressed 60
    done
}

# bats test_tags=long
@test "the same for half an hour on 3.11 and 3.13" {
    with_each_python half_an_hour
}
