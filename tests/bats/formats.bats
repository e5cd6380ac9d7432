# Exports as their own readers take them. What google/pprof reads is in pprof.bats.
load lib/helper

# The first extension of each format, from the table in the help.
EXTENSIONS=$("$PYPROF" help export | sed -n 's/^  [a-z-]* *\.\([a-z.-]*\) .*/\1/p')

# The readers of Python's world, in an environment of their own.
readers() {
    "$ROOT/tests/venv.sh" "$VENVS/formats" /usr/bin/python3 gprof2dot snakeviz opentelemetry-proto 2>venv.err ||
        fail "no readers of formats: $(tail -n 5 venv.err)"
}

# once: leaves the exports of one run in the test's directory.
once() {
    if [ ! -e "$BATS_FILE_TMPDIR/info.json" ]; then
        (
            cd "$BATS_FILE_TMPDIR" || exit 1
            # shellcheck disable=SC2153 # prepare sets PYTHON
            profiled "$PYTHON" -c '
import hashlib, os, threading, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def burn(seconds=0.4):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        fib(17)
        hashlib.sha256(b"x" * 200000).digest()

child = os.fork()
thread = threading.Thread(target=burn, name="wor;ker \"(1)\"")
thread.start()
burn()
thread.join()
for _ in range(40):
    short = threading.Thread(target=burn, args=(0.002,))
    short.start()
    short.join()
if child:
    os.waitpid(child, 0)
'
            "$PYPROF" info --json >info.new
            for extension in $EXTENSIONS; do
                "$PYPROF" export pyprof.out -o "p.$extension"
            done
            mv info.new info.json
        )
    fi
    cp -r "$BATS_FILE_TMPDIR"/{p.*,info.json,pyprof.out} .
}

@test "every format holds the CPU of pyprof info, to the nanosecond, by the format's own rules" {
    once
    "$(readers)/bin/python" "$ROOT/tests/oracles/formats.py" total . info.json
}

@test "pstats of every CPython here loads, sorts, prints and merges the pstats export" {
    once
    ns=$(awk '{ n += $NF } END { printf "%.0f\n", n }' p.collapsed)
    count=0
    for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.{8,9,10,11,12,13}.*/bin/python /usr/bin/python3; do
        [ -x "$python" ] || continue
        "$python" "$ROOT/tests/oracles/formats.py" pstats p.pstats "$ns" >pstats.txt 2>&1 ||
            fail "$python: $(tail -n 5 pstats.txt)"
        grep -q '(fib)' pstats.txt || fail "$python: no fib in $(cat pstats.txt)"
        count=$((count + 1))
    done
    [ "$count" -gt 0 ] || fail "no Python here"
}

@test "gprof2dot reads pstats, callgrind, perf and collapsed; snakeviz reads pstats" {
    once
    venv=$(readers)
    "$venv/bin/python" "$ROOT/tests/oracles/formats.py" snakeviz p.pstats
    for format in pstats callgrind perf collapse; do
        file=p.$format
        [ "$format" = collapse ] && file=p.collapsed
        "$venv/bin/gprof2dot" -n 0 -e 0 -f "$format" "$file" >graph.dot 2>dot.err || fail "$format: $(cat dot.err)"
        grep -q 'fib' graph.dot || fail "$format: no fib in $(head -n 20 graph.dot)"
        [ ! -s dot.err ] || fail "$format: $(head -n 5 dot.err)"
    done
}

@test "callgrind_annotate reads the callgrind export and its total is that of info" {
    command -v callgrind_annotate >/dev/null || skip "callgrind_annotate is missing (package valgrind)"
    once
    callgrind_annotate --threshold=100 --inclusive=yes --tree=calling p.callgrind >annotated.txt 2>annotate.err ||
        fail "$(cat annotate.err)"
    ns=$(awk '{ n += $NF } END { printf "%.0f\n", n }' p.collapsed)
    grep 'PROGRAM TOTALS' annotated.txt | tr -d , | grep -q "^ *$ns " || fail "not $ns: $(grep TOTALS annotated.txt)"
    grep -q ':fib' annotated.txt || fail "no fib: $(head -n 40 annotated.txt)"
}

# The rules of flamegraph.pl and of difffolded.pl, which cut lines from their ends.
# shellcheck disable=SC2016
@test "flamegraph.pl's way to read lines: the total is that of info, of a comparison too" {
    once
    ns=$("$PYPROF" info --json pyprof.out | judge '
total = json.load(sys.stdin)["total"]
print(total["cpu_ns"] - total["own_ns"] - total["difference_ns"])')
    for options in "" "--lines --threads --processes --gil" "--native=none"; do
        # shellcheck disable=SC2086
        "$PYPROF" export pyprof.out --format collapsed $options >stacks.txt
        found=$(perl -ne 'my ($stack, $n) = /^(.*)\s+?(\d+(?:\.\d*)?)$/ or die "line: $_"; $sum += $n; die if grep { !length } split /;/, $stack;
            END { printf "%.0f\n", $sum }' stacks.txt)
        [ "$found" -eq "$ns" ] || fail "$options: $found, not $ns"
    done
    "$PYPROF" diff --format collapsed pyprof.out pyprof.out >stacks.txt
    found=$(perl -ne 'my ($rest, $b) = /^(.*)\s+?(\d+(?:\.\d*)?)$/ or die; my ($stack, $a) = $rest =~ /^(.*)\s+?(\d+(?:\.\d*)?)$/ or die;
        $sum += $b; die "$_" if $a != $b; END { printf "%.0f\n", $sum }' stacks.txt)
    [ "$found" -eq "$ns" ] || fail "diff: $found, not $ns"
}

# served NAME [VARIABLE=VALUE]: OTLP has this service.name when the program was started so
served() {
    rm -rf served.out
    profiled env "${@:2}" PYPROF_OUT=served.out "$PYTHON" "$WORKLOADS/spin.py" 0.2
    "$PYPROF" export served.out -o served.otlp
    "$PYPROF" export served.out -o served.otel-logs
    LC_ALL=C grep -zqaP "service\\.name\\x12(?s:.)\\x0a(?s:.)\\Q$1\\E\\x0a" served.otlp || fail "no $1: $(strings served.otlp | grep -A 2 service.name)"
    grep -qF "$1" served.otel-logs || fail "$1: $(head -c 2000 served.otel-logs)"
}

@test "OTLP has the service's name as OpenTelemetry's variables have it, else its default" {
    unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES
    served shop OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES=service.name=other
    served 'my shop, too' 'OTEL_RESOURCE_ATTRIBUTES=a=service.name=no, service.name=my%20shop%2c too,b=c'
    served "unknown_service:$(basename "$(readlink -f "/proc/self/root$("$PYTHON" -c 'import sys; print(sys.executable)')")")" X=1
}

@test "the same profile gives the same bytes; a format can be named instead of an extension" {
    once
    for extension in $EXTENSIONS; do
        "$PYPROF" export pyprof.out -o "again.$extension"
        cmp "p.$extension" "again.$extension"
    done
    "$PYPROF" export pyprof.out --format speedscope | cmp - p.speedscope.json
    "$PYPROF" export pyprof.out --format otlp -o - | cmp - p.otlp
    "$PYPROF" export pyprof.out -o callgrind.out.17
    cmp callgrind.out.17 p.callgrind
    "$PYPROF" export pyprof.out -o again.folded
    cmp again.folded p.collapsed
}

@test "svg: a picture to scale without anything active; hostile names are text in it" {
    once
    /usr/bin/python3 "$ROOT/tests/oracles/formats.py" svg p.svg p.collapsed
    grep -q '<title>fib (' p.svg || fail "no fib: $(head -n 40 p.svg)"
    "$PYPROF" export pyprof.out --threads --lines -o threads.svg
    "$PYPROF" export pyprof.out --threads --lines -o threads.collapsed
    /usr/bin/python3 "$ROOT/tests/oracles/formats.py" svg threads.svg threads.collapsed
    mkdir hostile
    (
        cd hostile || exit 1
        until_sampled '</title><script>' profiled "$PYTHON" -c '
import time

def made(name):
    code = burn.__code__.replace(co_name=name)
    return type(burn)(code.replace(co_qualname=name) if hasattr(code, "co_qualname") else code, globals())

def burn():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass

for name in ("</title><script>alert(1)</script>", "\"]]>&amp;<!--", "\u202eright to left", "\ufffe\x01\x1b[31m", "漢" * 10000):
    made(name)()
'
        "$PYPROF" export pyprof.out -o hostile.svg
        "$PYPROF" export pyprof.out -o hostile.collapsed
        /usr/bin/python3 "$ROOT/tests/oracles/formats.py" svg hostile.svg hostile.collapsed
        grep -qF '&#60;/title&#62;&#60;script&#62;' hostile.svg || fail "no hostile name"
    )
}

@test "a part of the profile has the same total in every format" {
    once
    mkdir part
    pid=$("$PYPROF" info --json pyprof.out | grep -oE '"pid": *[0-9]+' | grep -oE '[0-9]+' | tail -n 1)
    for extension in $EXTENSIONS; do
        "$PYPROF" export pyprof.out -o "part/p.$extension" --pid "$pid" --focus 'burn|fib' --native=none
    done
    ns=$(awk '{ n += $NF } END { printf "%.0f\n", n }' part/p.collapsed)
    [ "$ns" -gt 0 ] || fail "nothing selected"
    grep -q '\.so' part/p.collapsed && fail "native code: $(grep '\.so' part/p.collapsed)"
    echo "{\"total\": {\"cpu_ns\": $ns, \"own_ns\": 0, \"difference_ns\": 0}}" >part/info.json
    "$(readers)/bin/python" "$ROOT/tests/oracles/formats.py" total part part/info.json
    # Slices next to each other hold everything once.
    all=$(awk '{ n += $NF } END { printf "%.0f\n", n }' p.collapsed)
    early=$("$PYPROF" export pyprof.out --format collapsed --to 200ms | awk '{ n += $NF } END { printf "%.0f\n", n }')
    late=$("$PYPROF" export pyprof.out --format collapsed --from 0.2 | awk '{ n += $NF } END { printf "%.0f\n", n }')
    [ $((early + late)) -eq "$all" ] || fail "$early + $late is not $all"
}

@test "every export says what it leaves out: the accounting, with the sum of its stacks" {
    once
    for extension in $EXTENSIONS; do
        file=p.$extension
        "$(readers)/bin/python" "$ROOT/tests/oracles/formats.py" accounting "$file" info.json || fail "$file"
    done
}

@test "the Firefox export of large logs merges samples over time, says so, and keeps every sum" {
    mkdir logs
    "$BUILD/bench/make_logs" logs 4 16
    "$PYPROF" export logs --format collapsed --threads --processes >stacks.txt
    # Six million samples. AddressSanitizer takes memory of its own.
    kib=$(most_memory "$PYPROF" export logs -o large.firefox.json 2>err.txt)
    [ "$kib" -lt 440320 ] || grep -q __asan_init "$PYPROF" || fail "$kib KiB"
    lines_of err.txt 2 'firefox: so many samples that .* one for each [0-9]* s'
    /usr/bin/python3 - <<'END' || fail "see above"
import json, re

text = open("err.txt").read()
profile, slot = json.load(open("large.firefox.json")), int(re.search(r"for each (\d+) s", text).group(1))
wanted = {}
for line in open("stacks.txt"):
    stack, _, ns = line.rpartition(" ")
    key = tuple(stack.split(";")[:2])
    wanted[key] = wanted.get(key, 0) + int(ns)
found = sorted(sum(thread["samples"]["threadCPUDelta"]) for thread in profile["threads"])
wanted = sorted(ns for ns in wanted.values() if ns)
assert found == wanted, (found, wanted)
count = sum(thread["samples"]["length"] for thread in profile["threads"])
assert 1 << 18 < count <= 1 << 21, count
for thread in profile["threads"]:
    samples = list(zip(thread["samples"]["time"], thread["samples"]["stack"]))
    assert len(set(samples)) == len(samples), "a stack twice at one time"
    assert 2 < len({time for time, _ in samples}) <= profile["meta"]["profilingEndTime"] / 1e3 / slot + 1
    assert max(samples)[0] < profile["meta"]["profilingEndTime"]
END
}

@test "large logs are exported whole to the formats that show no time" {
    mkdir logs
    "$BUILD/bench/make_logs" logs 3 16 # more samples than formats that show time keep apart
    ns=$("$PYPROF" info --json logs | grep -oE '"sampled_ns": *[0-9]+' | grep -oE '[0-9]+' | sort -n | tail -n 1)
    "$PYPROF" export logs --format collapsed --threads --gil >stacks.txt
    [ "$(awk '{ n += $NF } END { printf "%.0f\n", n }' stacks.txt)" = "$ns" ] || fail "not $ns"
    for extension in pb.gz speedscope.json otlp; do
        "$PYPROF" export logs -o "p.$extension" || fail "$extension: status $?"
        size=$(wc -c <"p.$extension")
        [ "$size" -gt 1000000 ] || fail "$extension: $size bytes"
    done
}

@test "the OTLP export takes no more memory than that to pprof" {
    mkdir logs
    "$BUILD/bench/make_logs" logs 12 8
    otlp=$(most_memory "$PYPROF" export logs --format otlp)
    pprof=$(most_memory "$PYPROF" export logs --format pprof)
    [ "$otlp" -lt $((pprof * 5 / 4)) ] || fail "$otlp KiB, for pprof $pprof"
}

# interrupted SIGNAL POINT NAME ARGUMENTS...: pyprof, stopped where it calls POINT and then sent the signal, has left
# nothing in out/, where it should write the file NAME; an old file of this name is as it was.
interrupted() {
    local signal=$1 point=$2 name=$3
    shift 3
    rm -rf out
    mkdir out
    [ "$name" = new ] || echo old >"out/$name"
    # What a shell starts in its background ignores SIGINT, and pyprof leaves that so.
    STOP_AT=$point LD_PRELOAD=$PWD/stops.so timeout 60 /usr/bin/python3 - "$signal" "$PYPROF" "$@" <<'END' || fail "$signal at $point: $*"
import os, signal, subprocess, sys

number = getattr(signal, sys.argv[1])
for one in (signal.SIGINT, signal.SIGQUIT):
    signal.signal(one, signal.SIG_DFL)
process = subprocess.Popen(sys.argv[2:], stderr=subprocess.DEVNULL)
_, status = os.waitpid(process.pid, os.WUNTRACED)
assert os.WIFSTOPPED(status), f"it has not stopped: {status}"
files = os.listdir("out")
assert len([name for name in files if "." in name and name.rpartition(".")[0] in "".join(sys.argv)]) >= 1, files
process.send_signal(number)
process.send_signal(signal.SIGCONT)
assert process.wait() == -number, process.returncode
END
    if [ "$name" = new ]; then
        [ -z "$(ls out)" ] || fail "$signal at $point: $*: left: $(ls out)"
    else
        [ "$(ls out)$(cat "out/$name")" = "${name}old" ] || fail "$signal at $point: $*: left: $(ls out)"
    fi
}

@test "Ctrl-C leaves no half file, whatever is written, nor does another end" {
    once
    cat >stops.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int opened;

static void stop_at(const char *point)
{
    const char *wanted = getenv("STOP_AT");
    if (wanted && strcmp(wanted, point) == 0)
        raise(SIGSTOP);
}

FILE *fdopen(int descriptor, const char *mode)
{
    opened = strchr(mode, 'w') != NULL;
    if (opened)
        stop_at("fdopen");
    return ((FILE * (*)(int, const char *)) dlsym(RTLD_NEXT, "fdopen"))(descriptor, mode);
}

int rename(const char *from, const char *to)
{
    stop_at("rename");
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(from, to);
}

void *calloc(size_t count, size_t size)
{
    extern void *__libc_calloc(size_t, size_t);
    const char *wanted = opened ? getenv("STOP_AT") : NULL;
    return wanted && strcmp(wanted, "memory") == 0 ? NULL : __libc_calloc(count, size);
}
END
    gcc -shared -fPIC -o stops.so stops.c -ldl
    for extension in $EXTENSIONS; do
        interrupted SIGINT fdopen new export pyprof.out -o "out/p.$extension"
        interrupted SIGINT rename new export pyprof.out -o "out/p.$extension"
    done
    for point in fdopen rename; do
        interrupted SIGINT "$point" new flame pyprof.out -o out/p.html
        interrupted SIGINT "$point" new merge pyprof.out -o out/p.pyprof
        for extension in txt json collapsed html; do
            interrupted SIGINT "$point" new diff pyprof.out pyprof.out -o "out/p.$extension"
        done
        for signal in SIGTERM SIGHUP SIGQUIT; do
            interrupted "$signal" "$point" new export pyprof.out -o out/p.svg
        done
        interrupted SIGINT "$point" p.svg export pyprof.out -o out/p.svg
    done
    # No memory, no room.
    rm -rf out
    mkdir out
    status=0
    STOP_AT=memory LD_PRELOAD=$PWD/stops.so "$PYPROF" export pyprof.out -o out/p.svg 2>err.txt || status=$?
    [ "$status$(ls out)" = 1 ] || fail "status $status, left: $(ls out)"
    lines_of err.txt 1 'out of memory'
    status=0
    (
        ulimit -f 1
        "$PYPROF" flame pyprof.out -o out/p.html 2>err.txt
    ) || status=$?
    [ "$status$(ls out)" = 1 ] || fail "status $status, left: $(ls out)"
    lines_of err.txt 1 'cannot write out/p.html: File too large'
}

# bats test_tags=long
@test "profiler-cli loads the Firefox export; speedscope's JSON schema takes the speedscope export" {
    command -v npm >/dev/null || skip "npm is missing"
    once
    mkdir -p "$BUILD/npm"
    (cd "$BUILD/npm" && timeout -s KILL 300 npm install --silent --no-audit --no-fund @firefox-devtools/profiler-cli speedscope ajv) >npm.txt 2>&1 ||
        fail "npm: $(tail -n 5 npm.txt)"
    export HOME=$BATS_TEST_TMPDIR
    cli=$BUILD/npm/node_modules/.bin/profiler-cli
    # Its daemon has half a second to start: a busy machine takes longer now and then.
    for _ in 1 2 3 4 5 6; do
        timeout -s KILL 120 "$cli" load p.firefox.json >load.txt 2>&1 && break
        sleep 1
    done
    timeout -s KILL 120 "$cli" thread functions >functions.txt 2>&1 || fail "$(cat functions.txt)"
    timeout -s KILL 120 "$cli" stop >/dev/null 2>&1
    grep -q burn functions.txt || fail "$(cat load.txt functions.txt)"
    cat >schema.js <<'END'
const Ajv = require("ajv");
const read = (path) => JSON.parse(require("fs").readFileSync(path));
const schema = read(process.argv[2]);
const validate = new (Ajv.default || Ajv)({ strict: false }).compile(schema);
if (!validate(read(process.argv[3]))) { console.log(validate.errors); process.exit(1); }
END
    NODE_PATH=$BUILD/npm/node_modules node schema.js "$BUILD/npm/node_modules/speedscope/dist/release/file-format-schema.json" p.speedscope.json
}
