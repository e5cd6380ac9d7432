# Bad settings and bad files: one clear line, and the program is never disturbed.
load lib/helper

# program: prints "undisturbed" after enough CPU for some samples, leaves with status 3.
program='import sys
sum(i * i for i in range(4000000))
print("undisturbed")
sys.exit(3)'

# runs_with PATTERN NAME=VALUE...: the program is undisturbed and stderr is one line that matches.
runs_with() {
    local pattern=$1 status=0
    shift
    env "$@" LD_PRELOAD="$LIBPYPROF" timeout 60 "$PYTHON" -c "$program" >out.txt 2>err.txt || status=$?
    [ "$status" -eq 3 ] || fail "$*: status $status"
    [ "$(cat out.txt)" = undisturbed ] || fail "$*: stdout: $(cat out.txt)"
    lines_of err.txt 1 "$pattern" || fail "with $*"
}

@test "PYPROF_HZ of abc, 0, 100000, -5, 99x: one line that names it and what is used instead" {
    runs_with 'PYPROF_HZ.*abc.*100' PYPROF_HZ=abc
    runs_with 'PYPROF_HZ.*\b0\b.*100' PYPROF_HZ=0
    runs_with 'PYPROF_HZ.*100000.*[0-9]+' PYPROF_HZ=100000
    runs_with 'PYPROF_HZ.*-5.*100' PYPROF_HZ=-5
    runs_with 'PYPROF_HZ.*99x.*100' PYPROF_HZ=99x
    [ "$(log_files | wc -l)" -eq 5 ] || fail "expected five profiles: $(log_files)"
    # Files outlive terminals: what was said is in the log too.
    sed 's/^pyprof: //' err.txt >notice.txt
    grep -qaFf notice.txt "$(grep -laF 99x pyprof.out/*)" || fail "not in the log: $(cat notice.txt)"
}

@test "PYPROF_SIGNAL of KILL, 999: one line, profiled all the same" {
    runs_with 'PYPROF_SIGNAL.*KILL' PYPROF_SIGNAL=KILL
    runs_with 'PYPROF_SIGNAL.*999' PYPROF_SIGNAL=999
    [ "$(log_files | wc -l)" -eq 2 ] || fail "expected two profiles: $(log_files)"
}

@test "PYPROF_OUT that cannot be made: one line that says where the profile is instead" {
    : >a_file
    mkdir -p tmp
    runs_with 'PYPROF_OUT|a_file' PYPROF_OUT=a_file/below TMPDIR="$PWD/tmp"
    runs_with '/dev/full/pyprof' PYPROF_OUT=/dev/full/pyprof TMPDIR="$PWD/tmp"
    runs_with 'PYPROF_OUT|/proc/nowhere' PYPROF_OUT=/proc/nowhere TMPDIR="$PWD/tmp"
    # The line says where the files are instead.
    place=$(grep -oE '/[^ ]*pyprof-[0-9]+' err.txt | head -n 1)
    [ -n "$place" ] || fail "the line does not name the other place: $(cat err.txt)"
    [ -n "$(log_files "$place")" ] || fail "no profile in $place"
}

@test "no writable place at all: one line, the program goes on" {
    runs_with '.' PYPROF_OUT=/proc/nowhere TMPDIR=/proc/nowhere
}

# refuses STATUS PATTERN ARGUMENTS...: pyprof ends so, with one line on stderr and nothing on stdout.
refuses() {
    local wanted=$1 pattern=$2 status=0
    shift 2
    timeout 60 "$PYPROF" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$wanted" ] || fail "pyprof $*: status $status, expected $wanted: $(cat err.txt)"
    [ ! -s out.txt ] || fail "pyprof $*: stdout: $(head -n 5 out.txt)"
    lines_of err.txt 1 "$pattern" || fail "pyprof $*"
}

@test "pyprof: missing file, no profile, empty directory, empty file: status 1 and one line" {
    mkdir empty
    : >nothing.pyprof
    echo "no profile at all, but some text" >text.pyprof
    head -c 100000 /dev/urandom >noise.pyprof
    mkdir mode && cp noise.pyprof mode/noise.txt
    for verb in report info "export --format collapsed"; do
        # shellcheck disable=SC2086
        {
            refuses 1 'missing\.pyprof' $verb missing.pyprof
            refuses 1 'empty' $verb empty
            refuses 1 'nothing\.pyprof' $verb nothing.pyprof
            refuses 1 'text\.pyprof' $verb text.pyprof
            refuses 1 'noise\.pyprof' $verb noise.pyprof
            refuses 1 'mode' $verb mode
            refuses 1 'pyprof\.out' $verb
        }
    done
    refuses 1 'before: no such file' diff before after
    for words in functons 'text.pyprof functions'; do
        # shellcheck disable=SC2086
        ! "$PYPROF" report $words 2>err.txt || fail "report $words"
        grep -q '^pyprof: a table comes before the path: own, functions, ' err.txt || fail "report $words: $(cat err.txt)"
    done
}

@test "pyprof: a directory with what is whole, cut short, damaged, empty, foreign and of another version: each is named" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    info >whole.json
    mkdir mixed future
    cp pyprof.out/*.pyprof mixed/9-whole.pyprof
    printf 'PYPROF\r\n\377\0\0\0\4\3\2\1and something behind it, as long as a header' | tee mixed/1.pyprof >future/1.pyprof
    : >mixed/2.pyprof
    head -c 100000 /dev/urandom >mixed/3.pyprof
    # A copy that was taken while it grew: the longer one counts, whatever they are called.
    head -c $(($(stat -c %s mixed/9-whole.pyprof) / 2)) mixed/9-whole.pyprof >mixed/4.pyprof
    echo "no profile" >mixed/readme.txt
    mkdir mixed/5.pyprof
    ln -s nowhere mixed/6.pyprof
    "$PYPROF" info --json mixed >mixed.json 2>err.txt
    [ "$(reader field mixed.json samples)" -eq "$(reader field whole.json samples)" ] || fail "$(cat mixed.json)"
    for pattern in '1 part that is there twice' '1 file that cannot be opened .mixed/6.pyprof.' \
        '3 files that are no profiles .mixed/2.pyprof' '1 file that is of another version .mixed/1.pyprof.'; do
        lines_of err.txt 1 "$pattern"
    done
    "$PYPROF" merge mixed -o merged.pyprof 2>err.txt
    lines_of err.txt 1 'merged 2 parts, .*; left out: .*1 file that is of another version'
    refuses 1 'future/1.pyprof: written by another version of libpyprof.so: use' report future
    rm mixed/4.pyprof mixed/9-whole.pyprof
    refuses 1 'nothing that can be read: .*3 files that are no profiles' report mixed
}

@test "pyprof: unknown verb, unknown option, missing argument: status 2" {
    refuses 2 'frobnicate' frobnicate
    refuses 2 'no-such-option' report --no-such-option
    refuses 2 'no-such-option' info --no-such-option
    refuses 2 'unit' export --format collapsed --unit parsecs
    refuses 2 'nonsense' export --format nonsense
    refuses 2 '^pyprof: --no-native has become --native=none$' report --no-native
    refuses 2 "'none', 'libraries' or 'all'" top --native some
    refuses 2 '.' run
}

# answers WORD PATTERN: the one line of `pyprof WORD`.
answers() {
    refuses 2 "^pyprof: no command '$1'; .*$2" "$1"
}

@test "pyprof: what users of other profilers type, what is misspelled, and programs get an answer" {
    for word in record start trace attach; do answers $word 'pyprof run -- python app.py$'; done
    answers attach 'a running process cannot be joined'
    answers dump 'pyprof top PID$'
    answers stats 'pyprof report$'
    answers flamegraph 'pyprof flame;.*app.svg$'
    for pair in reprot:report rnu:run flme:flame expotr:export diff2:diff anotate:annotate tpo:top; do
        answers ${pair%:*} "did you mean 'pyprof ${pair#*:}'\?$"
    done
    for word in xy frobnicate s o; do answers $word "'pyprof --help' lists them$"; done
    answers app.py 'pyprof run -- python app.py$'
    answers python3.12 'pyprof run -- python3.12$'
    refuses 2 "pyprof run -- python3 'my app.py' -v$" python3 'my app.py' -v
    answers 4711 'pyprof top 4711$'
    refuses 2 'pyprof run -- python app.py' # nothing at all
    # Nothing is offered that does not exist.
    grep -oE 'pyprof [a-z]+' "$ROOT/tools/unknown_command.c" | sort -u | sed 's/pyprof //' | grep -vxE 'shows|does' | while read -r verb; do
        "$PYPROF" help "$verb" >out.txt || fail "$verb"
    done
}

@test "pyprof library: a path for LD_PRELOAD" {
    mkdir place # the sanitized pyprof has no library beside it
    cp "$PYPROF" "$LIBPYPROF" place
    env LD_PRELOAD="$(place/pyprof library)" "$PYTHON" -c 'sum(range(9000000))' 2>err.txt
    [ ! -s err.txt ] || fail "$(cat err.txt)"
    [ "$(log_files | wc -l)" -eq 1 ] || fail "$(ls pyprof.out)"
    refuses 2 'pyprof run -- python' library python
}

@test "pyprof export: what to do without a format" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    refuses 2 'a page for the browser is made by: pyprof flame -o x.html' export -o x.html
    for arguments in "-o x.foo" ""; do
        # shellcheck disable=SC2086
        ends_with 2 "$PYPROF" export $arguments 2>err.txt
        grep -qE '^  speedscope +\.speedscope\.json$' err.txt || fail "$(cat err.txt)"
    done
    refuses 2 "[-]-run takes the id of a run or its beginning, not ''" report --run ''
}

@test "pyprof: a file that may not be read says why, and one that is damaged is warned of in the report" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1.2
    set -- pyprof.out/*.pyprof
    python3 - "$1" damaged.pyprof <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) * 7 // 8] ^= 0xFF  # the names of the first samples are whole
open(sys.argv[2], "wb").write(data)
END
    "$PYPROF" report --full damaged.pyprof 2>err.txt | unwrapped >report.txt
    lines_of err.txt 1 'not read: .*damaged'
    grep -q 'the log is damaged: 1 block of ' report.txt || fail "$(cat report.txt)"
    [ "$(OUT=damaged.pyprof collapsed 2>err.txt | awk '{ n += $NF } END { print n + 0 }')" -gt 300000000 ] || fail "little is left"
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    chmod 755 "$BATS_RUN_TMPDIR" "$(dirname "$(dirname "$BATS_TEST_TMPDIR")")" "$(dirname "$BATS_TEST_TMPDIR")" "$BATS_TEST_TMPDIR" pyprof.out
    setpriv --reuid 65534 --regid 65534 --clear-groups "$PYPROF" --version >out.txt || skip "pyprof is out of reach for other users"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$PYPROF" report pyprof.out 2>err.txt && fail "it could read"
    lines_of err.txt 1 'cannot be opened \(.*\.pyprof: Permission denied: run pyprof as .*\)'
    chmod 777 pyprof.out
    setpriv --reuid 65534 --regid 65534 --clear-groups "$PYPROF" push --once --to otlp+http://127.0.0.1:9 pyprof.out 2>err.txt && fail "it sent nothing, and says that it did"
    lines_of err.txt 1 '\.pyprof and what else cannot be opened is left out: Permission denied: run pyprof as '
    setpriv --reuid 65534 --regid 65534 --clear-groups "$PYPROF" serve --listen 127.0.0.1:0 pyprof.out 2>served.txt 3>&- &
    SERVER=$!
    wait_until 60 grep -q http: served.txt || fail "$(cat served.txt)"
    curl -sS "$(grep -o 'http://[^ ]*' served.txt)metrics" >metrics.txt
    grep -qx 'pyprof_unreadable_files [1-9]' metrics.txt || fail "$(cat metrics.txt)"
    kill "$SERVER"
    lines_of served.txt 2 'is left out: Permission denied'
}

@test "pyprof: --help and --version" {
    "$PYPROF" --help >out.txt
    grep -q report out.txt || fail "$(cat out.txt)"
    "$PYPROF" --version >out.txt
    grep -qE '[0-9]+\.[0-9]+' out.txt || fail "$(cat out.txt)"
}

@test "pyprof: an output that cannot be written is status 1" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    refuses 1 'no/such' export pyprof.out -o no/such/place.pb.gz
    ends_with 1 "$PYPROF" export --format collapsed >/dev/full 2>err.txt || fail "a full device: $(cat err.txt)"
}
