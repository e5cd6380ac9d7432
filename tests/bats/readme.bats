# What README promises to someone who has just come: every command as it is there, in a Debian without anything.
load lib/helper

# shellcheck disable=SC2153 # ROOT is helper.bash's
# as_printed PATTERN: the line of README that shows this command, without the remark after it.
as_printed() {
    local lines
    lines=$(sed -nE 's/^    (\$ )?(.*[^ ])$/\2/p' "$ROOT/README.md" | sed -E 's/  +# .*//' | grep -E "^($1)" | head -n 1)
    [ -n "$lines" ] || fail "README shows no command like /$1/"
    echo "$lines"
}

# here COMMAND: in the newcomer's Debian, at the place he is at; mounts end with the command.
here() {
    echo "\$ $1"
    # shellcheck disable=SC2016
    unshare --mount --pid --fork bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
        exec chroot "$0" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$1" TERM=xterm \
            LC_ALL=C.UTF-8 "${@:2}"' "$root" "$home" "${network[@]}" timeout -k 5 "$TIMEOUT" bash -c "cd $place && $1" </dev/null
}

# types PATTERN: what README prints, typed.
types() {
    local command
    command=$(as_printed "$1") || fail "$command"
    here "$command" >out.txt 2>&1 || fail "$(tail -n 40 out.txt)"
    cat out.txt
}

shows() {
    grep -qE "$1" out.txt || fail "no /$1/: $(cat out.txt)"
}

# Without which this machine's network is not reached: no part of what a newcomer does.
take_network() {
    local file certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
        [ ! -e "$file" ] || install -D -m 644 "$file" "$root$file"
    done
    mapfile -t network < <(env | grep -E '^(PIP_INDEX_URL|PIP_DEFAULT_TIMEOUT|https?_proxy|no_proxy)=')
    # At a place of their own: packages write the usual one.
    if [ -e "$certificates" ]; then
        install -D -m 644 "$certificates" "$root/etc/test-certificates.crt"
        network+=(PIP_CERT=/etc/test-certificates.crt)
    fi
    printf 'APT::Get::Assume-Yes "true";\nAcquire::Retries "3";\nAcquire::Check-Valid-Until "false";\n' >"$root/etc/apt/apt.conf.d/99test"
}

# bats test_tags=long
@test "README alone in a clean Debian 12: build, demo, install, run, report, hot line, flame graph, pprof" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a Debian of its own"
    needs_namespaces --mount --pid --fork --mount-proc
    clean=$("$ROOT/tests/roots.sh" bookworm) || fail "$clean"
    root=$BATS_TEST_TMPDIR/debian
    cp -a "$clean" "$root"
    take_network
    home=/srv/newcomer
    mkdir -p "$root$home/libpyprof"
    # The commit, as a newcomer clones it: not what is changed here and not committed.
    git -C "$ROOT" archive HEAD | tar -x -C "$root$home/libpyprof"
    place=$home/libpyprof
    here "apt-get update" >out.txt 2>&1 || fail "$(cat out.txt)"
    types 'apt-get install gcc'
    types 'make$'
    types 'make demo'
    shows '% of the kernel.s [0-9.]+ s accounted for'
    types 'make install'
    types 'ldconfig'

    place=$home
    awk '/^```/ { on = /python$/; next } on' "$ROOT/README.md" >"$root$home/app.py"
    types 'LD_PRELOAD=libpyprof.so python3'
    types 'pyprof report$'
    shows 'JSONEncoder.iterencode \(json/encoder.py:[0-9]+\)'
    types 'pyprof run --'
    shows "^pyprof: profile goes to $home/pyprof.out; to watch it run: pyprof top"
    shows "^pyprof: .* samples, .*; next: pyprof report"
    types 'pyprof report --top'
    shows 'fingerprint \(app.py:16\)'
    # The hot line of the program's own.
    types 'pyprof annotate app.py'
    hottest=$(awk '$2 == "s" && $1 > most { most = $1; line = $0 } END { print line }' out.txt)
    [[ "$hottest" == *hashlib.sha256* || "$hottest" == *"items = "* ]] || fail "the hottest line is not hot: $(cat out.txt)"
    types 'pyprof flame -o app.html'
    grep -qi '^<!doctype html' "$root$home/app.html" || fail "no page: $(head -c 300 "$root$home/app.html")"
    for command in info 'export -o app.pb.gz' 'export -o app.svg' 'export -o app.speedscope.json' 'export -o app.pstats' \
        runs diff merge; do
        types "pyprof $command"
    done
    cp -r "$root$home/pyprof.out" "$root$home/yesterday.out"
    cp -r "$root$home/pyprof.out" "$root$home/today.out"
    types 'pyprof flame --diff'
    for file in app.pb.gz app.svg app.speedscope.json app.pstats today.pyprof diff.html; do
        [ -s "$root$home/$file" ] || fail "no $file"
    done
    here 'man -l /usr/local/share/man/man1/pyprof.1 >/dev/null 2>&1 || test -s /usr/local/share/man/man1/pyprof.1'
    if command -v go >/dev/null; then
        PPROF_TMPDIR=$PWD go tool pprof -top "$root$home/app.pb.gz" >top.txt 2>&1 || fail "$(cat top.txt)"
        grep -q fingerprint top.txt || fail "$(cat top.txt)"
    fi
}
