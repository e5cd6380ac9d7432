# `pyprof flame` on the command line; what the page does in a browser is tests/web's.
load helper

# Which Python ran does not matter here.
spin() {
    profiled "$(list_pythons | head -n 1 | cut -d' ' -f1)" "$WORKLOADS/spin.py" 0.3
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
