# Python and native frames of one stack belong together: a workload in which C calls Python in every way at hand, and
# what the profile itself counts as not paired, torn or cut.
load lib/helper

# paired CPU_SECONDS SAMPLES: runs the workload until there are so many samples, three times at most: each time there are some.
# Fewer than 0.1 % may be unpaired (of less than 2,000 samples one may), 0.5 % incomplete in any way.
paired() {
    local samples=0 runs=0
    while [ "$samples" -lt "$2" ] && [ $((++runs)) -le 3 ]; do
        PYPROF_HZ=1000 TIMEOUT=900 profiled "$PYTHON" "$WORKLOADS/pairing.py" "$1" >kinds.json
        "$PYPROF" info --all --json >info.json
        samples=$(reader field info.json samples)
    done
    [ "$samples" -ge $(($2 / 20)) ] || fail "only $samples samples in three runs of $1 s"
    reader truncated info.json | tee truncated.txt
    unpaired=$(sed -n 's/^python and native stack do not pair: //p' truncated.txt)
    between 0 "${unpaired:-0}" $((samples < 2000 ? 1 : (samples - 1) / 1000)) "unpaired of $samples samples: $(cat truncated.txt)"
    "$PYPROF" export --all --format collapsed --native=all --unit samples >samples.txt
    cut=$(awk '/\[(native|python) stack/ { n += $NF } END { print n + 0 }' samples.txt)
    between 0 "$cut" $((samples / 200 + 1)) "incomplete of $samples samples: $(grep -E '\[(native|python) stack' samples.txt | head -n 5)"
    # It was not empty stacks that paired so well: most of the time is in Python below C below Python.
    "$PYPROF" export --all --format collapsed --native=all >stacks.txt
    nested=$(reader share stacks.txt 'main \(.*pairing\.py:[0-9]+\)' '[^.]*\((lib)?python3.*|.*\.so.*\)' '.*\(.*pairing\.py:[0-9]+\)')
    [ "$nested" -ge $((40 - $(few 3))) ] || fail "only $nested % of the CPU is in Python below C below main: $(head -n 5 stacks.txt)"
}

@test "hardly a sample is unpaired: callbacks, slots, re.sub, json, sorted, asyncio, generators, finalizers, ctypes, threads" {
    with_each_python paired 2 400
}

long_run() {
    # where there is no wheel, compiling it would take longer than all the rest
    if venv=$(PIP_ONLY_BINARY=numpy venv_with numpy); then
        PYTHON=$venv/bin/python
    fi
    paired 40 20000
    grep -q numpy_objects kinds.json || echo "without numpy"
}

# bats test_tags=long
@test "fewer than 0.1 % of 20,000 samples are unpaired" {
    with_each_python long_run
}
