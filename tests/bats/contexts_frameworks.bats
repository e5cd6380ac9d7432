# What samples belong to where frameworks serve requests and queues run jobs: rows of preload/frameworks/sources.c, with real
# packages, several in a process. Each program measures what it uses for each value by its threads' clocks.
load lib/helper

PACKAGES=(falcon pyramid grpcio quart litestar sanic tornado celery rq fakeredis dramatiq huey apscheduler gevent)
PACKAGES+=(strawberry-graphql ipython pytest)

# see tests/workloads/frameworks_served.py
served() {
    with_packages "${PACKAGES[@]}"
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$VENV/bin/python" "$WORKLOADS/frameworks_served.py" "$GROUP" "$SECONDS_LONG" >truth.json 2>program.err ||
        fail "$(tail -n 5 program.err)"
    ${READ%% *} "$ROOT/tests/bats/lib/by_label.py" "$KEY" truth.json
}

# group NAME KEY SECONDS
group() {
    GROUP=$1 KEY=$2 SECONDS_LONG=$3
    with_pythons "$(list_pythons | grep ' 3\.12\.')" served
}

@test "endpoints of Falcon and Pyramid, methods of gRPC: in threads" {
    group wsgi endpoint 1.5
}

@test "endpoints of Quart, Litestar, Falcon and Sanic, handlers of Tornado, methods of grpc.aio: in tasks, and in threads that these await" {
    group asgi endpoint 2
}

@test "jobs of Celery, Dramatiq, Huey, APScheduler and RQ: in threads and tasks" {
    group queues task 2
}

@test "tasks of Celery in processes" {
    group prefork task 2
}

@test "tasks of Celery in greenlets" {
    group gevent task 1.5
}

@test "cells of IPython, operations of Strawberry" {
    group cells task 1
}

@test "tests of pytest, with their fixtures" {
    group tests test 1
}

# Its server alone takes ten seconds of CPU to start.
# bats test_tags=long
@test "tasks of Prefect: in the flow's thread, in threads and tasks" {
    PACKAGES=(prefect)
    export PREFECT_HOME=$PWD/prefect PREFECT_LOGGING_LEVEL=ERROR DO_NOT_TRACK=1
    group prefect task 6
}

# Until 3.11 comprehensions are functions, and what they use of the function around them is in cells.
# bats test_tags=long
@test "all of these with an older Python" {
    use_python "$(list_pythons | grep ' 3\.10\.')"
    while read -r GROUP KEY SECONDS_LONG <&4; do
        served
        rm -r pyprof.out
    done 4<<<$'wsgi endpoint 2\nasgi endpoint 3\nqueues task 3\ncells task 2\ntests test 1'
}
