# Applications in libpyprof.wsgi() and asgi(): what servers make of them is what they make of the same without, byte for byte, and
# each request is counted once.
load lib/helper

# compared COMMAND...: starts a server; its words have PORT and no blanks.
compared() {
    local port
    port=$(free_port "$PYTHON")
    PYPROF_VERBOSE=0 LD_PRELOAD=$LIBPYPROF PYTHONPATH=$WORKLOADS:$ROOT/contrib/python PYTHONDONTWRITEBYTECODE=1 \
        "${@//PORT/$port}" >server.log 2>&1 3>&- &
    server=$!
    "$PYTHON" "$WORKLOADS/wrapped_compare.py" "$port" >compared.txt || fail "$(cat compared.txt; tail -n 5 server.log)"
    stop_server "$server" TERM
    [ "$(wc -l <compared.txt)" = 1 ] || fail "$(cat compared.txt)"
    "$PYPROF" report --json --by endpoint | judge '
counted = sum(row.get("requests", 0) for row in json.load(sys.stdin)["by"])
assert str(counted) == open("compared.txt").read().strip() and counted > 20, counted'
}

by_wsgiref() {
    compared "$PYTHON" "$WORKLOADS/wrapped_wsgi.py" PORT
}

@test "wsgiref: bodies, files, errors, validators, mounted applications" {
    with_each_python by_wsgiref
}

@test "gunicorn and waitress: bodies, files, errors, validators, mounted applications" {
    with_packages gunicorn waitress
    compared "$VENV/bin/python" -m gunicorn -b 127.0.0.1:PORT wrapped_wsgi:application
    rm -rf pyprof.out
    compared "$VENV/bin/python" "$WORKLOADS/wrapped_wsgi.py" PORT waitress
}

@test "uWSGI: bodies, files by their descriptors, errors, validators, mounted applications" {
    [ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3 here"
    use_python "$(PYTHONS=/usr/bin/python3.11 list_pythons)"
    compared /usr/bin/uwsgi --plugin python3 --http-socket 127.0.0.1:PORT --wsgi-file "$WORKLOADS/wrapped_wsgi.py" --need-app --die-on-term
}

@test "uvicorn: what it takes an application for, ASGI 2 too; messages, errors, tasks, mounted applications" {
    with_packages uvicorn httptools
    PYTHONPATH=$ROOT/contrib/python profiled PYPROF_OUT=elsewhere "$VENV/bin/python" "$WORKLOADS/wrapped_asgi.py"
    compared "$VENV/bin/python" -m uvicorn --port PORT --log-level critical wrapped_asgi:app
}
