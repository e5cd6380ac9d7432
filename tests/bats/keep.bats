# Profiles that are kept for long: a part of the time is asked for, of directories of any size.
load lib/helper

setup_file() {
    export TZ=UTC
}

# fleet DIRECTORY COUNT: workers of ten seconds each, a new one every minute, the first at 2023-11-14 22:13:20 UTC.
fleet() {
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c "import logs; logs.fleet('$1', $2)"
}

# ns OPTIONS...: the CPU time that these select.
ns() {
    "$PYPROF" export --format collapsed "$@" fleet 2>/dev/null | awk '{ n += $NF } END { printf "%.0f\n", n }'
}

@test "times: of the run, before its end, of day and of dates; adjoining ones add up to the nanosecond" {
    fleet fleet 60
    last=$(ns --last 10m)
    [ "$last" -gt 0 ]
    [ "$(ns --from -10m)" = "$last" ]
    # The last worker ended at 23:12:30.
    [ "$(ns --from '2023-11-14 23:02:30')" = "$last" ]
    [ "$(ns --from 2023-11-14T23:02:30Z)" = "$last" ]
    [ "$(ns --from 2023-11-15T01:02:30+02:00 --to 2023-11-15)" = "$last" ]
    [ "$(TZ=UTC-2 ns --from '2023-11-15 01:02:30')" = "$last" ]
    [ "$(ns --from 2950s)" = "$last" ]
    [ $(($(ns --to -10m) + last)) -eq "$(ns)" ]
    [ $(($(ns --from -30m --to -12m7s) + $(ns --from -12m7s --to -400s))) -eq "$(ns --from -30m --to -400s)" ]
    run -1 "$PYPROF" report --from yesterday fleet
    [[ $output =~ "no sample of ".*" fits --from "[0-9-]+T00:00:00 ]] || fail "$output"
    for wrong in "--from 25:00" "--from tomorrow" "--to 0" "--last 0" "--last 5m --from 10s" "--from -1m --to -2m" "--from 2023-11-15 --to 2023-11-14"; do
        # shellcheck disable=SC2086
        run -2 "$PYPROF" report $wrong fleet
        [ "${#lines[@]}" -eq 1 ] || fail "$wrong: $output"
    done
    "$PYPROF" report --last 10m fleet | grep -qE '^Selected: 2023-11-14 23:02:30 to 23:12:30, 1\.00 s of 1\.[01]0 s CPU, 0\.00 of 2 cores$' ||
        fail "$("$PYPROF" report --last 10m fleet)"
    # What it says to type next selects the same.
    "$PYPROF" report --from 2023-11-14T23:02:30Z fleet | grep -qF -- '--from 2023-11-14T23:02:30 fleet' || fail "$("$PYPROF" report --from 23:02 fleet)"
}

@test "times: of thousands of files only those are read that can have anything of it" {
    fleet fleet 3000
    # Files of other times that cannot be read whole: nothing is said of them.
    for file in fleet/1{,1,2}00*.pyprof; do
        touch -r "$file" time
        truncate -s -3 "$file"
        touch -r time "$file"
    done
    "$PYPROF" report fleet >all.txt 2>err.txt
    grep -q 'cut short' err.txt || fail "$(cat err.txt)"
    "$PYPROF" report --last 5m fleet >last.txt 2>err.txt
    [ ! -s err.txt ] || fail "$(cat err.txt)"
    processes=$(grep -oE '[0-9]+ processes' last.txt)
    between 5 "${processes% *}" 6 "processes of five minutes"
}

@test "times: the latest run that has something of it, unless all are asked for" {
    fleet fleet 10
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c \
        'import logs; logs.fleet("fleet", 7, logs.START + 86400 * logs.SECOND, run="later")'
    while read -r processes options; do
        # shellcheck disable=SC2086
        "$PYPROF" report $options fleet >report.txt 2>err.txt
        grep -q "; $processes processes" report.txt || fail "$options: $(cat report.txt err.txt)"
    done <<'END_OF_CASES'
7
17 --all
7 --from 2023-11-14
10 --from 2023-11-14 --to 2023-11-15T12:00:00
17 --from 2023-11-14 --all
7 --last 2h
7 --last 2h --all
6 --last 5m
END_OF_CASES
}

@test "exports of a time carry it: adjoining windows meet" {
    fleet fleet 10
    options=(--from 2023-11-14T22:14:23.5Z --to 2023-11-14T22:15:25Z)
    "$PYPROF" export "${options[@]}" -o part.otlp fleet 2>/dev/null
    "$PYPROF" export "${options[@]}" -o part.pb.gz fleet 2>/dev/null
    "$PYPROF" export -o all.pb.gz fleet 2>/dev/null
    PYTHONPATH=$ROOT/tests/bats/lib /usr/bin/python3 - <<'END_OF_CHECK'
import gzip
from push_server import fields

start, length = 1700000063500000000, 61500000000
profile = fields(gzip.open("part.pb.gz").read())
assert profile[9] == [start] and profile[10] == [length], (profile[9], profile[10])
profile = fields(gzip.open("all.pb.gz").read())
assert profile[9] == [1700000000000000000] and profile[10] == [550000000000], (profile[9], profile[10])
count = 0
for resource in fields(open("part.otlp", "rb").read())[1]:
    for scope in fields(resource)[2]:
        for profile in map(fields, fields(scope)[2]):
            assert profile[3] == [start] and profile[4] == [length], (profile[3], profile[4])
            count += 1
assert count == 4, count
END_OF_CHECK
}

# views OUT: what all views say of the directory `fleet`.
views() {
    {
        for table in functions native threads lines packages endpoints; do
            "$PYPROF" report $table fleet || true
        done
        for by in endpoint thread package task span; do
            "$PYPROF" report --json --by $by fleet || true
        done
        "$PYPROF" export --format collapsed --threads --processes --lines fleet
        "$PYPROF" info --json fleet
    } >"$1" 2>&1
}

# bytes: of the files in `fleet`.
bytes() {
    du -sb fleet | cut -f1
}

@test "compact: every view of a program stays as it was, to the nanosecond; the files become smaller" {
    PYPROF_OUT=fleet profiled "$PYTHON" "$WORKLOADS/spin.py" 3
    "$PYPROF" compact fleet 2>said.txt
    lines_of said.txt 1 'nothing is to be compacted: 1 file stays \(1 written in the last hour\)$'
    touch -d '2 hours ago' fleet/*
    chmod 640 fleet/*
    stat -c '%a %u %g %Y %n' fleet/* >was.txt
    views before.txt
    before=$(bytes)
    "$PYPROF" compact fleet 2>said.txt
    grep -qE '^pyprof: compacted 1 file: [1-9][0-9.]* [KM]B, [1-9]' said.txt || fail "$(cat said.txt)"
    views after.txt
    cmp before.txt after.txt
    [ "$(bytes)" -lt $((before * 9 / 10)) ] || fail "$before bytes are $(bytes)"
    stat -c '%a %u %g %Y %n' fleet/* | cmp - was.txt
    "$PYPROF" debug-log fleet/* >log.txt
    grep -q DEFLATED log.txt || fail "$(cat log.txt)"
    ! grep -E 'cannot be read|UNKNOWN' log.txt || fail "$(cat log.txt)"
    # Nothing is left to do, until a day has passed.
    "$PYPROF" compact fleet 2>said.txt
    lines_of said.txt 1 'nothing is to be compacted: 1 file stays \(1 compact already, or no profile\)$'
    touch -d '2 days ago' fleet/*
    "$PYPROF" compact fleet 2>said.txt
    [ -s said.txt ]
    views after.txt
    cmp before.txt after.txt
    # A time within an interval says how long that is.
    "$PYPROF" report --from 1s --to 2s fleet 2>&1 | grep -q 'cut intervals of up to .*(compacted)' || fail "$("$PYPROF" report --from 1s --to 2s fleet 2>&1)"
}

@test "compact: readers have all or all, killed at any time it has changed nothing, and what it left goes" {
    fleet fleet 150
    sum=$(ns)
    (for _ in {1..12}; do ns; done) >sums.txt &
    reader=$!
    for wait in 0.002 0.005 0.01 0.02 0.03 0.05 0.07 0.1; do
        (timeout -s KILL $wait "$PYPROF" compact fleet || true) 2>/dev/null
        [ "$(ns)" = "$sum" ]
    done
    echo old >fleet/1000-1700000000000000000-00000000.pyprof.compacting
    "$PYPROF" compact fleet 2>/dev/null
    wait $reader
    [ "$(sort -u sums.txt)" = "$sum" ] || fail "$(cat sums.txt)"
    [ "$(ns)" = "$sum" ]
    [ "$(find fleet -type f | wc -l)" -eq 150 ] || fail "$(find fleet | tail)"
    "$PYPROF" compact fleet 2>said.txt
    lines_of said.txt 1 'nothing is to be compacted'
}

@test "compact: a full disk, links, files of others, of processes that run, and those that are no profiles stay" {
    fleet fleet 5
    cp -a fleet/1000-* outside
    rm fleet/1000-*
    ln -s ../outside fleet/1000-1700000000000000000-00000000.pyprof
    ln fleet/1001-* other-name
    [ "$(id -u)" -ne 0 ] || chown 12345 fleet/1002-*
    cp -a fleet/1003-* fleet/renamed.pyprof
    truncate -s 700 fleet/1003-*
    printf 'no profile' >fleet/1009-1700000000000000000-00000000.pyprof
    touch -d 2023-11-20 fleet/1003-* fleet/1009-*
    sha256sum outside fleet/100[1239]-* fleet/renamed.pyprof >was.txt
    # No byte more can be written.
    (
        trap '' XFSZ
        ulimit -f 0
        run -1 "$PYPROF" compact fleet
        [[ ${#lines[@]} -eq 1 && $output == *"cannot be replaced: File too large"* ]] || fail "$output"
    ) 2>&1
    [ -z "$(find fleet -name '*.compacting')" ]
    run -0 "$PYPROF" compact fleet
    sha256sum --quiet -c was.txt
    [ -L fleet/1000-1700000000000000000-00000000.pyprof ]
    [[ $output == *"compacted 1 file: "* ]] || fail "$output"
    # A name that is in the way of one file is in the way of that file alone.
    for pid in 1003 1004; do
        cp -a fleet/renamed.pyprof fleet/$pid-1700000000000000000-0000000$((pid % 10)).pyprof
        touch -d 2023-11-20 fleet/$pid-*
    done
    mkdir fleet/1003-1700000000000000000-00000003.pyprof.compacting
    run -1 "$PYPROF" compact fleet
    [[ $output == *"00000003.pyprof: cannot be replaced: "*"compacted 1 file: "* ]] || fail "$output"
    rm -r fleet/*.compacting
    flock fleet "$PYPROF" compact fleet >out.txt 2>&1 && fail "$(cat out.txt)"
    grep -q 'another compaction is at work there' out.txt || fail "$(cat out.txt)"
    run -1 "$PYPROF" compact nowhere
    [[ $output == "pyprof: nowhere: "* && ${#lines[@]} -eq 1 ]] || fail "$output"
    # Of a process that runs, however long it has been silent.
    PYPROF_OUT=live LD_PRELOAD=$LIBPYPROF "$PYTHON" -c 'import time; sum(range(9_000_000)); time.sleep(60)' &
    sleeper=$!
    for _ in {1..300}; do
        [ -n "$(find live -name '*.pyprof' -size +0 2>/dev/null)" ] && break
        sleep 0.1
    done
    sleep 2 # it has written all that it will
    touch -d '2 days ago' live/*
    sha256sum live/* >was.txt
    "$PYPROF" compact live 2>said.txt
    lines_of said.txt 1 'nothing is to be compacted: 1 file stays \(1 of processes that run\)$'
    mkdir empty
    "$PYPROF" compact empty 2>said.txt
    lines_of said.txt 1 'no profile in empty belongs to this user$'
    sha256sum --quiet -c was.txt
    kill -9 $sleeper
    wait $sleeper || true
    touch -d '2 days ago' live/*
    run "$PYPROF" compact live
    [[ $output == *"compacted 1 file: "* ]] || fail "$output"
    "$PYPROF" info live 2>&1 | grep -q 'ended by a signal' || fail "$("$PYPROF" info live)"
}

@test "a month of eight workers takes less than 1 GB, the last day of it minute by minute" {
    mkdir fleet
    log=fleet/100-1700000000000000000-00000000.pyprof
    # Six hours, after which a worker begins another file.
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c "import logs; logs.worker('$log', 6 * 3600)"
    sum=$(ns)
    touch -d '2 hours ago' $log
    seconds=$(stat -c %s $log)
    "$PYPROF" compact fleet
    minutes=$(stat -c %s $log)
    "$PYPROF" info --json --intervals fleet >info.json
    touch -d '2 days ago' $log
    "$PYPROF" compact fleet
    hours=$(stat -c %s $log)
    [ "$(ns)" = "$sum" ]
    month=$((8 * (2 * seconds + 4 * minutes + 29 * 4 * hours)))

    [ $month -lt 1000000000 ] || fail "$seconds $minutes $hours: $month bytes"
    # There is a minute in each.
    [ "$(grep -o '"end_unix_ns"' info.json | wc -l)" -ge 360 ] || fail "$(head -c 2000 info.json)"
}
