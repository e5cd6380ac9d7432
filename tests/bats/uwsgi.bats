# A uWSGI launch line with the library in front: two processes of two request threads, which block every signal.
load lib/helper
export SERVER_SIGNAL=INT # it takes SIGTERM for "reload"

# serve UWSGI [OPTION...]: what both workers use is in the merged profile, as Python frames between those of uwsgi.
serve() {
    port=$(free_port "$PYTHON")
    LD_PRELOAD=$LIBPYPROF "$@" --http-socket "127.0.0.1:$port" --master --processes 2 --threads 2 \
        --wsgi-file "$WORKLOADS/wsgi_app.py" --callable app >uwsgi.log 2>&1 3>&- &
    server=$!
    pids=$("$PYTHON" "$WORKLOADS/client.py" "$port" 2) || fail "$pids: $(cat uwsgi.log)"
    stop_server "$server" INT
    served_well "$pids"
    reader stacks stacks.txt '.* \(uwsgi(-core)?\)' 'app \(.*wsgi_app\.py:\d+\)' 'render_page \(.*wsgi_app\.py:\d+\)'
    reader accounting info.json
}

# by_file UWSGI [OPTION...]: contrib/uwsgi/app.ini unchanged.
by_file() {
    port=$(free_port "$PYTHON")
    # shellcheck disable=SC2153 # ROOT is helper.bash's
    LD_PRELOAD=$LIBPYPROF PYPROF_OUT=${OUT:-pyprof.out} PORT=$port APP=$WORKLOADS/wsgi_app.py "$@" "$ROOT/contrib/uwsgi/app.ini" >uwsgi.log 2>&1 3>&- &
    server=$!
    pids=$("$PYTHON" "$WORKLOADS/client.py" "$port" 2) || fail "$pids: $(cat uwsgi.log)"
    wait_until 60 doctor_of_server 2 || fail "$(cat doctor.txt)"
    stop_server "$server" INT
    served_well "$pids"
    reader stacks stacks.txt '.* \(uwsgi(-core)?\)' 'app \(.*wsgi_app\.py:\d+\)' 'render_page \(.*wsgi_app\.py:\d+\)'
    reader accounting info.json
}

of_pypi() {
    if [ ! -e "$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
        echo "no headers to build uWSGI with"
        return 0
    fi
    venv=$(venv_with uwsgi) || fail "$venv"
    serve "$venv/bin/uwsgi"
    rm -r pyprof.out
    by_file "$venv/bin/uwsgi"
}

# pip compiles uWSGI, a minute for each interpreter.
# bats test_tags=long
@test "uwsgi --master --processes 2 --threads 2: both workers' CPU is in the merged profile" {
    with_each_python of_pypi
}

of_debian() {
    # Wherever it is: its libpython would take its modules from /usr.
    serve "$prefix/bin/uwsgi-core" --plugins-dir "$prefix/lib/uwsgi/plugins" --plugin python3 --pyhome "$prefix"
}

# with_plugin_of PREFIX PYTHON: the interpreter is the plugin's libpython; PYTHON asks for pages.
with_plugin_of() {
    prefix=$1
    [ -e "$prefix/lib/uwsgi/plugins/python3_plugin.so" ] || skip "no uwsgi-plugin-python3 in $prefix"
    with_pythons "$2 $("$2" -c 'import platform; print(platform.python_version())') shared,stripped" of_debian 3
}

@test "Debian sid's uwsgi with its python3 plugin" {
    root=${XDG_CACHE_HOME:-$HOME/.cache}/pyprof-tests/sid/usr
    [ -x "$root/bin/python3.14" ] || skip "no Debian sid here (see tests/roots.sh)"
    with_plugin_of "$root" "$root/bin/python3.14"
}

# bats test_tags=core
@test "contrib/uwsgi/app.ini as it stands, with Debian's uwsgi; doctor of the master" {
    [ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3 here"
    use_python "$(PYTHONS=/usr/bin/python3.11 list_pythons)"
    by_file uwsgi --plugin python3
}

other_user() {
    # The test's own directory is closed to others.
    OUT=$(mktemp -d /var/tmp/pyprof-test-XXXXXX)
    trap 'end_server; rm -rf "$OUT"' EXIT # of the subshell
    chgrp 65534 "$OUT"
    chmod 1770 "$OUT"
    by_file uwsgi --plugin python3 --uid 65534 --gid 65534
    owners=$(stat -c %u "$OUT"/*.pyprof | sort -u)
    grep -q 65534 <<<"$owners" || fail "owners of the files: $owners"
    [ ! -e "$TMPDIR/pyprof-65534" ] || fail "files in the fallback directory"
}

@test "uwsgi --uid: the workers' files are where those of root would be" {
    [ "$(id -u)" -eq 0 ] || skip "only root changes users"
    [ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3 here"
    setpriv --reuid 65534 --regid 65534 --clear-groups cat "$WORKLOADS/wsgi_app.py" >/dev/null || skip "user 65534 cannot read $ROOT"
    with_pythons "$(PYTHONS=/usr/bin/python3.11 list_pythons)" other_user
}
