# How right the figures are: every function of a program that knows what it burned.
load helper

mixed_program() {
    profiled "$PYTHON" "$WORKLOADS/mixed.py" truth.json
    collapsed >stacks.txt
    info >info.json
    reader mixed truth.json stacks.txt info.json
    reader accounting info.json
}

@test "mixed program: each function within 5 % of its thread clock, total within 1 %" {
    with_each_python mixed_program
}

counts_as_samples() {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    "$PYPROF" export pyprof.out --format collapsed --unit samples >samples.txt
    info >info.json
    reader near "$(awk '{ n += $NF } END { print n }' samples.txt)" "$(reader field info.json samples)" 10 "samples"
}

@test "--unit samples counts samples" {
    with_some_pythons counts_as_samples
}

another_rate() {
    PYPROF_HZ=250 profiled "$PYTHON" "$WORKLOADS/timers.py" 2 >intervals.txt
    [ "$(wc -l <intervals.txt)" -eq 1 ] || fail "not one timer: $(cat intervals.txt)"
    # Spread by 5 %, so that threads do not go in step.
    between 3790 "$(cat intervals.txt)" 4210 "µs between two samples at 250 Hz"
    collapsed >stacks.txt
    info >info.json
    # One sample each 4 ms of CPU at most. How many ticks the program meets is the machine's affair: 80 beside eight busy
    # programs on two CPUs.
    between 20 "$(reader field info.json samples)" 550 "samples of 2 s at 250 Hz"
    cpu_near "$(reader inclusive stacks.txt spin)" 2000000000 5 "spin at 250 Hz"
    reader accounting info.json
}

@test "PYPROF_HZ changes the rate and not the seconds" {
    with_some_pythons another_rate
}

native_threads() {
    gcc -O1 -g -shared -fPIC -o native_threads.so "$WORKLOADS/lib/native_threads.c" -lpthread
    profiled "$PYTHON" -c 'import ctypes
library = ctypes.CDLL("./native_threads.so")
library.run_native_threads.restype = ctypes.c_uint64
print(library.run_native_threads())' >truth.txt
    [ "$(cat truth.txt)" -gt 0 ] || fail "a thread did not end as it should"
    collapsed >stacks.txt
    seen=$(grep -F 'burn_native (native_threads.so)' stacks.txt | awk '{ n += $NF } END { print n }')
    cpu_near "$seen" "$(cat truth.txt)" 6 "native threads: returned, left, cancelled, detached, deaf to signals"
    info >info.json
    reader accounting info.json
}

@test "native threads, however they end and whatever they block, are sampled" {
    with_some_pythons native_threads
}
