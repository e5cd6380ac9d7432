# Deep stacks: both ends are kept, and what is left out says so.
load helper

# deepest FRAME EXPECTED TEXT: in the heaviest stack FRAME stands EXPECTED times, after main and before leaf.
deepest() {
    collapsed >stacks.txt
    sort -t' ' -k1 stacks.txt | awk '{ print $NF, $0 }' | sort -rn | head -n 1 | cut -d' ' -f2- | tr ';' '\n' >frames.txt
    grep -q '^main ' frames.txt || fail "no main: $(grep -vE "$1" frames.txt)"
    grep -q '^leaf ' frames.txt || fail "no leaf: $(grep -vE "$1" frames.txt)"
    [ "$(grep -cE "$1" frames.txt)" -eq "$2" ] || fail "$3: $(grep -cE "$1" frames.txt) frames, expected $2"
}

both_ends() {
    profiled "$PYTHON" "$WORKLOADS/deep.py" python 300
    deepest '^by_python' 301 "300 calls"
    rm -rf pyprof.out
    profiled "$PYTHON" "$WORKLOADS/deep.py" c 150
    deepest '^by_(c|key)' 301 "150 calls through C"
    rm -rf pyprof.out
    profiled "$PYTHON" "$WORKLOADS/deep.py" python 3000
    collapsed >stacks.txt
    # of the CPU in leaf: calling 3,000 functions takes some of it too, on the way
    awk '
        /leaf/ { all += $NF }
        /main .*by_python.*\[python stack too deep: more than [0-9]+ frames left out here\].*by_python.*leaf/ { cut += $NF }
        END { if (!all || cut < 0.9 * all) { print cut + 0 " of " all " ns in leaf"; exit 1 } }' stacks.txt
    [ "$(reader field <(info) samples)" -gt 3 ]
}

@test "of a deep stack both ends are there, and the middle says how much is left out" {
    with_each_python both_ends
}
