# Whole lives of gunicorn and uWSGI, and of Celery's worker: what servers.py compares, row by row of servers_rows.py.
load lib/helper

# lives PROGRAMS ROW...: PROGRAMS is the JSON of servers.py. The figures stay in the build directory.
lives() {
    local programs=$1 figures=$BUILD/check/servers.txt
    shift
    mkdir -p "${figures%/*}"
    echo "$programs" >programs.json
    echo "== $PYTHON ($VERSION): $programs" >>"$figures"
    # shellcheck disable=SC2086 # READ is the interpreter and read.py
    set -- ${READ%% *} "$WORKLOADS/servers.py" programs.json --pages "${PAGES:-60}" "$@"
    "$@" >out.txt 2>&1 || fail "$(cat out.txt)"
    cat out.txt >>"$figures"
}

gunicorn() {
    echo "{\"python\": \"$PYTHON\", \"gunicorn\": [\"$1/bin/gunicorn\"]}"
}

# uwsgi PROGRAM PLUGIN [VASSAL]: Debian's has Python in a plugin, which a vassal's file has to name.
uwsgi() {
    echo "{\"python\": \"$PYTHON\", \"uwsgi\": [\"$1\"$2], \"uwsgi-bare\": [\"$1\"$2], \"uwsgi-emperor\": [\"$1\"], \"vassal\": \"${3:-}\"}"
}

# A server that pip builds wants the interpreter's headers.
has_headers() {
    [ -e "$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
}

# The rows where most can go wrong.
DELICATE_GUNICORN='gunicorn-(gthread.*|timeout.*|hup.*|eventlet|gevent|usr2)'
DELICATE_UWSGI='uwsgi-(.*threads.*|skip-atexit.*|hup.*|harakiri.*|two-apps.*)'

shortly_gunicorn() {
    venv=$(venv_with gunicorn) || fail "$venv"
    PAGES=5 lives "$(gunicorn "$venv")" gunicorn-short
}

shortly_uwsgi() {
    PAGES=5 lives "$(uwsgi /usr/bin/uwsgi-core ', "--plugin", "python3"')" uwsgi-short
}

# with_debian FUNCTION
with_debian() {
    [ -x /usr/bin/python3.11 ] || skip "no /usr/bin/python3.11"
    with_pythons "$(PYTHONS=/usr/bin/python3.11 list_pythons)" "$@"
}

# with_python MINOR FUNCTION
with_python() {
    local lines
    lines=$(list_pythons | awk -v minor="$1" '$2 ~ "^" minor "[.]" && $1 != "/usr/bin/python3.11" { print; exit }')
    with_pythons "$lines" "$2"
}

@test "gunicorn gthread, a stuck worker is killed: answers, exit status and log as without us, CPU in the merged profile" {
    with_debian shortly_gunicorn
}

@test "uwsgi with threads, harakiri, reload, skip-atexit: answers, exit status and log as without us, CPU in the merged profile" {
    [ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3 here"
    with_debian shortly_uwsgi
}

all_of_gunicorn() {
    venv=$(venv_with gunicorn gevent eventlet uvicorn packaging) || fail "$venv"
    # Its newest versions have no eventlet worker.
    lives "$(gunicorn "$venv")" 'gunicorn-(?!eventlet).*'
}

delicate_of_gunicorn() {
    local rows=$DELICATE_GUNICORN
    venv=$(venv_with gunicorn gevent eventlet uvicorn packaging) || fail "$venv"
    [ -e "$(echo "$venv"/lib/python3*/site-packages/gunicorn/workers/geventlet.py)" ] || rows=${rows/eventlet|/}
    lives "$(gunicorn "$venv")" "$rows"
}

# bats test_tags=long
@test "gunicorn, all rows" {
    with_python 3.12 all_of_gunicorn
}

# bats test_tags=long
@test "gunicorn on CPython 3.8, with eventlet" {
    with_python 3.8 delicate_of_gunicorn
}

# bats test_tags=long
@test "gunicorn on CPython 3.13" {
    with_python 3.13 delicate_of_gunicorn
}

# bats test_tags=long
@test "gunicorn on Debian's static python3.11" {
    with_debian delicate_of_gunicorn
}

all_of_uwsgi() {
    has_headers || fail "no headers to build uWSGI with"
    venv=$(venv_with uwsgi) || fail "$venv"
    lives "$(uwsgi "$venv/bin/uwsgi" '')" 'uwsgi-.*'
}

delicate_of_uwsgi() {
    has_headers || fail "no headers to build uWSGI with"
    venv=$(venv_with uwsgi) || fail "$venv"
    lives "$(uwsgi "$venv/bin/uwsgi" '')" "$DELICATE_UWSGI"
}

older_uwsgi() {
    has_headers || fail "no headers to build uWSGI with"
    venv=$(venv_with uwsgi==2.0.20) || fail "$venv"
    # Threads of a second application: libpyprof(7).
    lives "$(uwsgi "$venv/bin/uwsgi" '')" "${DELICATE_UWSGI/two-apps.\*/two-apps}"
}

uwsgi_of_debian() {
    lives "$(uwsgi /usr/bin/uwsgi-core ', "--plugin", "python3"' 'plugin = python3')" 'uwsgi-.*'
}

# bats test_tags=long
@test "uwsgi, all rows" {
    with_python 3.12 all_of_uwsgi
}

# bats test_tags=long
@test "Debian's uwsgi, all rows" {
    [ -e /usr/lib/uwsgi/plugins/python3_plugin.so ] || skip "no uwsgi-plugin-python3 here"
    with_debian uwsgi_of_debian
}

# bats test_tags=long
@test "uwsgi on CPython 3.8 and 3.13, and an older uwsgi" {
    with_python 3.8 older_uwsgi
    with_python 3.13 delicate_of_uwsgi
}

celery_children() {
    local options
    venv=$(venv_with celery) || fail "$venv"
    for options in --max-tasks-per-child=1 --max-tasks-per-child=3; do
        mkdir -p "./$options/truth"
        cd "./$options" || return 1
        PRELOAD=$LIBPYPROF timeout -k 5 "$TIMEOUT" "$venv/bin/python" "$WORKLOADS/celery_tasks.py" truth 24 "$options" >celery.log 2>&1 || fail "$(cat celery.log)"
        ! grep -qE 'pyprof:|ERROR|Traceback|signal' celery.log || fail "$(cat celery.log)"
        collapsed >stacks.txt
        info >info.json
        reader split truth stacks.txt info.json 5
        reader cpu_used truth info.json
        reader accounting info.json
        cd .. || return 1
    done
}

# bats test_tags=long
@test "Celery's prefork children: their CPU is in the merged profile" {
    with_python 3.12 celery_children
}
