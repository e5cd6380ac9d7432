# shellcheck disable=SC2153 # helper.bash sets PYTHON and VERSION
# Python that comes late, more than once, in several copies, and that goes: programs which embed it (workloads/embed.c).
load helper

# The shared library of $PYTHON and its prefix into LIBRARY and HOME_OF_LIBRARY; EMBED is what runs the program on the
# system that the library is made for. Fails when there is no such library.
find_library() {
    local found prefix
    found=$("$PYTHON" -c 'import glob, os, sys, sysconfig
name = "libpython%d.%d%s.so.1.0" % (*sys.version_info[:2], getattr(sys, "abiflags", ""))
places = [sysconfig.get_config_var("LIBDIR") or "", sys.base_prefix + "/lib", *glob.glob(sys.base_prefix + "/lib/*-linux-gnu")]
print(next((p + "/" + name for p in places if sys.base_prefix in p and os.path.exists(p + "/" + name)), ""), sys.base_prefix)')
    read -r LIBRARY HOME_OF_LIBRARY <<<"$found"
    [ -n "$HOME_OF_LIBRARY" ] || return 1
    prefix=${HOME_OF_LIBRARY%/usr}
    EMBED=("$BUILD/workloads/embed")
    if [ "$prefix" != "$HOME_OF_LIBRARY" ] && [ -n "$prefix" ]; then
        EMBED=("$prefix/lib64/ld-linux-x86-64.so.2" --library-path "$prefix/usr/lib/x86_64-linux-gnu" "${EMBED[@]}")
    fi
}

# embed MODE [ARGUMENTS...]: runs it, leaves its stacks in stacks.txt.
embed() {
    local mode=$1
    shift
    profiled "${EMBED[@]}" "$mode" "$LIBRARY" "$HOME_OF_LIBRARY" "$@" 2>embed.err || fail "embed $mode: status $?: $(cat embed.err)"
    [ ! -s embed.err ] || fail "embed $mode: $(cat embed.err)"
    collapsed >stacks.txt
}

# Each of these Python functions burned 250 ms.
burned() {
    local function
    for function in "$@"; do
        cpu_near "$(reader inclusive stacks.txt "$function")" 250000000 20 "$function"
    done
}

# on_libraries FUNCTION: on each Python that has a shared library.
on_libraries() {
    [ -e "$BUILD/workloads/embed" ] || make -C "$ROOT" -s BUILD="$BUILD" helpers
    export LIBRARY_TEST=$1
    found=0
    # shellcheck disable=SC2317
    one_library() {
        if find_library && [ -n "$LIBRARY" ]; then
            "$LIBRARY_TEST"
            touch "$BATS_TEST_TMPDIR/found"
        else
            echo "no shared library of $PYTHON"
        fi
    }
    with_each_python one_library 3
    [ -e "$BATS_TEST_TMPDIR/found" ] || skip "no Python here has a shared library"
}

late() {
    for mode in local global; do
        embed $mode
        burned in_main in_old_thread in_other_old_thread
        reader stacks stacks.txt 'main \(embed\)' '.*libpython3.*' 'in_main \(<string>:2\)'
        reader stacks stacks.txt 'old_thread \(embed\)' '.*libpython3.*' 'in_old_thread \(<string>:2\)'
        info >info.json
        # What the program burned before it had a Python is no part of the sums.
        between 190000000 "$(reader field info.json before_start_ns)" 400000000 "before_start_ns"
        between 700000000 "$(reader field info.json cpu_ns)" 1300000000 "cpu_ns"
        rm -r pyprof.out
    done
}

@test "libpython loaded late, RTLD_LOCAL and RTLD_GLOBAL: its frames, also in threads that are older" {
    on_libraries late
}

closed() {
    embed close
    burned in_main in_old_thread in_other_old_thread
    reader stacks stacks.txt 'main \(embed\)' 'late \(embed\)' 'burn_native \(embed\).*'
}

@test "dlclose of libpython: it stays, and the program goes on" {
    on_libraries closed
}

deep() {
    embed deepbind
    burned in_main_later in_old_thread in_other_old_thread in_young_thread
}

@test "libpython loaded with RTLD_DEEPBIND: profiled from the program's next thread on" {
    on_libraries deep
}

lives() {
    embed again
    burned first_life second_life third_life
    share=$(reader share stacks.txt '\[python.*\]')
    [ "$share" -le $((5 + $(few 3))) ] || fail "$share % of the CPU has no whole Python stack: $(grep '\[python' stacks.txt)"
}

@test "Py_Initialize and Py_Finalize three times" {
    on_libraries lives
}

guests() {
    embed apps
    burned app_one app_two app_one_again app_two_again app_one_in_thread main_at_last
    [ "$(reader share stacks.txt 'app_one \(.*' 'app_two \(.*')" -eq 0 ] || fail "app_two below app_one"
    [ "$(reader share stacks.txt 'app_two \(.*' 'app_one.* \(.*')" -eq 0 ] || fail "app_one below app_two"
}

@test "two applications in two subinterpreters, in turns on one thread" {
    on_libraries guests
}

own_gil() {
    case $VERSION in
    3.8.* | 3.9.* | 3.10.* | 3.11.*)
        echo "one GIL for all in $VERSION"
        return 0
        ;;
    esac
    embed own
    burned own_one own_two main_at_last
}

@test "subinterpreters with a GIL of their own, at once" {
    on_libraries own_gil
}

ended_elsewhere() {
    embed finalize
    burned in_main at_the_end
}

@test "Py_Finalize in a thread that is not the main one" {
    on_libraries ended_elsewhere
}

bare_thread() {
    embed bare
    share=$(reader share stacks.txt 'bare_thread \(embed\)')
    [ "$share" -ge 10 ] || fail "the bare thread has $share % of the CPU"
    [ "$(reader share stacks.txt 'bare_thread \(embed\)' '.* \(<string>:\d+\)')" -eq 0 ] || fail "it has its creator's Python stack"
    [ "$(reader share stacks.txt '.* \(<string>:\d+\)' 'bare_thread \(embed\)')" -eq 0 ] || fail "it has its creator's Python stack"
    cpu_at_least "$(reader inclusive stacks.txt creator)" 190000000 "the creator"
}

@test "a thread with its creator's TLS has native frames only" {
    on_libraries bare_thread
}

# both FUNCTION...: beside the first library that was found.
both() {
    if [ ! -e "$BATS_TEST_TMPDIR/first" ]; then
        echo "$LIBRARY $HOME_OF_LIBRARY" >"$BATS_TEST_TMPDIR/first"
    fi
    read -r first first_home <"$BATS_TEST_TMPDIR/first"
    if [ "$first" = "$LIBRARY" ] || [ "${#EMBED[@]}" -gt 1 ]; then
        return 0
    fi
    embed two "$first" "$first_home"
    burned "$@"
    rm -r pyprof.out
    read -r LIBRARY HOME_OF_LIBRARY first first_home <<<"$first $first_home $LIBRARY $HOME_OF_LIBRARY"
    embed two "$first" "$first_home"
    burned "$@"
}

apart() {
    both in_thread_of_first in_thread_of_second first_alone second_alone
}

@test "two interpreters of different versions in one process, either way round" {
    on_libraries apart
}

attached_at_once() {
    both first second first_again
}

@test "two interpreters attached to one thread: the one that works shows its frames" {
    skip "the one that came first loses its frames"
    on_libraries attached_at_once
}

with_daemons() {
    for try in 1 2 3 4 5; do
        PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/daemons.py" || fail "run $try: status $?"
    done
    collapsed --all >stacks.txt
    reader stacks stacks.txt 'daemon_work \(.*daemons\.py:\d+\)'
    reader stacks stacks.txt 'main_work \(.*daemons\.py:\d+\)'
}

@test "daemon threads that run while the interpreter ends" {
    with_each_python with_daemons
}

timed_imports() {
    "$PYTHON" -X importtime -c 'import json, decimal' 2>plain.err
    PYPROF_HZ=1000 profiled "$PYTHON" -X importtime -c 'import json, decimal' 2>with.err
    [ "$(wc -l <plain.err)" -eq "$(wc -l <with.err)" ] || fail "$(cat with.err)"
}

@test "python -X importtime" {
    with_each_python timed_imports
}

# cycles COUNT: so many short lives, at the highest rate: signals fall into start and end.
cycles() {
    local i
    for ((i = 0; i < $1; i++)); do
        case $((i % 4)) in
        0) PYPROF_HZ=1000 profiled "$PYTHON" -c pass ;;
        1) PYPROF_HZ=1000 profiled "$PYTHON" -S -E -c pass ;;
        2) PYPROF_HZ=1000 profiled "$PYTHON" -c 'import sys; sys.exit(0)' ;;
        3) PYPROF_HZ=1000 profiled "$PYTHON" -S -c 'sum([i * i for i in range(20000)])' ;;
        esac >out.txt 2>&1 || fail "life $i: status $?: $(cat out.txt)"
        [ ! -s out.txt ] || fail "life $i: $(cat out.txt)"
    done
}

some_cycles() {
    cycles 24
}

many_cycles() {
    cycles 1000
}

@test "hundreds of short lives at the highest rate: none dies" {
    with_each_python some_cycles
}

# bats test_tags=long
@test "a thousand short lives of each Python at the highest rate: none dies" {
    with_each_python many_cycles
}

words() {
    timeout -k 5 600 "$PYTHON" "$WORKLOADS/words.py" "$BUILD/unit/python_words_preload.so" >words.txt 2>&1 ||
        fail "$(cat words.txt)"
    cat words.txt
}

@test "where a thread's state is: the same as the interpreter says, with and without the GIL, in every thread" {
    [ -e "$BUILD/unit/python_words_preload.so" ] || make -C "$ROOT" -s BUILD="$BUILD" units
    with_each_python words
}

@test "an interpreter that cannot be read: native frames, and one line" {
    for version in 3.7 3.6; do
        python=$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version.*/bin/python$version" | sort -V | tail -n 1)
        [ -n "$python" ] && break
    done
    [ -n "$python" ] || skip "no CPython older than 3.8 here"
    profiled "$python" -c 'import threading
for i in range(3):
    t = threading.Thread(target=lambda: sum([i * i for i in range(1000000)]))
    t.start()
    t.join()' 2>with.err
    lines_of with.err 1 'Python 3\.[67]\.[0-9]+: native frames only, its version is not known'
    collapsed >stacks.txt
    reader stacks stacks.txt '.*\(libpython3.*\)'
}
