# contrib/debian: the package that `make deb` makes.
load lib/helper
load lib/debian

@test "the package's changelog has the version, its build-dependencies are those of the build" {
    version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
    head -n 1 "$ROOT/contrib/debian/changelog" | grep -qF "libpyprof ($version-" || fail "not $version: $(head -n 1 "$ROOT/contrib/debian/changelog")"
    # shellcheck disable=SC2016
    sed -n '/^if \[ "$want" = deb/q; s/^need \([^ ]*-dev\) .*/\1/p' "$ROOT/tests/deps.sh" | grep -v libc6 | sort >needed.txt
    sed -n 's/^Build-Depends: //p' "$ROOT/contrib/debian/control" | grep -oE '[a-z0-9]+-dev' | sort | diff needed.txt -
}

# bats test_tags=long
@test "make deb ARCH=arm64: a package of that processor's programs, which depends on their libraries; they run under qemu-user" {
    make -C "$ROOT" -s BUILD="$BUILD" DEB_DIR="$PWD/deb" ARCH=arm64 deb >make.log 2>&1 || fail "$(tail -n 30 make.log)"
    package=$(echo deb/pyprof_*_arm64.deb)
    [ "$(dpkg-deb -f "$package" Architecture)" = arm64 ]
    dpkg-deb -f "$package" Depends >depends.txt
    for name in libc6 libdw1 libelf1 libisal2; do
        grep -qE "(^|, )$name \\(>= " depends.txt || fail "$(cat depends.txt)"
    done
    dpkg-deb -x "$package" .
    for file in usr/share/man/man1/pyprof.1.gz usr/share/zsh/vendor-completions/_pyprof usr/include/pyprof.h; do
        [ -s "$file" ] || fail "no $file"
    done
    debian=$("$ROOT/tests/roots.sh" arm64 | tail -n 1)
    for file in usr/bin/pyprof usr/lib/aarch64-linux-gnu/libpyprof.so; do
        readelf -h "$file" | grep -q 'Machine: *AArch64' || fail "$file"
        ! readelf -d "$file" | grep -E 'RPATH|RUNPATH' || fail "$file"
    done
    qemu-aarch64-static -E LD_PRELOAD="$PWD/usr/lib/aarch64-linux-gnu/libpyprof.so" -E PYPROF_OUT=out "$debian/usr/bin/python3.11" \
        "$WORKLOADS/spin.py" 1 >spin.txt
    qemu-aarch64-static "$debian/lib/ld-linux-aarch64.so.1" --library-path "$debian/lib/aarch64-linux-gnu:$debian/usr/lib/aarch64-linux-gnu" \
        usr/bin/pyprof report out >report.txt
    grep -q ' spin ' report.txt || fail "$(cat report.txt)"
}

# bats test_tags=long
@test "make deb: lintian has no objection; in a clean Debian 12 it installs, works and is purged without a trace" {
    needs_debian
    make -C "$ROOT" -s BUILD="$BATS_TEST_TMPDIR/build" deb >make.log 2>&1 || fail "$(tail -n 30 make.log)"
    for kind in pyprof pyprof-dbgsym; do
        [ -e "$(echo build/deb/"$kind"_*_amd64.deb)" ] || fail "no $kind: $(ls build/deb)"
    done
    lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file build/deb/*.changes >lintian.txt 2>&1 || fail "$(cat lintian.txt)"
    clean_debian
    # shellcheck disable=SC2154 # clean_debian's
    cp build/deb/pyprof_*.deb "$ROOT/contrib/example/app.py" "$root$home"
    here 'apt-get update && apt-get install --no-install-recommends python3' >out.txt 2>&1 || fail "$(tail -n 20 out.txt)"
    (cd "$root" && find etc usr -not -path '*/__pycache__*' | sort) >before.txt
    install_line=$(grep -oE 'apt install \./pyprof_[^ ]*\.deb' "$ROOT/README.md") || fail "README does not show it"
    here "$install_line" >out.txt 2>&1 || fail "$(tail -n 20 out.txt)"
    # shellcheck disable=SC2016
    here 'pyprof run -- python3 app.py && pyprof report && LD_PRELOAD=libpyprof.so python3 app.py && LD_PRELOAD=$(pyprof library) python3 app.py' >out.txt 2>&1 ||
        fail "$(cat out.txt)"
    grep -q 'iterencode (json/encoder.py:' out.txt || fail "$(cat out.txt)"
    here 'pyprof runs' >out.txt
    [ "$(wc -l <out.txt)" -eq 5 ] || fail "$(cat out.txt)" # with the command and the heading
    here 'apt-get purge --autoremove pyprof' >out.txt 2>&1 || fail "$(tail -n 20 out.txt)"
    (cd "$root" && find etc usr -not -path '*/__pycache__*' | sort) | comm -13 before.txt - | grep -v '^etc/ld.so.cache' >left.txt || true
    ! grep -i pyprof left.txt || fail "left"
}
