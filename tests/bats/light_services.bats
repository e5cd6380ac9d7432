# Services with little to do: each request is shorter than a kernel tick, and many begin at one. What the functions have in the
# profile is what they used, within chance. The other suites that compare with a truth keep the machine busy.
load lib/helper

# lightly SERVER RATE SECONDS [PREFIX...]: runs and judges it.
lightly() {
    local name=$1-$2
    PYPROF_OUT=$PWD/$name.out "$VENV/bin/python" "$WORKLOADS/light_service_run.py" "$1" "$2" "$3" "$name.json" "${@:4}" 2>"$name.err" ||
        fail "$(tail -n 5 "$name.err" "$name.json.log")"
    ${READ%% *} "$WORKLOADS/light_service_judge.py" "$name.json" "$name.out" "$POOL" >"$name.txt"
}

# at_two_rates SERVER RATE: at a hundred requests a second, and at RATE with clients that do not pause. Beside each other: half a
# minute is saved.
at_two_rates() {
    local paused status=0
    lightly "$1" 100 4 3>&- &
    paused=$!
    lightly "$1" "$2" 4 3>&- || status=1
    wait "$paused" || status=1
    cat "$1"-*.txt
    return $status
}

setup() {
    prepare
    # one that all of these packages have wheels for
    use_python "$(list_pythons | grep -E ' 3\.(9|1[0-3])\.' | one_for_this_test)"
    POOL=$BATS_FILE_TMPDIR/pool
}

@test "the judgement passes samplers that are fair, and fails one that is in step with the work" {
    ${READ%% *} "$WORKLOADS/light_service_judge.py" simulate 200
}

@test "FastAPI in two workers of uvicorn: each function has what it used" {
    with_packages uvicorn fastapi
    at_two_rates uvicorn all
}

@test "Flask in threads of gunicorn: each function has what it used" {
    with_packages gunicorn flask
    at_two_rates gthread apart
}

@test "Flask's own server, a thread for each request: each function has what it used" {
    with_packages flask
    at_two_rates flask all
}

@test "Django's own server, a thread for each connection: each function has what it used" {
    with_packages django
    at_two_rates django all
}

@test "aiohttp: each function has what it used" {
    with_packages aiohttp
    at_two_rates aiohttp apart
}

@test "gevent's server: each function has what it used" {
    with_packages gevent
    at_two_rates gevent all
}

# Without a finer clock the shares may be wrong, and the report says so, or where the time is that no tick met.
@test "where perf_event_open is refused: the report says that shares may be wrong" {
    with_packages aiohttp
    export DENIED=perf
    lightly aiohttp apart 6 "$BUILD/workloads/denied" || true
    "$PYPROF" report --full aiohttp-apart.out >report.txt 2>&1
    tr -s ' \n' ' ' <report.txt | grep -qE "was sampled at clock ticks|was not sampled" || fail "nothing is said: $(cat report.txt)"
}

# For the test below where it runs alone, as what has failed does once more.
three_servers() {
    with_packages uvicorn fastapi aiohttp gevent
    lightly uvicorn all 6 || cat uvicorn-all.txt
    lightly aiohttp apart 6 || cat aiohttp-apart.txt
    lightly gevent all 6 || cat gevent-all.txt
}

# What is within chance in each case, and always on the same side, is not within chance in all of them.
@test "all cases together: each function has what it used, within the chance of so many samples" {
    [ -s "$POOL" ] || three_servers
    ${READ%% *} "$WORKLOADS/light_service_judge.py" pool "$POOL"
}
