# Threads have the names that Python has for them, and a sample is never told under another thread's name.
load lib/helper

# names_of_threads: of the last profile, those with a tenth of a second and more, as JSON.
names_of_threads() {
    "$PYPROF" report --json | judge '
threads = json.load(sys.stdin)["threads"]
print(json.dumps(sorted({thread["name"] for thread in threads if thread["shown_ns"] >= 1e8 and thread["tid"]})))'
}

every_kind() {
    profiled "$PYTHON" "$WORKLOADS/thread_names.py" kinds 0.25 >python.json
    names_of_threads >found.json
    # A name in the log has 127 bytes at most.
    judge 'found = json.load(open("found.json"))
long = [name for name in found if name.startswith("xxx")]
assert len(long) == 1 and long[0] == "x" * (len(long[0]) - 1) + "…" and 100 < len(long[0].encode()) < 128, long
wanted = ["x" * 300 if name in long else name for name in found]
assert wanted == json.load(open("python.json")), found'
    "$PYPROF" report --json --thread 'latin é' >selected.json
    "$PYPROF" report --json --thread MainThread >main.json
    judge 'for file, name in ("selected.json", "latin é"), ("main.json", "MainThread"):
    threads = json.load(open(file))["threads"]
    assert [thread["name"] for thread in threads] == [name], threads'
    collapsed --threads >stacks.txt
    grep -q '^thread worker_0 ([0-9]*);.*;spin (' stacks.txt
    # The functions of the threads that are named here run under no other name.
    ! grep ';target (' stacks.txt | grep -v '^thread Thread-[0-9]' || fail "under another name"
    ! grep ';without_gil (' stacks.txt | grep -v '^thread without GIL '
}

@test "names of all kinds are those that Python has" {
    with_each_python every_kind
}

# never_anothers KIND SECONDS [HELD]: each function runs in the thread with its name. Stacks that were not read may have
# the name of the process's threads. HELD: only samples with the GIL, as a thread without it has the name of before.
never_anothers() {
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" "$WORKLOADS/thread_names.py" "$1" "$2"
    collapsed --threads --gil --unit samples | grep -F "${3:-only_}" >stacks.txt
    awk '
        match($0, /;only_[0-9]+ \(/) {
            ran = substr($0, RSTART + 1, RLENGTH - 3)
            name = $2
            all += $NF
            if (name == ran) right += $NF
            else { print "in " name ": " ran; if (name ~ /^only_/) wrong += $NF }
        }
        END {
            print right + 0, "right,", wrong + 0, "wrong, of", all + 0
            if (wrong || right < 20 || right < all * 0.97 - 2) exit 1
        }' stacks.txt
}

@test "threads of a few milliseconds have their own names" {
    with_each_python never_anothers short 2
}

@test "a sample with the GIL, of a thread that changes its name, has the name of that moment" {
    with_each_python never_anothers renamed 2 ';GIL held;'
}

@test "green threads have the names of their own threads" {
    if ! "$PYTHON" -c 'import gevent' 2>/dev/null; then
        with_packages gevent
        PYTHON=$VENV/bin/python
    fi
    never_anothers green 2
}

# Its threading module calls whichever thread imports it MainThread.
in_a_subinterpreter() {
    profiled "$PYTHON" -c '
import threading, _xxsubinterpreters as interpreters
def work():
    own = interpreters.create()
    interpreters.run_string(own, """if True:
        import threading, time
        end = time.thread_time() + 0.6
        while time.thread_time() < end: sum(range(300))""")
    interpreters.destroy(own)
thread = threading.Thread(target=work, name="Worker")
thread.start()
thread.join()'
    "$PYPROF" report --json | judge '
for thread in json.load(sys.stdin)["threads"]:
    assert thread["name"] != "MainThread" or thread["shown_ns"] < 3e8, thread'
}

@test "a thread that runs a subinterpreter is not called the main thread" {
    with_pythons "$(list_pythons | grep ' 3\.\(8\|12\)\.')" in_a_subinterpreter
}
