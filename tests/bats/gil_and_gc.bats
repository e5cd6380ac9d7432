# Who held the GIL, and what was garbage collection: shares of the CPU time of programs that do one thing only.
load lib/helper

# run_state NAME FUNCTION: profiles states.py NAME; info.json, and stacks.txt with the GIL as the first frame.
run_state() {
    until_sampled "$2" profiled "$PYTHON" "$WORKLOADS/states.py" "$1"
    info >info.json
    collapsed --gil >stacks.txt
}

# percent PART WHOLE: of two fields of info.json.
percent() {
    echo $((100 * $(reader field info.json "$1") / $(reader field info.json "$2")))
}

# A free-threaded interpreter has no GIL to hold.
has_gil() {
    "$PYTHON" -c 'import sys; sys.exit(not getattr(sys, "_is_gil_enabled", lambda: True)())'
}

gil() {
    run_state hold spin
    between $((95 - $(few 2))) "$(percent gil_known_ns sampled_ns)" 100 "percent of the CPU whose GIL state is known"
    between $((95 - $(few 2))) "$(percent gil_ns gil_known_ns)" 100 "GIL held by pure Python"
    between 0 "$(percent gc_ns gc_known_ns)" $((5 + $(few 2))) "percent in garbage collection of a program that makes none"
    "$PYPROF" report --full >report.txt
    grep -qE '^GIL held [0-9]+\.[0-9] % of the CPU time' report.txt || fail "$(head -n 4 report.txt)"
    run_state release digest
    # What is held is the start of the interpreter.
    between 0 "$(percent gil_ns gil_known_ns)" $((20 + $(few 3))) "GIL held by a program that hashes"
    between 0 "$(reader share stacks.txt 'GIL held' 'digest \(.*' '.*libcrypto.*')" $((1 + $(few 1))) "percent in libcrypto with the GIL"
    run_state both digest
    # One thread holds it, the other one does not: of the half of the CPU that each of them has.
    held=$(reader share stacks.txt 'GIL held' 'spin \(.*')
    all=$(reader share stacks.txt 'spin \(.*')
    between $((all * 9 / 10 - $(few 2))) "$held" "$all" "percent of the CPU in spin with the GIL, of $all in spin"
    held=$(reader share stacks.txt 'GIL held' 'digest \(.*')
    between 0 "$held" $((5 + $(few 2))) "percent of the CPU in digest with the GIL"
}

no_gil() {
    run_state hold spin
    "$PYPROF" report --full >report.txt
    ! grep -q 'GIL' report.txt || fail "there is no GIL: $(grep GIL report.txt)"
    grep -q '"gil_ns": null' info.json || fail "gil_ns is not null: $(grep gil info.json)"
    # No share of what is unknown.
    reader share stacks.txt 'GIL unknown' 'spin \(.*' >share.txt
    between $((80 - $(few 2))) "$(cat share.txt)" 100 "percent in spin, GIL unknown"
}

gil_state() {
    if has_gil; then gil; else no_gil; fi
}

@test "GIL: held by Python code, not by hashlib, told apart by thread; nothing said where there is none" {
    with_each_python gil_state
}

garbage() {
    run_state collect collect
    "$PYPROF" report --full >report.txt
    if ! has_gil && grep -q '"gc_ns": null' info.json; then
        ! grep -q 'arbage' report.txt || fail "a share of what is not known: $(grep arbage report.txt)"
        ! grep -q '\[gc\]' stacks.txt || fail "[gc] where it is not known: $(grep -m 3 gc stacks.txt)"
        return
    fi
    between $((90 - $(few 2))) "$(percent gc_known_ns sampled_ns)" 100 "percent of the CPU whose GC state is known"
    between $((80 - $(few 2))) "$(percent gc_ns gc_known_ns)" 100 "percent in garbage collection"
    # [gc] is what collect() calls.
    between $((80 - $(few 2))) "$(reader share stacks.txt 'collect \(.*states\.py:[0-9]+\)' '\[gc\]')" 100 "percent in [gc] below collect()"
    grep -qE ';collect \([^;]*states\.py:[0-9]+\);\[gc\]' stacks.txt || fail "no [gc] right above collect(): $(tail -n 3 stacks.txt)"
    grep -qE 'arbage collection [0-9.]+ %' report.txt || fail "$(head -n 4 report.txt)"
    grep -qE ' \[gc\]$' report.txt || fail "no [gc] in: $(cat report.txt)"
}

@test "garbage collection: gc.collect() in a loop, [gc] below the function that calls it; nothing said where it is not known" {
    with_each_python garbage
}
