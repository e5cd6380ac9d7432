# Which greenlet a sample belongs to: greenlet, gevent, eventlet.
load lib/helper

# packages_for PACKAGE...: PYTHON is one that has them from here on.
packages_for() {
    venv=$(venv_with "$@") || fail "$venv"
    PYTHON=$venv/bin/python
}

# names KIND...: each sample has the name of its greenlet, and each name the CPU time of the greenlets that have it.
names() {
    PYTHONWARNINGS=ignore PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/greenlet_names.py" truth.json "$@"
    collapsed --by greenlet --unit samples >samples.txt
    collapsed --by greenlet >ns.txt
    info >info.json
    ${READ%% *} "$ROOT/tests/bats/lib/by_greenlet.py" truth.json info.json samples.txt ns.txt
}

all_kinds() {
    if [[ $PYTHON_BUILD == *free-threaded* ]]; then
        echo "gevent and eventlet are not made for the free-threaded 3.13"
        return
    fi
    packages_for gevent eventlet
    names plain eventlet gevent
}

@test "each sample has the name of its greenlet, each name its CPU time" {
    with_a_python all_kinds
}

# bats test_tags=long
@test "the same with each interpreter" {
    with_each_python all_kinds
}

# bats test_tags=long
@test "greenlet 0.4, 1.1 and 2.0" {
    use_python "$(list_pythons | grep ' 3\.8\.')"
    local version
    for version in 0.4.17 1.1.3 2.0.2; do
        mkdir "$version"
        (
            cd "$version"
            packages_for "greenlet==$version"
            names plain
        ) || fail "greenlet $version"
    done
}

@test "a task that runs a greenlet: the sample has both" {
    [[ $PYTHON_BUILD != *free-threaded* ]] || return 0
    packages_for gevent eventlet
    profiled "$PYTHON" "$WORKLOADS/greenlets_in_tasks.py" 3
    collapsed --by greenlet >greenlets.txt
    collapsed --by task >tasks.txt
    # The first samples are taken before it is known where tasks and greenlets are.
    awk -F ';' '
        !/;spin \(/ { next }
        { wanted = FILENAME == "tasks.txt" ? "in_task" : /;in_greenlet \(/ ? "in_greenlet" : "(none)" }
        $1 == wanted { right++; next }
        $1 == "(none)" { missing++; next }
        { print; wrong++ }
        END { print right + 0, "stacks right,", wrong + 0, "wrong,", missing + 0, "missing"; exit wrong || missing > right }' greenlets.txt tasks.txt
}

@test "a hub that only waits has hardly any CPU time" {
    packages_for gevent eventlet
    profiled "$PYTHON" -c 'import gevent, time
def works():
    for _ in range(20):
        end = time.thread_time() + 0.02
        while time.thread_time() < end: pass
        gevent.sleep(0.03)
gevent.spawn(works).join()'
    "$PYPROF" report --json --by greenlet >by.json
    # in the first moments gevent is not known, but greenlet is
    judge 'values = {value["value"]: value["cpu_ns"] for value in json.load(open("by.json"))["by"]}
assert values.pop("[hub]", 0) < 0.1e9 and values.pop("works (spawned at <string>:7)") > 0.2e9, values
assert set(values) <= {None, "works"}, values'
}
