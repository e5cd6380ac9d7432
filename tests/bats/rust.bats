# Rust in the same process: polars, a data frame library whose threads, allocator and unwinder are Rust's.
load lib/helper

@test "a library in Rust with threads of its own: same results, sums close, its threads' stacks are there" {
    cat >frames.py <<'END'
import sys, time
import polars
n = 300_000
frame = polars.DataFrame({"key": [i * 7919 % 1000 for i in range(n)], "value": [i * 31 % 977 for i in range(n)]})
def in_rust(seconds):
    end, result = time.process_time() + seconds, None
    while time.process_time() < end:
        result = frame.group_by("key").agg(polars.col("value").sum()).sort("key")["value"].to_list()
    return result
def panics():
    try:
        frame.select(polars.col("nothing"))
    except polars.exceptions.ColumnNotFoundError as error:
        return str(error).splitlines()[0]
print(sum(in_rust(float(sys.argv[1]))), panics())
END
    venv=$(venv_with polars) || fail "$venv"
    # As many threads on every machine.
    export POLARS_MAX_THREADS=4
    "$venv/bin/python" frames.py 0.1 >plain.txt 2>&1 || fail "without us: $(cat plain.txt)"
    PYPROF_HZ=1000 profiled "$venv/bin/python" frames.py 2 >with.txt 2>&1 || fail "status $?: $(cat with.txt)"
    diff plain.txt with.txt
    info >info.json
    # Its threads go on while the last account is made.
    difference=$(reader field info.json difference_ns)
    [ $((200 * ${difference#-})) -le "$(reader field info.json cpu_ns)" ] || fail "a difference of $difference ns: $(cat info.json)"
    collapsed >stacks.txt
    # The call in the main thread, and Rust's own threads, from their beginning on.
    reader stacks stacks.txt 'in_rust \(.*frames\.py:\d+\)' '.* \(.*polars.*\.so\)'
    reader stacks stacks.txt '.*thread_start \(.*polars.*\.so\)' '.*rayon_core.* \(.*polars.*\.so\)'
    share=$(reader share stacks.txt '.* \(.*polars.*\.so\)')
    between $((50 - $(few 2))) "$share" 100 "percent of the CPU in Rust"
}
