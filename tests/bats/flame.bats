# `pyprof flame` on the command line; what the page does in a browser is tests/web's.
load lib/helper

# Which Python ran does not matter here.
spin() {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
}

@test "flame writes pyprof.html, and the same to stdout" {
    spin
    "$PYPROF" flame
    grep -q '^</html>' pyprof.html || fail "the page does not end"
    [ "$("$PYPROF" flame pyprof.out -o - | cksum)" = "$(cksum <pyprof.html)" ] || fail "stdout gives another page"
}

@test "flame: the page names nothing outside of itself and its policy lets nothing in" {
    spin
    "$PYPROF" flame -o page.html
    grep -q "Content-Security-Policy.*default-src 'none'.*script-src 'sha256-.*style-src 'sha256-" page.html
    ! grep -qE "unsafe-inline|<link|src=" page.html || fail "$(grep -nE 'unsafe-inline|<link|src=' page.html | head)"
    [ "$(grep -oE 'https?://[^" )]*' page.html | sort -u)" = "http://www.w3.org/2000/svg" ]
}

@test "flame: what cannot be is said" {
    spin
    run "$PYPROF" flame --diff pyprof.out -o page.html
    [ "$status" -eq 2 ]
    [[ $output == *"--diff takes two profiles"* ]] || fail "$output"
    run "$PYPROF" flame nowhere -o page.html
    [ "$status" -eq 1 ]
    run "$PYPROF" flame -o nowhere/page.html
    [ "$status" -eq 1 ]
    [[ $output == *"cannot write nowhere/page.html"* ]] || fail "$output"
    [ ! -e page.html ]
    "$PYPROF" flame --diff pyprof.out pyprof.out -o page.html
    [ -s page.html ]
}

# sum ARGUMENTS...: CPU time of collapsed stacks.
sum() {
    "$PYPROF" export --format collapsed "$@" | awk '{ n += $NF } END { printf "%.0f\n", n }'
}

# page FILE: what it holds, for:
page() {
    /usr/bin/python3 "$ROOT/tests/oracles/page.py" "$1" >page.txt
}

# of NAME
of() {
    awk -v name="$1" '$1 == name { print $2 }' page.txt
}

@test "flame of large logs takes memory for stacks, not for samples, and every sum of its page is true" {
    mkdir logs
    "$BUILD/bench/make_logs" logs 4 16
    kib=$(most_memory "$PYPROF" flame logs -o large.html)
    # Six million samples, in 20,000 stacks: one by one they take twice as much. So does AddressSanitizer.
    [ "$kib" -lt 409600 ] || grep -q __asan_init "$PYPROF" || fail "$kib KiB"
    page large.html
    whole=$(sum logs)
    [ "$(of apart) $(of table.who) $(of table.when) $(of table.busy)" = "1 $whole $whole $whole" ] ||
        fail "wanted $whole: $(cat page.txt)"
    [ "$(of cells)" -lt 2700000 ] || fail "$(of cells) cells"
    [ "$(of buckets)" -gt 20 ] || fail "$(of buckets) buckets"
    # With it the rest would take half a minute.
    ! grep -q __asan_init "$PYPROF" || return 0
    [ "$(of process.1002)" = "$(sum logs --pid 1002)" ] || fail "process: $(cat page.txt)"
    wide=$(($(of bucket_ns) / 1000000000))
    for bucket in 0 7 20; do
        wanted=$(sum logs --from $((bucket * wide)) --to $(((bucket + 1) * wide)))
        [ "$(of "bucket.$bucket")" = "$wanted" ] || fail "bucket $bucket, wanted $wanted: $(cat page.txt)"
    done
    for options in "--focus native_function_47" "--thread ^worker --native=none"; do
        # shellcheck disable=SC2086
        "$PYPROF" flame logs $options -o chosen.html
        page chosen.html
        # shellcheck disable=SC2086
        wanted=$(sum logs $options)
        [ "$(of apart) $(of table.who) $(of table.when)" = "1 $wanted $wanted" ] || fail "$options, wanted $wanted: $(cat page.txt)"
    done
    # A part that is small enough has all there is to tell.
    "$PYPROF" flame logs --pid 1001 --from 100 --to 900 -o part.html
    page part.html
    [ "$(of apart) $(of table.all)" = "0 $(sum logs --pid 1001 --from 100 --to 900)" ] || fail "$(cat page.txt)"
}
