# What the views make of contexts of samples: tasks, endpoints, greenlets, labels. The log is made (tests/web/logs.py), so that
# all of it is known.
load lib/helper

# service NAME [SLOWER]: writes NAME.pyprof
service() {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" service "$1.pyprof" "${2:-1}"
}
WHOLE=3657000001

# collapsed ARGUMENTS...: stacks, without the line of accounting
collapsed() {
    "$PYPROF" export --format collapsed "$@" | grep -v '^\[accounting'
}

sum() {
    awk '{ n += $NF } END { printf "%.0f\n", n }'
}

@test "tasks are in the stacks, below those that await them; the event loop is one frame" {
    service app
    collapsed app.pyprof >all.txt
    [ "$(grep -cF '[loop];[task serve];[task handle_request];checkout (app.py:20);total (app.py:30) 800000000' all.txt)" -eq 1 ] || fail "$(cat all.txt)"
    grep -qF '[loop];[task refresh];refresh (app.py:80) 200000000' all.txt
    grep -qF '[task serve];[task handle_request];_WorkItem.run (concurrent/futures/thread.py:50);thumbnail (app.py:50) 400000000' all.txt
    grep -qF '<module> (app.py:1);run (asyncio/runners.py:160);BaseEventLoop._run_once (asyncio/base_events.py:1900) 50000000' all.txt
    [ "$(sum <all.txt)" = "$WHOLE" ]
    collapsed --native=all app.pyprof >whole.txt
    grep -qF '_start (python3.12);<module> (app.py:1);run (asyncio/runners.py:160);Handle._run (asyncio/events.py:80);[task refresh];refresh' whole.txt
    [ "$(sum <whole.txt)" = "$WHOLE" ]
}

@test "--no-awaiters leaves out the tasks that await, not the task, and no CPU time" {
    service app
    collapsed --no-awaiters app.pyprof >all.txt
    ! grep -F 'task serve' all.txt || fail "an awaiter is there"
    grep -qF '[loop];[task handle_request];search (app.py:60);rank (app.py:70) 800000000' all.txt
    grep -qE '^_WorkItem.run .*;thumbnail' all.txt
    [ "$(sum <all.txt)" = "$WHOLE" ]
    for view in report "report --json" "annotate app.py" "export --format pprof" "diff app.pyprof" "flame -o -"; do
        # shellcheck disable=SC2086 # words
        "$PYPROF" $view --no-awaiters app.pyprof >/dev/null || fail "$view"
    done
}
