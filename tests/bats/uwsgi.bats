# A uWSGI launch line with the library in front: two processes of two request threads, which block every signal.
load helper

served_by_two() {
    if [ ! -e "$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
        echo "no headers to build uWSGI with"
        return 0
    fi
    venv=$(venv_with uwsgi) || fail "$venv"
    port=$(free_port "$PYTHON")
    LD_PRELOAD=$LIBPYPROF "$venv/bin/uwsgi" --http-socket "127.0.0.1:$port" --master --processes 2 --threads 2 \
        --wsgi-file "$WORKLOADS/wsgi_app.py" --callable app >uwsgi.log 2>&1 3>&- &
    server=$!
    trap 'stop_server "$server" INT' EXIT
    pids=$("$PYTHON" "$WORKLOADS/client.py" "$port" 2) || fail "$pids: $(cat uwsgi.log)"
    # uWSGI takes SIGTERM for "reload".
    stop_server "$server" INT
    info >info.json
    for pid in $pids; do
        "$PYTHON" -c 'import json, sys
process, = [p for p in json.load(open("info.json"))["processes"] if p["pid"] == int(sys.argv[1])]
sys.exit(0 if process["sampled_ns"] > 350e6 and process["ended"] else f"worker {sys.argv[1]}: {process}")' "$pid"
    done
    collapsed >stacks.txt
    between 700000000 "$(reader inclusive stacks.txt render_page)" 100000000000 "ns of render_page in the merged profile"
    reader stacks stacks.txt '.* \(uwsgi\)' 'app \(.*wsgi_app\.py:\d+\)' 'render_page \(.*wsgi_app\.py:\d+\)'
    reader accounting info.json
}

# pip compiles uWSGI, a minute for each interpreter.
# bats test_tags=long
@test "uwsgi --master --processes 2 --threads 2: both workers' CPU is in the merged profile" {
    with_each_python served_by_two 3
}
