# Profiles that are kept for long: a part of the time is asked for, of directories of any size.
load lib/helper

# fleet DIRECTORY COUNT: workers of ten seconds each, a new one every minute, the first at 2023-11-14 22:13:20 UTC.
fleet() {
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c "import logs; logs.fleet('$1', $2)"
}

# ns OPTIONS...: the CPU time that these select.
ns() {
    "$PYPROF" export --format collapsed "$@" fleet 2>/dev/null | awk '{ n += $NF } END { printf "%.0f\n", n }'
}

@test "times: of the run, before its end, of day and of dates; adjoining ones add up to the nanosecond" {
    export TZ=UTC
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
    run "$PYPROF" report --from yesterday fleet
    [ "$status" -eq 1 ]
    [[ $output =~ "no sample of ".*" fits --from "[0-9-]+T00:00:00 ]] || fail "$output"
    for wrong in "--from 25:00" "--from tomorrow" "--to 0" "--last 0" "--from -1m --to -2m" "--from 2023-11-15 --to 2023-11-14"; do
        # shellcheck disable=SC2086
        run "$PYPROF" report $wrong fleet
        [ "$status" -eq 2 ] || fail "$wrong: $output"
        [ "${#lines[@]}" -eq 1 ] || fail "$wrong: $output"
    done
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
    export TZ=UTC
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
    /usr/bin/python3 - <<'END_OF_CHECK'
import gzip


def fields(data):
    """Numbers of a message, by field; other fields are bytes."""
    at, found = 0, {}

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value = data[at:at + size]
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


start, length = 1700000063500000000, 61500000000
profile = fields(gzip.open("part.pb.gz").read())
assert profile[9] == [start] and profile[10] == [length], (profile[9], profile[10])
profile = fields(gzip.open("all.pb.gz").read())
assert profile[9] == [1700000000000000000] and profile[10] == [550000000000], (profile[9], profile[10])
count = 0
for resource in fields(open("part.otlp", "rb").read())[1]:
    for scope in fields(resource)[2]:
        for profile in map(fields, fields(scope)[2]):
            found = int.from_bytes(profile[3][0], "little")
            assert found == start and profile[4] == [length], (found, profile[4])
            count += 1
assert count == 4, count
END_OF_CHECK
}
