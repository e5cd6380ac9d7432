# Go in the same process: its runtime takes signals over, and its stacks of a few KiB are not made for handlers.
load lib/helper

setup_file() {
    # In a directory without a module of its own: GOPATH mode needs none, and nothing from the network.
    (cd "$BATS_FILE_TMPDIR" && cp "$WORKLOADS/lib/go_library.go" . &&
        GO111MODULE=off GOTOOLCHAIN=local GOFLAGS='' go build -buildmode=c-shared -o libgo.so go_library.go)
    cat >"$BATS_FILE_TMPDIR/in_go.py" <<'END'
import ctypes, sys, threading, time
go = ctypes.CDLL(sys.argv[1])
if len(sys.argv) > 3:
    getattr(go, sys.argv[3])(500)
def here(ms): go.go_here(ms)
def routines(ms): go.go_routines(ms)
def python(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end: sum(range(1000))
ms = int(float(sys.argv[2]) * 1000)
threads = [threading.Thread(target=f, args=(ms,)) for f in (here, routines, python)]
for thread in threads: thread.start()
for thread in threads: thread.join()
here(ms)
print("done")
END
}

# goes [GO_FUNCTION]: for $SECONDS_EACH, with $PRELOAD preloaded.
goes() {
    PYPROF_HZ=1000 GODEBUG=${GODEBUG:-} "${PRELOAD[@]}" "$PYTHON" "$BATS_FILE_TMPDIR/in_go.py" "$BATS_FILE_TMPDIR/libgo.so" \
        "$SECONDS_EACH" "$@" >out.txt 2>&1 || fail "status $?: $(head -n 30 out.txt)"
    [ "$(cat out.txt)" = "done" ] || fail "it says: $(head -n 30 out.txt)"
    adds_up
    collapsed >stacks.txt
    grep -qE 'main\.deep \(libgo\.so\) [0-9]+$' stacks.txt || fail "Go's functions are not there: $(head -n 5 stacks.txt)"
    reader stacks stacks.txt 'here \(.*in_go\.py:\d+\)' 'main\.deep \(libgo\.so\)'
}

loaded() {
    PRELOAD=(profiled)
    goes
    goes go_profiles
}

@test "a library in Go that Python loads: its goroutines live on, are sampled, and Go's own profiler works beside us" {
    SECONDS_EACH=0.4 with_a_python loaded
}

# before and after us, and so in the process before Python is
preloaded() {
    PRELOAD=(profiled LD_PRELOAD="$BATS_FILE_TMPDIR/libgo.so:$LIBPYPROF")
    goes
    PRELOAD=(profiled LD_PRELOAD="$LIBPYPROF:$BATS_FILE_TMPDIR/libgo.so")
    goes go_profiles
}

@test "a library in Go that is preloaded before us, and after us" {
    SECONDS_EACH=0.4 with_a_python preloaded
}

# What the program prints and how it ends, less addresses and numbers of goroutines.
@test "a panic in Go ends the process as it does without us" {
    local function status plain
    for function in go_panics go_reads_nil; do
        plain=0
        "$PYTHON" "$BATS_FILE_TMPDIR/in_go.py" "$BATS_FILE_TMPDIR/libgo.so" 0 $function >plain.txt 2>&1 || plain=$?
        status=0
        LD_PRELOAD=$LIBPYPROF "$PYTHON" "$BATS_FILE_TMPDIR/in_go.py" "$BATS_FILE_TMPDIR/libgo.so" 0 $function >with.txt 2>&1 || status=$?
        [ "$status" -eq "$plain" ] || fail "$function: status $status, without us $plain: $(head -n 20 with.txt)"
        diff <(grep -vE '0x|^$|goroutine' plain.txt) <(grep -vE '0x|^$|goroutine' with.txt) || fail "$function: another message"
    done
}

for_long() {
    loaded
    rm -rf pyprof.out
    preloaded
    rm -rf pyprof.out
    PRELOAD=(profiled)
    GODEBUG=asyncpreemptoff=1,madvdontneed=1 GOGC=5 goes go_profiles
}

# bats test_tags=long
@test "Go for long: loaded, preloaded, with its profiler, its collector all the time" {
    SECONDS_EACH=4 with_each_python for_long
}
