# A gunicorn launch line with the library in front.
load lib/helper

# begin_gunicorn LOG COMMAND...: waits until both workers have served; their pids in $pids.
begin_gunicorn() {
    local log=$1
    shift
    PYTHONPATH=$WORKLOADS "$@" >"$log" 2>&1 3>&- &
    server=$!
    pids=$("$PYTHON" "$WORKLOADS/client.py" "$port" 2) || fail "$pids: $(cat "$log")"
}

# bats test_tags=core
@test "contrib/gunicorn/start.sh as it stands: both workers in the merged profile; doctor of the master" {
    venv=$(venv_with gunicorn) || fail "$venv"
    port=$(free_port "$PYTHON")
    PATH=$venv/bin:$BUILD:$PATH begin_gunicorn gunicorn.log "$ROOT/contrib/gunicorn/start.sh" -w 2 -b "127.0.0.1:$port" wsgi_app:app
    # Below `pyprof run`: the master and its workers.
    wait_until 60 doctor_of_server 3 || fail "$(cat doctor.txt)"
    ! grep -q '^warn' doctor.txt || fail "$(cat doctor.txt)"
    stop_server "$server" TERM
    served_well "$pids"
    reader stacks stacks.txt '.*gunicorn.*' '.*handle_request \(.*\)' 'app \(.*wsgi_app\.py:\d+\)' 'render_page \(.*wsgi_app\.py:\d+\)'
    reader accounting info.json
    ! grep -qiE 'segfault|SIGSEGV|Traceback' gunicorn.log || fail "$(cat gunicorn.log)"
    grep pyprof: gunicorn.log >ours.txt
    lines_of ours.txt 2 '^pyprof: profile goes to .*; to watch it run: pyprof top$'
    lines_of ours.txt 2 '^pyprof: .*, 3 processes; next: pyprof report$'
}

@test "contrib/systemd/pyprof.conf as it stands: its environment makes a profile of gunicorn" {
    venv=$(venv_with gunicorn) || fail "$venv"
    port=$(free_port "$PYTHON")
    # The bare name is found as `ldconfig` would let it be found; %N and /var/log are systemd's.
    sed -n "s|%N|app|g; s|/var/log/|$PWD/|; s|^Environment=||p" "$ROOT/contrib/systemd/pyprof.conf" >environment
    mapfile -t environment <environment
    [ "${#environment[@]}" -eq 2 ] || fail "$(cat environment)"
    LD_LIBRARY_PATH=$BUILD begin_gunicorn gunicorn.log env "${environment[@]}" "$venv/bin/gunicorn" -w 2 -b "127.0.0.1:$port" wsgi_app:app
    stop_server "$server" TERM
    OUT=pyprof/app served_well "$pids"
    command -v systemd-analyze >/dev/null || skip "systemd-analyze is missing"
    mkdir app.service.d
    printf '[Service]\nExecStart=/bin/true\n' >app.service
    cp "$ROOT/contrib/systemd/pyprof.conf" app.service.d/
    SYSTEMD_UNIT_PATH=$PWD: systemd-analyze verify --man=no ./app.service >verify.txt 2>&1 || fail "$(cat verify.txt)"
    ! grep -q pyprof.conf verify.txt || fail "$(cat verify.txt)"
    # What compacts the profiles, too; the command need not be installed.
    cp "$ROOT"/contrib/systemd/pyprof-compact@.* .
    sed -i "s|^ExecStart=pyprof|ExecStart=$PYPROF|" pyprof-compact@.service
    cp pyprof-compact@.service pyprof-compact@app.service
    cp pyprof-compact@.timer pyprof-compact@app.timer
    SYSTEMD_UNIT_PATH=$PWD: systemd-analyze verify --man=no ./pyprof-compact@app.timer ./pyprof-compact@app.service >verify.txt 2>&1 || fail "$(cat verify.txt)"
    ! grep -q pyprof-compact verify.txt || fail "$(cat verify.txt)"
}

other_user() {
    venv=$(VENVS=$BUILD/venv venv_with gunicorn) || fail "$venv" # others cannot read what is in a home
    # The test's own directory is closed to others.
    OUT=$(mktemp -d /var/tmp/pyprof-test-XXXXXX)
    chgrp 65534 "$OUT"
    chmod 1770 "$OUT"
    port=$(free_port "$PYTHON")
    trap 'end_server; rm -r "$OUT"' EXIT # of the subshell
    LD_PRELOAD=$LIBPYPROF PYPROF_OUT=$OUT begin_gunicorn gunicorn.log "$venv/bin/gunicorn" --user 65534 --group 65534 --worker-tmp-dir /dev/shm -w 2 -b "127.0.0.1:$port" wsgi_app:app
    wait_until 60 doctor_of_server 2 || fail "$(cat doctor.txt)"
    stop_server "$server" TERM
    owners=$(stat -c %u "$OUT"/*.pyprof)
    [ "$(grep -c 65534 <<<"$owners")" -eq 2 ] || fail "owners of the files: $owners; $(cat gunicorn.log)"
    served_well "$pids"
}

@test "gunicorn --user: the workers' files are beside their master's" {
    [ "$(id -u)" -eq 0 ] || skip "only root changes users"
    # Those of pyenv are in root's home.
    [ -x /usr/bin/python3.11 ] || skip "no /usr/bin/python3.11"
    setpriv --reuid 65534 --regid 65534 --clear-groups cat "$WORKLOADS/wsgi_app.py" >/dev/null || skip "user 65534 cannot read $ROOT"
    with_pythons "$(PYTHONS=/usr/bin/python3.11 list_pythons)" other_user
}
