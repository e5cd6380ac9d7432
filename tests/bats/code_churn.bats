# Code objects that are made and freed all the time: no sample may show the name, file or line of another function.
load lib/helper

READ_CHURN="$(command -v /usr/bin/python3 || command -v python3) $ROOT/tests/bats/lib/check_churn.py"

# churned CPU_SECONDS STACKS: in so many different stacks of generated code there is none that cannot be; in four runs at most,
# of which each gives some: beside other programs 2 s of CPU give 30 samples instead of 500.
churned() {
    local runs=0
    until [ -e stacks.txt ] && [ "$(wc -l <stacks.txt)" -ge $((2 * $2)) ]; do
        [ $((++runs)) -le 4 ] || break
        PYPROF_HZ=1000 TIMEOUT=900 profiled "$PYTHON" "$WORKLOADS/code_churn.py" "$1" >profiled.json
        collapsed --all >stacks.txt
        collapsed --all --lines >lines.txt
    done
    $READ_CHURN stacks stacks.txt lines.txt $(($2 / 10))
}

@test "code objects freed and reused: names, files and lines of callers and callees fit" {
    with_each_python churned 1.5 120
}

for_long() {
    churned 60 5000
    "$PYTHON" "$WORKLOADS/code_churn.py" 60 >plain.json
    $READ_CHURN memory profiled.json plain.json
    # Nothing is lost for want of memory either.
    info >info.json
    ! grep -q '"lost: ' info.json || fail "$(grep '"lost: ' info.json)"
}

# bats test_tags=long
@test "the same for 60 s of CPU: the memory stays flat" {
    with_each_python for_long
}

followers() {
    cat >app.py <<'END'
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SOURCE = """
import time
def work_KIND():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
work_KIND()
"""
for kind in 8 * ["first"] + 56 * ["later"]:
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, SOURCE.replace("KIND", kind))
    interpreters.destroy(interpreter)
END
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" app.py
    collapsed >stacks.txt
    # Seven times as much; where few ticks are met, half of that is what chance may make of it.
    awk '/work_first/ { first += $NF } /work_later/ { later += $NF }
        END { print first / 1e6, later / 1e6; exit !first || later < 2 * first }' stacks.txt
}

@test "interpreters that follow each other have equal code objects: none shows the functions of another" {
    with_each_python followers
}
