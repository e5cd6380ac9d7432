# A gunicorn launch line with the library in front.
load helper

served_by_two() {
    venv=$(venv_with gunicorn) || fail "$venv"
    port=$(free_port "$PYTHON")
    # Without timeout(1), which would send SIGTERM to the workers as well as to their master.
    LD_PRELOAD=$LIBPYPROF PYTHONPATH=$WORKLOADS "$venv/bin/gunicorn" -w 2 -b "127.0.0.1:$port" \
        wsgi_app:app >gunicorn.log 2>&1 3>&- &
    server=$!
    trap 'stop_server "$server" TERM' EXIT
    pids=$("$PYTHON" "$WORKLOADS/client.py" "$port" 2) || fail "$pids: $(cat gunicorn.log)"
    stop_server "$server" TERM
    info >info.json
    for pid in $pids; do
        "$PYTHON" -c 'import json, sys
process, = [p for p in json.load(open("info.json"))["processes"] if p["pid"] == int(sys.argv[1])]
# 20 requests of 20 ms at least, and the last second is there: it left properly.
sys.exit(0 if process["sampled_ns"] > 350e6 and process["ended"] else f"worker {sys.argv[1]}: {process}")' "$pid"
    done
    collapsed >stacks.txt
    between 700000000 "$(reader inclusive stacks.txt render_page)" 100000000000 "ns of render_page in the merged profile"
    reader stacks stacks.txt '.*gunicorn.*' '.*handle_request \(.*\)' 'app \(.*wsgi_app\.py:\d+\)' 'render_page \(.*wsgi_app\.py:\d+\)'
    reader accounting info.json
    ! grep -qiE 'libpyprof|segfault|SIGSEGV|Traceback' gunicorn.log || fail "$(cat gunicorn.log)"
}

@test "gunicorn -w 2: both workers' CPU is in the merged profile" {
    with_each_python served_by_two 3
}
