# make install and uninstall.
load lib/helper

@test "install into DESTDIR, use from there, uninstall leaves nothing" {
    make -C "$ROOT" -s BUILD="$BUILD" DESTDIR="$BATS_TEST_TMPDIR/stage" PREFIX=/opt/pyprof install
    [ -x stage/opt/pyprof/bin/pyprof ] || fail "$(find stage)"
    [ -e stage/opt/pyprof/lib/libpyprof.so ] || fail "$(find stage)"
    [ -s stage/opt/pyprof/include/pyprof.h ] || fail "$(find stage)"
    for file in man/man1/pyprof.1 man/man1/pyprof-report.1 man/man5/pyprof-log.5 man/man7/libpyprof.7 \
        bash-completion/completions/pyprof zsh/site-functions/_pyprof fish/vendor_completions.d/pyprof.fish; do
        [ -s "stage/opt/pyprof/share/$file" ] || fail "no $file: $(find stage)"
    done
    mv stage/opt/pyprof moved
    # The installed program finds the library beside it.
    PYPROF_OUT=pyprof.out until_sampled spin moved/bin/pyprof run -- "$PYTHON" "$WORKLOADS/spin.py" 0.3
    moved/bin/pyprof report >report.txt
    grep -q spin report.txt || fail "$(cat report.txt)"
    mv moved stage/opt/pyprof
    make -C "$ROOT" -s BUILD="$BUILD" DESTDIR="$BATS_TEST_TMPDIR/stage" PREFIX=/opt/pyprof uninstall
    [ -z "$(find stage -type f)" ] || fail "left: $(find stage -type f)"
}

# The program is linked without the library, in the way that binds most at link time, and finds the functions where it is preloaded.
@test "pyprof.h: C and C++ programs compile against the installed header, and find its functions with the library only" {
    make -C "$ROOT" -s BUILD="$BUILD" DESTDIR="$PWD/stage" PREFIX=/usr install
    cat >program.c <<'END'
#include <pyprof.h>
#include <stdio.h>
int main(void)
{
    int (*is_active)(void) = PYPROF_FIND(pyprof_is_active), (*pause)(void) = PYPROF_FIND(pyprof_pause),
        (*resume)(void) = PYPROF_FIND(pyprof_resume), (*flush)(void) = PYPROF_FIND(pyprof_flush),
        (*find_contexts)(void) = PYPROF_FIND(pyprof_find_contexts), (*begin)(void) = PYPROF_FIND(pyprof_traces_begin),
        (*end)(void) = PYPROF_FIND(pyprof_traces_end), (*labels)(const char *) = PYPROF_FIND(pyprof_labels),
        (*request)(const char *, uint64_t) = PYPROF_FIND(pyprof_request);
    int there = !!is_active + !!pause + !!resume + !!flush + !!find_contexts + !!begin + !!end + !!labels + !!request;
    printf("%d functions\n", there);
    if (there == 9) /* in a program without Python they have nothing to do */
        printf("%d\n", is_active() | pause() | resume() | flush() | begin() | end() | request("/cart", 1));
    return 0;
}
END
    cp program.c program.cc
    for compile in "gcc -std=c11 -no-pie -fno-pie program.c" "gcc -std=gnu17 -O2 -pie program.c" "g++ -std=c++11 program.cc"; do
        # shellcheck disable=SC2086
        $compile -Wall -Wextra -Wpedantic -Werror -Istage/usr/include -o program -ldl
        ./program >alone.txt
        lines_of alone.txt 1 '^0 functions$'
        LD_PRELOAD=$PWD/stage/usr/lib/libpyprof.so ./program >preloaded.txt
        lines_of preloaded.txt 2 '^9 functions$'
        tail -n 1 preloaded.txt | grep -qx 0 || fail "$(cat preloaded.txt)"
    done
}
