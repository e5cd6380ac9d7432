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
    served_well "$pids"
    reader stacks stacks.txt '.*gunicorn.*' '.*handle_request \(.*\)' 'app \(.*wsgi_app\.py:\d+\)' 'render_page \(.*wsgi_app\.py:\d+\)'
    reader accounting info.json
    ! grep -qiE 'libpyprof|segfault|SIGSEGV|Traceback' gunicorn.log || fail "$(cat gunicorn.log)"
}

@test "gunicorn -w 2: both workers' CPU is in the merged profile" {
    with_some_pythons served_by_two
}
