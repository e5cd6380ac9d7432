# `pyprof flame` on the command line; what the page does in a browser is tests/web's.
load lib/helper

# Which Python ran does not matter here.
spin() {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
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

@test "flame writes the picture that export writes, and says which file it wrote" {
    spin
    "$PYPROF" flame -o page.html 2>said.txt
    grep -qx 'pyprof: wrote page.html' said.txt || fail "$(cat said.txt)"
    "$PYPROF" flame -o f.svg 2>said.txt
    grep -qx 'pyprof: wrote f.svg' said.txt || fail "$(cat said.txt)"
    "$PYPROF" export --format svg | cmp - f.svg
    head -n 2 f.svg | grep -q '<svg ' || fail "$(head -n 2 f.svg)"
    for name in f.png f.json page pyprof.out/x.pdf; do
        run -2 "$PYPROF" flame -o "$name"
        [[ $output == *"$name: flame writes a page (.html) or a picture (.svg)"* ]] || fail "$output"
        [ ! -e "$name" ]
    done
    profile=$(echo pyprof.out/*)
    before=$(cksum <"$profile")
    run -2 "$PYPROF" flame -o "$profile" pyprof.out
    [ "$(cksum <"$profile")" = "$before" ] || fail "the profile is gone"
    "$PYPROF" flame -o /dev/null
}

# over_time PROFILE: fails unless the page has in each part of the run what info --intervals has there.
over_time() {
    "$PYPROF" flame "$1" -o time.html
    page time.html
    "$PYPROF" info --json --intervals "$1" >info.json
    /usr/bin/python3 "$ROOT/tests/oracles/strip.py" page.txt info.json || fail "$1: $(cat page.txt)"
}

@test "flame: CPU over time is that of info --intervals, and never more than the machine has" {
    for seconds in 0.3 3; do
        PYPROF_OUT=$seconds.pyprof profiled "$PYTHON" "$WORKLOADS/spin.py" $seconds
        over_time $seconds.pyprof
    done
    [ "$(of buckets)" -ge 2 ] || fail "$(cat page.txt)"
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c 'import logs; logs.uneven("uneven.pyprof")'
    over_time uneven.pyprof
    [ "$(of buckets)" -ge 25 ] || fail "$(cat page.txt)"
}

@test "a time within a flush interval selects its part of the interval, and that is said" {
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 -c 'import logs; logs.uneven("uneven.pyprof")'
    # The first second is one interval, always busy: of half of it there is half.
    "$PYPROF" export --format collapsed --from 0 --to 500ms uneven.pyprof >half.txt 2>said.txt
    ns=$(awk '{ n += $NF } END { printf "%.0f\n", n }' half.txt)
    between 494999990 "$ns" 495000010 "ns CPU in half a second"
    grep -q 'cut intervals of up to 1.0 s' said.txt || fail "$(cat said.txt)"
    # What is cut is little: nothing is said.
    "$PYPROF" export --format collapsed --from 0.5 uneven.pyprof >rest.txt 2>said.txt
    [ ! -s said.txt ] || fail "$(cat said.txt)"
    rest=$(awk '{ n += $NF } END { printf "%.0f\n", n }' rest.txt)
    [ $((ns + rest)) -eq "$(sum uneven.pyprof)" ] || fail "$ns + $rest is not $(sum uneven.pyprof)"
}

@test "flame: what cannot be is said" {
    spin
    run -2 "$PYPROF" flame --diff pyprof.out pyprof.out -o page.html
    [[ $output == *"pyprof diff -o FILE.html BASE NEW"* ]] || fail "$output"
    run -1 "$PYPROF" flame nowhere -o page.html
    run -1 "$PYPROF" flame -o nowhere/page.html
    [[ $output == *"cannot write nowhere/page.html"* ]] || fail "$output"
    [ ! -e page.html ]
}

@test "flame of large logs takes memory for stacks, not for samples, and every sum of its page is true" {
    local megabytes=16
    mkdir logs
    # With AddressSanitizer memory is not asked about, and the page is divided from 4 MB on.
    ! grep -q __asan_init "$PYPROF" || megabytes=4
    "$BUILD/bench/make_logs" logs 4 $megabytes
    kib=$(most_memory "$PYPROF" flame logs -o large.html)
    # Six million samples, in 20,000 stacks: one by one they take twice as much. So does AddressSanitizer.
    [ "$kib" -lt 409600 ] || [ $megabytes -eq 4 ] || fail "$kib KiB"
    page large.html
    whole=$(sum logs)
    [ "$(of apart) $(of table.who) $(of table.when) $(of table.busy)" = "1 $whole $whole $whole" ] ||
        fail "wanted $whole: $(cat page.txt)"
    [ "$(of cells)" -lt 2700000 ] || fail "$(of cells) cells"
    [ "$(of buckets)" -gt 20 ] || fail "$(of buckets) buckets"
    [ $megabytes -eq 16 ] || return 0 # the rest would take half a minute
    [ "$(of process.1002)" = "$(sum logs --pid 1002)" ] || fail "process: $(cat page.txt)"
    wide=$(($(of bucket_ns) / 1000000000))
    for bucket in 0 7 20; do
        wanted=$(sum logs --from $((bucket * wide)) --to $(((bucket + 1) * wide)))
        [ "$(of "bucket.$bucket")" = "$wanted" ] || fail "bucket $bucket, wanted $wanted: $(cat page.txt)"
    done
    for options in "--pid 1001 --focus native_function_47" "--pid 1003 --thread ^worker --native=none"; do
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
