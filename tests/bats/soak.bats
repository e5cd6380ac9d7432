# What weeks of a program that makes always other functions, threads and loaded libraries do to the memory of the profiler.
load lib/helper

# most_mapped STEPS: MB of the library's own data, at most.
most_mapped() {
    rm -rf pyprof.out
    PYPROF_HZ=1000 PYPROF_MAX_DISK=8M profiled "$PYTHON" "$WORKLOADS/soak.py" "$PWD/libplug.so" "$1" 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    adds_up
    reader field info.json most_mapped_bytes
}

# soak STEPS: with twice as many there is no more memory to it.
soak() {
    gcc -O1 -g -shared -fPIC -DSIZE=4001 -o libplug.so "$WORKLOADS/lib/plug.c"
    once=$(most_mapped "$1")
    twice=$(most_mapped $((2 * $1)))
    echo "$once bytes after $1 steps, $twice after twice as many; $(reader field info.json cpu_ns) ns"
    # 4 MB: buffers of threads that happen to be sampled at the same time
    between 1000000 "$twice" $((once + once / 4 + 4000000)) "bytes with twice as many steps"
    # segment tables 48 MiB, code objects twice 32, names of a JIT 32, modules and rings
    between 1000000 "$twice" 200000000 "bytes"
    between 0 "$(du -sb pyprof.out | cut -f1)" 10000000 "bytes on the disk"
    ! grep -q '"lost: no memory' info.json || fail "$(grep '"lost: ' info.json)"
}

@test "always other functions, threads and libraries: twice as many take no more memory" {
    soak 15
}

# bats test_tags=long
@test "the same for minutes" {
    soak 1500
}
