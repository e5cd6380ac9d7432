# make install and uninstall.
load helper

@test "install into DESTDIR, use from there, uninstall leaves nothing" {
    make -C "$ROOT" -s BUILD="$BUILD" DESTDIR="$BATS_TEST_TMPDIR/stage" PREFIX=/opt/pyprof install
    [ -x stage/opt/pyprof/bin/pyprof ] || fail "$(find stage)"
    [ -e stage/opt/pyprof/lib/libpyprof.so ] || fail "$(find stage)"
    for file in man/man1/pyprof.1 man/man1/pyprof-report.1 man/man5/pyprof-log.5 man/man7/libpyprof.7 \
        bash-completion/completions/pyprof zsh/site-functions/_pyprof fish/vendor_completions.d/pyprof.fish; do
        [ -s "stage/opt/pyprof/share/$file" ] || fail "no $file: $(find stage)"
    done
    mv stage/opt/pyprof moved
    PYTHON=$(list_pythons | tail -n 1 | cut -d' ' -f1)
    # The installed program finds the library beside it.
    moved/bin/pyprof run -- "$PYTHON" "$WORKLOADS/spin.py" 0.3
    moved/bin/pyprof report >report.txt
    grep -q spin report.txt || fail "$(cat report.txt)"
    mv moved stage/opt/pyprof
    make -C "$ROOT" -s BUILD="$BUILD" DESTDIR="$BATS_TEST_TMPDIR/stage" PREFIX=/opt/pyprof uninstall
    [ -z "$(find stage -type f)" ] || fail "left: $(find stage -type f)"
}
