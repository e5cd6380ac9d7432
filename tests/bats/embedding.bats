# shellcheck disable=SC2153 # helper.bash sets PYTHON and VERSION
# Python that comes late, more than once, in several copies, and that goes: programs which embed it (workloads/embed.c).
load lib/helper

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

# Each of these Python functions used 250 ms.
cpu_used() {
    local function
    for function in "$@"; do
        cpu_near "$(reader inclusive stacks.txt "$function")" 250000000 20 "$function"
    done
}

# on_libraries LINES FUNCTION: on those of these Pythons that have a shared library.
on_libraries() {
    export LIBRARY_TEST=$2
    # shellcheck disable=SC2317
    one_library() {
        if find_library && [ -n "$LIBRARY" ]; then
            "$LIBRARY_TEST"
        else
            echo "no shared library of $PYTHON"
        fi
    }
    with_pythons "$1" one_library
}

on_each_library() {
    on_libraries "$(list_pythons)" "$1"
}

# For what depends on the interpreter: in `make check` on two of them, by the test's name.
on_two_of_them() {
    local lines
    lines=$(list_pythons)
    [ -n "${CHECK_LONG:-}${PYTHONS:-}" ] || lines=$(two_for_this_test <<<"$lines")
    on_libraries "$lines" "$1"
}

# In `make check-long` on each.
on_a_library() {
    local lines
    lines=$(list_pythons)
    [ -n "${CHECK_LONG:-}" ] || lines=$(list_pythons | grep ' shared' | one_for_this_test)
    on_libraries "$lines" "$1"
}

# On the oldest and another one.
on_two_libraries() {
    local lines first
    lines=$(list_pythons)
    [ -n "${CHECK_LONG:-}" ] || lines=$(grep ' shared' <<<"$lines" | { read -r first && echo "$first" && one_for_this_test; })
    on_libraries "$lines" "$1"
}

late() {
    local mode modes=local
    case $VERSION in 3.8.* | 3.13.*) modes="local global" ;; esac
    for mode in $modes; do
        embed "$mode"
        cpu_used in_main in_old_thread in_other_old_thread
        reader stacks stacks.txt 'main \(embed\)' '.*libpython3.*' 'in_main \(<string>:2\)'
        reader stacks stacks.txt 'old_thread \(embed\)' '.*libpython3.*' 'in_old_thread \(<string>:2\)'
        info >info.json
        # What the program used before it had a Python is no part of the sums.
        between 100000000 "$(reader field info.json before_start_ns)" 400000000 "before_start_ns"
        between 700000000 "$(reader field info.json cpu_ns)" 1300000000 "cpu_ns"
        rm -r pyprof.out
    done
}

@test "libpython loaded late, RTLD_LOCAL and RTLD_GLOBAL: its frames, also in threads that are older" {
    on_two_of_them late
}

main_ends() {
    local mode
    for mode in main_gone main_goes; do
        embed $mode >out.txt
        [ "$(cat out.txt)" = $'the thread ends\nat exit' ] || fail "$mode: it says: $(cat out.txt)"
        cpu_used goes_on goes_on_further
        adds_up
        grep -qF "$mode" info.json || fail "$mode: no command line: $(cat info.json)"
        rm -r pyprof.out
    done
    # As the kernel alone does it, whose status that is, and nothing of libc's.
    local plain=0 status=0
    rm at_exit
    "${EMBED[@]}" main_past_libc "$LIBRARY" "$HOME_OF_LIBRARY" >plain.txt 2>&1 || plain=$?
    TIMEOUT=60 profiled "${EMBED[@]}" main_past_libc "$LIBRARY" "$HOME_OF_LIBRARY" >out.txt 2>&1 || status=$?
    [ "$status" -eq "$plain" ] || fail "main_past_libc: status $status, without us $plain"
    diff plain.txt out.txt
    [ ! -e at_exit ] || fail "exit handlers were called"
}

@test "Python in a thread that outlives the main one: its frames, its exit handlers, its end" {
    on_a_library main_ends
}

closed() {
    embed close
    cpu_used in_main in_old_thread in_other_old_thread
    reader stacks stacks.txt 'main \(embed\)' 'late \(embed\)' 'burn_native \(embed\).*'
}

@test "dlclose of libpython: it stays, and the program goes on" {
    on_a_library closed
}

deep() {
    embed deepbind
    cpu_used in_main_later in_old_thread in_other_old_thread in_young_thread
}

@test "libpython loaded with RTLD_DEEPBIND: profiled from the program's next thread on" {
    on_a_library deep
}

lives() {
    embed again
    cpu_used first_life second_life third_life
    share=$(reader share stacks.txt '\[python.*\]')
    [ "$share" -le $((5 + $(few 3))) ] || fail "$share % of the CPU has no whole Python stack: $(grep '\[python' stacks.txt)"
}

@test "Py_Initialize and Py_Finalize three times" {
    on_a_library lives
}

guests() {
    embed apps
    cpu_used app_one app_two app_one_again app_two_again app_one_in_thread main_at_last
    # In 3.8 and 3.9 nothing on a thread's stack tells whose thread state runs there.
    case $VERSION in 3.8.* | 3.9.*) ;; *) cpu_used app_two_in_thread app_two_without_gil app_two_in_other_thread ;; esac
    [ "$(reader share stacks.txt 'app_one \(.*' 'app_two \(.*')" -eq 0 ] || fail "app_two below app_one"
    [ "$(reader share stacks.txt 'app_two \(.*' 'app_one.* \(.*')" -eq 0 ] || fail "app_one below app_two"
}

@test "two applications in two subinterpreters, in turns on one thread" {
    on_two_of_them guests
}

own_gil() {
    case $VERSION in
    3.8.* | 3.9.* | 3.10.* | 3.11.*)
        echo "one GIL for all in $VERSION"
        return 0
        ;;
    esac
    embed own
    cpu_used own_one own_two main_at_last
}

@test "subinterpreters with a GIL of their own, at once" {
    on_each_library own_gil
}

ended_elsewhere() {
    embed finalize
    cpu_used in_main at_the_end
}

@test "Py_Finalize in a thread that is not the main one" {
    on_a_library ended_elsewhere
}

orphaned() {
    embed orphan
    cpu_used before_the_end
    [ "$(reader share stacks.txt '.* \(<string>:\d+\)' 'burn_native \(embed\)')" -eq 0 ] || fail "Python frames after the end"
    [ "$(reader share stacks.txt 'burn_native \(embed\)' '.* \(<string>:\d+\)')" -eq 0 ] || fail "Python frames after the end"
    [ "$(reader share stacks.txt 'burn_native \(embed\)')" -ge 20 ] || fail "$(cat stacks.txt)"
}

@test "a thread whose thread state was freed by another's Py_Finalize" {
    on_a_library orphaned
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
    on_a_library bare_thread
}

# share_of FUNCTION FRAME...: the percentage of the function's stacks that have these frames in this order.
share_of() {
    local whole
    whole=$(reader share stacks.txt "$1 \\(.*")
    shift
    echo $((100 * $(reader share stacks.txt "$@") / whole))
}

# There are more thread states of this thread, without frames, than a handler lists (up to 3.12 create() leaves one), and
# one guest calls another.
called_guest() {
    cat >calls.py <<'END'
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INNER = """
import time
def inside():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        sum(range(200))
inside()
"""
GUEST = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def between(run):
    run(interpreters.create(), INNER)
between(getattr(interpreters, "exec", getattr(interpreters, "run_string", None)))
"""

def calls():
    run = getattr(interpreters, "exec", getattr(interpreters, "run_string", None))
    guests = [interpreters.create() for _ in range(8)]
    yield run(guests[3], INNER)
    if sys.version_info >= (3, 11):
        yield run(guests[4], "INNER = %r\n%s" % (INNER, GUEST))

list(calls())
END
    local times=1 c='.*interpreters.*\.so\)'
    case $VERSION in 3.[89].* | 3.10.*) ;; *) times=2 ;; esac
    profiled "$PYTHON" calls.py
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt inside)" $((times * 500000000)) 20 inside
    between 97 "$(share_of inside 'calls \(.*' "$c" 'inside \(.*')" 100 "percent with callers: $(cat stacks.txt)"
    [ "$(reader share stacks.txt 'inside \(.*' "$c")" -eq 0 ] || fail "a caller is below: $(cat stacks.txt)"
    if [ "$times" -eq 2 ]; then
        between 40 "$(share_of inside 'calls \(.*' "$c" 'between \(.*' "$c" 'inside \(.*')" 60 "percent of two guests: $(cat stacks.txt)"
    fi
    # up to 3.10, interpreters that are being made read files without the GIL, which leaves the caller's functions alone
    if [ "$times" -eq 2 ] && "$PYPROF" report --full | grep 'do not pair\|lack Python functions'; then
        fail "unpaired: $(cat stacks.txt)"
    fi
    rm -r pyprof.out
}

@test "a subinterpreter that a function calls: the functions of all interpreters, and the C code between, in their order" {
    with_each_python called_guest
}

workers() {
    embed workers
    cpu_used in_first_worker in_second_worker
    "$PYPROF" runs >runs.txt
    lines_of runs.txt 2 ' 2 .*embed workers'
    # The server that is started next is another launch.
    embed workers
    "$PYPROF" runs >runs.txt
    lines_of runs.txt 3 ' 2 .*embed workers'
}

@test "a server without Python in its master: all workers are one run, one after the other too" {
    on_a_library workers
}

# both MODE FUNCTION...: beside the first library that was found.
both() {
    local mode=$1
    shift
    if [ ! -e "$BATS_TEST_TMPDIR/first" ]; then
        echo "$LIBRARY $HOME_OF_LIBRARY" >"$BATS_TEST_TMPDIR/first"
    fi
    read -r first first_home <"$BATS_TEST_TMPDIR/first"
    if [ "$first" = "$LIBRARY" ] || [ "${#EMBED[@]}" -gt 1 ]; then
        return 0
    fi
    embed "$mode" "$first" "$first_home"
    cpu_used "$@"
    rm -r pyprof.out
    read -r LIBRARY HOME_OF_LIBRARY first first_home <<<"$first $first_home $LIBRARY $HOME_OF_LIBRARY"
    embed "$mode" "$first" "$first_home"
    cpu_used "$@"
}

apart() {
    both two in_thread_of_first in_thread_of_second first_alone second_alone
    if [ -e pyprof.out ]; then
        "$PYPROF" report --full >report.txt
        grep -qE '^1 process.* Python 3\.[0-9.]+ and 3\.[0-9.]+: ' report.txt || fail "not both are named: $(head -n 2 report.txt)"
    fi
}

@test "two interpreters of different versions in one process, either way round" {
    on_two_libraries apart
}

attached_at_once() {
    both two first second first_again
}

@test "two interpreters attached to one thread: the one that works shows its frames" {
    on_two_libraries attached_at_once
}

at_once() {
    both at_once one_at_once other_at_once
}

@test "two interpreters that start in the same moment" {
    on_two_libraries at_once
}

collect() {
    if [ "${#EMBED[@]}" -eq 1 ]; then
        echo "$LIBRARY $HOME_OF_LIBRARY" >>"$BATS_TEST_TMPDIR/libraries"
    fi
}

@test "five interpreters in one process: four show their frames, one line names the fifth" {
    on_each_library collect
    mapfile -t arguments < <(sort -u "$BATS_TEST_TMPDIR/libraries" | tail -n 5 | tr ' ' '\n')
    [ "${#arguments[@]}" -eq 10 ] || skip "no five shared libraries of Python here"
    profiled "$BUILD/workloads/embed" many "${arguments[@]}" 2>embed.err || fail "status $?: $(cat embed.err)"
    lines_of embed.err 1 'Python 3\.[0-9]+\.[0-9]+: native frames only, there are too many interpreters'
    collapsed >stacks.txt
    cpu_used one_of_many two_of_many three_of_many four_of_many
    [ "$(reader inclusive stacks.txt five_of_many)" -eq 0 ] || fail "the fifth has frames"
}

# Up to 3.13 CPython itself may crash when a daemon thread looks at an interpreter that is no more (in take_gil, gh-96387's
# reset of a request; 1 of 100 to 300 runs). Our last flush made it one of two, before these threads had time to leave.
@test "daemon threads that run while the interpreter ends" {
    local run status died=0
    for run in 1 2 3 4 5 6 7 8; do
        status=0
        PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/daemons.py" || status=$?
        case $status in
            0) ;;
            139) died=$((died + 1)) && rm "$BATS_TEST_TMPDIR/crashed" ;;
            *) fail "run $run: status $status" ;;
        esac
    done
    [ "$died" -le 1 ] || echo "$died of 8" >"$BATS_TEST_TMPDIR/crashed"
    collapsed --all >stacks.txt
    reader stacks stacks.txt 'daemon_work \(.*daemons\.py:\d+\)'
    reader stacks stacks.txt 'main_work \(.*daemons\.py:\d+\)'
}

@test "daemon threads without timers: RLIMIT_SIGPENDING is used up" {
    # 2 pending signals for the user: the first timers get them, the others none
    (ulimit -i 2 && profiled "$PYTHON" "$WORKLOADS/daemons.py" 2>stderr.txt)
    grep -q 'ulimit -i' stderr.txt || fail "no word about missing timers: $(cat stderr.txt)"
}

@test "python -X importtime" {
    "$PYTHON" -X importtime -c 'import json, decimal' 2>plain.err
    PYPROF_HZ=1000 profiled "$PYTHON" -X importtime -c 'import json, decimal' 2>with.err
    [ "$(wc -l <plain.err)" -eq "$(wc -l <with.err)" ] || fail "$(cat with.err)"
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

@test "hundreds of short lives at the highest rate: none dies" {
    with_each_python cycles 12
}

# bats test_tags=long
@test "a thousand short lives of each Python at the highest rate: none dies" {
    with_each_python cycles 1000
}

words() {
    timeout -k 5 600 "$PYTHON" "$WORKLOADS/thread_states.py" "$BUILD/unit/python_words_preload.so" >words.txt 2>&1 ||
        fail "$(cat words.txt)"
    cat words.txt
}

@test "where a thread's state is: the same as the interpreter says, with and without the GIL, in every thread" {
    with_each_python words
}

fields() {
    timeout -k 5 60 "$PYTHON" "$WORKLOADS/layout_fields.py" "$BUILD/unit/python_words_preload.so" >fields.txt 2>&1 ||
        fail "$(cat fields.txt)"
    cat fields.txt
}

@test "what is known of how an interpreter lays out its objects: the same as the objects say" {
    with_each_python fields
}

# Empty when there is none.
old_python() {
    compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.[67].*/bin/python3.[67]" | sort -V | tail -n 1
}

@test "an interpreter that is too old: native frames, and one line" {
    python=$(old_python)
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

beside_an_old_one() {
    if [ "${#EMBED[@]}" -gt 1 ]; then
        return 0
    fi
    profiled "${EMBED[@]}" two "$OLD" "$OLD_HOME" "$LIBRARY" "$HOME_OF_LIBRARY" 2>embed.err || fail "status $?: $(cat embed.err)"
    lines_of embed.err 1 'Python 3\.[67]\.[0-9]+: native frames only, its version is not known'
    collapsed >stacks.txt
    cpu_used second in_thread_of_second second_alone
    info >info.json
    grep -q "\"python_version\": \"$VERSION\"" info.json || fail "$(grep python_version info.json)"
}

@test "beside an interpreter that cannot be read the other one shows its frames" {
    python=$(old_python)
    [ -n "$python" ] || skip "no CPython older than 3.8 here"
    OLD_HOME=${python%/bin/*}
    OLD=$(compgen -G "$OLD_HOME/lib/libpython3.[67]*.so.1.0") || skip "no shared library of $python"
    export OLD OLD_HOME
    on_a_library beside_an_old_one
}

run_fake() {
    profiled "$BUILD/workloads/run_fake" ./libfake.so >fake.out 2>&1
}

# fake REASON OPTION...: an interpreter that is built so is named and not read.
fake() {
    local reason=$1
    shift
    gcc -shared -fPIC -O1 -o libfake.so "$@" "$WORKLOADS/lib/fake_python.c" -lpthread
    until_sampled 'Py_Initialize' run_fake || fail "$*: $(cat fake.out)"
    lines_of fake.out 1 "^pyprof: Python [34]\.[0-9]+\.[0-9]+: native frames only, $reason"
    reader stacks stacks.txt 'Py_Initialize \(libfake\.so\)'
}

@test "debug builds, pre-releases, unknown versions and layouts: native frames, and one line that says why" {
    fake "it is a debug build" -DVERSION=0x030b07f0 -DDEBUG_BUILD
    fake "it is a debug build" -DVERSION=0x030e02f0 -DSTACKREF_DEBUG -DOFFSETS
    fake "it is a pre-release" -DVERSION=0x030f00a3 -DOFFSETS
    fake "it is a pre-release" -DVERSION=0x030e00b4 -DOFFSETS
    fake "its version is not known" -DVERSION=0x031000f0
    fake "its version is not known" -DVERSION=0x040000f0
    for version in 0x030d02f0 0x030e02f0 0x030f02f0; do
        fake "what it says about its own layout is not for its version" -DVERSION=$version
        fake "its frames are laid out in a way" -DVERSION=$version -DOFFSETS
    done
}

# The recipe of CONTRIBUTING. A row of 3.16 made of the newest is used, and compared with what the interpreter publishes.
@test "a new version is a row of layouts.c: nothing else is to be changed for it to be read" {
    local source=$BATS_TEST_DIRNAME/../../preload/cpython/layouts.c last next
    last=$(grep -oP '\.minor = \K[0-9]+' "$source" | tail -n 1)
    next=$((last + 1))
    awk -v last="$last" -v next_minor="$next" '
        /^    \{$/ { row = ""; in_row = 1 }
        in_row { row = row $0 "\n" }
        /^    \},$/ { in_row = 0; if (row ~ "minor = " last "," && row !~ /free_threaded/) newest = row }
        /^};$/ && newest { sub("minor = " last, "minor = " next_minor, newest); printf "%s", newest; newest = "" }
        { print }' "$source" | sed 's|"layout.h"|"preload/cpython/layout.h"|' >layouts.c
    gcc -std=c11 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -I "$BATS_TEST_DIRNAME/../.." -c layouts.c
    cp "$BUILD/libpyprof_unit.a" library.a
    ar r library.a layouts.o 2>/dev/null
    gcc -shared -nostartfiles -Wl,-z,nodelete -o libpyprof.so -Wl,--whole-archive library.a -Wl,--no-whole-archive -ldl -lpthread
    gcc -shared -fPIC -O1 -o libfake.so -DVERSION="$((3 << 24 | next << 16 | 0xf0))" -DOFFSETS "$WORKLOADS/lib/fake_python.c" -lpthread
    export LIBPYPROF=$PWD/libpyprof.so
    until_sampled 'Py_Initialize' run_fake || fail "$(cat fake.out)"
    lines_of fake.out 1 "^pyprof: Python 3\.$next\.0: native frames only, its frames are laid out in a way"
}

# The loader lists a library before it relocates it: what another thread is loading must be left alone.
@test "a library of Python that is being loaded while another one starts" {
    gcc -shared -fPIC -O1 -o libfake.so -DVERSION=0x040000f0 "$WORKLOADS/lib/fake_python.c" -lpthread
    gcc -shared -fPIC -O1 -o libslow.so -DVERSION=0 -DSLOW "$WORKLOADS/lib/fake_python.c" -lpthread
    profiled "$BUILD/workloads/run_fake" ./libfake.so ./libslow.so >fake.out 2>&1 || fail "status $?: $(cat fake.out)"
    lines_of fake.out 2 "^pyprof: Python 4\.0\.0: native frames only"
    lines_of fake.out 2 "^pyprof: Python 4\.1\.0: native frames only"
}

# Nothing of this one is bound when the other starts: libpython waits for the library that is relocated before it.
not_relocated() {
    if [ "${#EMBED[@]}" -gt 1 ]; then
        return 0
    fi
    gcc -shared -fPIC -O1 -o libwait.so "$WORKLOADS/lib/slowly_bound.c"
    gcc -shared -fPIC -O1 -o libfake.so -DVERSION=0x040000f0 "$WORKLOADS/lib/fake_python.c" -lpthread
    echo >empty.c
    gcc -shared -fPIC -o libloader.so empty.c -Wl,--no-as-needed "$LIBRARY" ./libwait.so -Wl,-rpath,"${LIBRARY%/*}"
    profiled PYTHONHOME="$HOME_OF_LIBRARY" "$BUILD/workloads/run_fake" ./libfake.so ./libloader.so >fake.out 2>&1 ||
        fail "status $?: $(cat fake.out)"
    lines_of fake.out 1 "^pyprof: Python 4\.0\.0: native frames only"
    "$PYPROF" info | grep -qF "Python $VERSION" || fail "not taken up: $("$PYPROF" info | head -n 3)"
}

@test "a libpython that is not relocated yet while another one starts" {
    on_a_library not_relocated
}

# An executable that is not position-independent has its own copies of the library's variables that it names.
copies() {
    local directory=${LIBRARY%/*}
    if [ "${#EMBED[@]}" -gt 1 ]; then
        return 0
    fi
    cat >copies.c <<'END'
#include <stdio.h>
extern struct type { void *word[64]; } PyCode_Type, PyFrame_Type, PyType_Type, PyGen_Type;
extern void Py_InitializeEx(int);
extern int PyRun_SimpleString(const char *);
int main(void)
{
    Py_InitializeEx(0);
    printf("%d\n", PyCode_Type.word[1] == &PyType_Type && PyFrame_Type.word[1] == PyGen_Type.word[1]);
    return PyRun_SimpleString("import time\n"
                              "def copied(seconds):\n"
                              "    end = time.thread_time() + seconds\n"
                              "    while time.thread_time() < end:\n"
                              "        sum(i * i for i in range(2000))\n"
                              "copied(0.25)\n");
}
END
    gcc -no-pie -fno-pie -o copies copies.c -L"$directory" -l:"${LIBRARY##*/}" -Wl,-rpath,"$directory"
    readelf -rW copies | grep -q 'COPY.*PyCode_Type' || fail "no copy relocation: $(readelf -rW copies)"
    PYTHONHOME=$HOME_OF_LIBRARY profiled ./copies >copies.txt 2>&1 || fail "status $?: $(cat copies.txt)"
    lines_of copies.txt 1 '^1$'
    collapsed >stacks.txt
    cpu_used copied
}

@test "an executable that has its own copies of libpython's types" {
    on_a_library copies
}

unused() {
    profiled "${EMBED[@]}" unused "$LIBRARY" "$HOME_OF_LIBRARY" >embed.err 2>&1 || fail "status $?: $(cat embed.err)"
    [ ! -s embed.err ] || fail "$(cat embed.err)"
    [ ! -e pyprof.out ] || fail "it made $(find pyprof.out)"
}

@test "a program that has libpython and does not use it is left alone, and pays once" {
    on_a_library unused
}

plug_in() {
    library=$("$PYTHON" -c 'import sysconfig
print(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"), sep="/")')
    # Debian's interpreters are static, and where their libpython would be is another matter.
    if [[ $library != *.so* ]] || [ ! -e "$library" ]; then
        echo "linked into the program: nothing to unload"
        return 0
    fi
    home=$("$PYTHON" -c 'import sys; print(sys.base_prefix)')
    [ "$(PYTHONHOME=$home "$BUILD/workloads/embeds" "$library")" = gone ] || fail "it stays mapped without us"
    # The handler calls into the interpreter: it must not go away under it.
    profiled PYTHONHOME="$home" "$BUILD/workloads/embeds" "$library" >out.txt
    [ "$(cat out.txt)" = mapped ] || fail "it says: $(cat out.txt)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_in_plugin)" 500000000 10 "in the interpreter"
    seen=$(grep -F 'burn_after_python (embeds)' stacks.txt | awk '{ n += $NF } END { print n + 0 }')
    cpu_near "$seen" 500000000 10 "after dlclose of the interpreter"
}

@test "a program that unloads its Python lives on, and is profiled" {
    with_each_python plug_in
}
