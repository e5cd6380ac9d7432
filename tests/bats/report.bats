# What `pyprof report` and `annotate` answer: which function, which line, which package, which process; and whether their
# figures agree.
load lib/helper

# Leaves the profile of a server on asyncio with three endpoints, and its client: checkout costs most, by far.
served_once() {
    if [ ! -e "$BATS_FILE_TMPDIR/stacks.txt" ]; then
        (cd "$BATS_FILE_TMPDIR" && write_server && until_sampled 'checkout .*sign_order' profiled "$PYTHON" -W ignore server.py)
    fi
    cp -rp "$BATS_FILE_TMPDIR"/{pyprof.out,service.py,server.py} .
}

write_server() {
    cat >service.py <<'END'
import hashlib, json

def price(item):
    return sum(ord(digit) * 3 % 7 for digit in str(item) * 20)

def sign_order(order):
    text = json.dumps(order).encode()
    return hashlib.pbkdf2_hmac("sha256", text, b"salt", 2000).hex()

def checkout():
    order = {"items": [price(i) for i in range(30)]}
    return sign_order(order)

def search():
    return sorted(str(i * 7919 % 977) for i in range(300))

def health():
    return "ok"
END
    cat >server.py <<'END'
import asyncio, time
import service

async def handle(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        writer.write((str(getattr(service, line.decode().strip())()) + "\n").encode())
        await writer.drain()
    writer.close()

async def client(port, end):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    while time.process_time() < end:
        for name in (b"checkout", b"search", b"health"):
            writer.write(name + b"\n")
            await reader.readline()
    writer.close()

async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*[client(port, time.process_time() + 1.5) for _ in range(4)])
    server.close()

asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())
END
    touch -d '1 hour ago' service.py server.py
}

# self_sum TABLE: the shares of self time in a table of report.txt, with its rest, as a whole number.
self_sum() {
    awk -v table="$1" '/^ +SELF +TOTAL/ { on = index($0, table) } !NF { on = 0 } on && $2 == "s" { sum += $3 } END { printf "%.0f", sum }' report.txt
}

# rows_of TABLE: the texts of its rows.
rows_of() {
    awk -v table="$1" '/^ +SELF +TOTAL/ { on = index($0, table); next } !NF { on = 0 } on' report.txt | cut -c29- | grep -v '^and ' || true
}

# on_terminal COLUMNS ARGUMENTS...: what pyprof writes to a terminal, without colours and messages.
on_terminal() {
    # shellcheck disable=SC2016 # the inner shell's
    NO_COLOR=1 /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" "$1" bash -c '"$@" 2>/dev/null' - "$PYPROF" "${@:2}"
}

# one_screen: screen.txt fits a terminal of 24 lines and 80 columns, with the command and the prompt.
one_screen() {
    [ "$(wc -l <screen.txt)" -le 22 ] || fail "$(wc -l <screen.txt) lines: $(cat screen.txt)"
    ! LC_ALL=C.UTF-8 grep -E '.{81}' screen.txt || fail "wider than 80: $(cat screen.txt)"
}

@test "report: what a service's CPU went to, why, and what to type next, on one screen" {
    served_once
    on_terminal 80 report >screen.txt
    one_screen
    # So less ends by itself.
    ! command -v less >/dev/null || PAGER=less timeout 60 /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" 80 "$PYPROF" report >less.txt ||
        fail "it waits: $(cat less.txt)"
    grep -qE '^ +[0-9.]+ s +[0-9.]+ % +[0-9]+  handle +[0-9]+ % checkout → sign_order' screen.txt || fail "$(cat screen.txt)"
    grep -A1 '  handle ' screen.txt | grep -qE ' of it at service.py:8: return hashlib.pbkdf2_hmac' || fail "$(cat screen.txt)"
    next=$(sed -n 's/^Next: \(pyprof annotate service.py\) .*/\1/p' screen.txt)
    [ -n "$next" ] || fail "$(cat screen.txt)"
    eval "\"$PYPROF\" ${next#pyprof }" >annotated.txt
    grep -q 'return hashlib.pbkdf2_hmac' annotated.txt || fail "$(cat annotated.txt)"
    # The same by its functions; and all tables.
    "$PYPROF" report own >report.txt
    grep -qE '^ +[0-9.]+ s +[0-9.]+ % +[0-9.]+ %  sign_order \(.*service.py:6\) +[0-9]+ % ' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report --full >report.txt
    between 99 "$(self_sum 'PYTHON FUNCTION')" 101 "percent in the first table"
    # Of the endpoints the costliest is the first one.
    rows_of 'FUNCTION OF THE APPLICATION' | grep -oE '^(checkout|search|health)' | head -n 1 | grep -q checkout || fail "$(cat report.txt)"
    ! rows_of 'FUNCTION OF THE APPLICATION' | grep -E 'asyncio|json/' || fail "not the application's"
}

@test "report: a script's own functions with the libraries that they call, which have all CPU time, and their hottest lines" {
    mkdir -p lib/site-packages
    cat >lib/site-packages/alpha.py <<'END'
import time
def work(seconds, back=None):
    end = time.process_time() + seconds
    while time.process_time() < end:
        back and back()
END
    cat >app.py <<'END'
import sys, time
sys.path.insert(0, "lib/site-packages")
import alpha

def helper():
    return sum(n * n for n in range(3000))

def write():
    end = time.process_time() + 0.08
    while time.process_time() < end: pass
    alpha.work(0.3); alpha.work(0.05)

def read():
    alpha.work(0.25)
    alpha.work(0.5, helper)

def main():
    write()
    read()

main()
END
    touch -d '1 hour ago' app.py
    until_sampled 'helper' profiled "$PYTHON" app.py
    on_terminal 80 report >screen.txt
    one_screen
    awk '/SELF.LIBRARIES/ { on = 1 } !NF { on = 0 } on && $2 == "s"' screen.txt >rows.txt
    between 99 "$(awk '{ sum += $3 } END { printf "%.0f", sum }' rows.txt)" 101 "percent"
    # A generator expression is its function's; what a library calls back is not the caller's.
    [ "$(awk '{ print $7 }' rows.txt | head -n 3 | sort | tr '\n' ' ')" = "helper read write " ] || fail "$(cat screen.txt)"
    grep -qE '  read \(app.py:13\) +(9[0-9]|100) % work \(alpha\)$' rows.txt || fail "$(cat screen.txt)"
    "$PYPROF" report --sort total | sed -n 5p | grep -qE ' <module> \(app.py:1\)' || fail "$("$PYPROF" report --sort total)"
    # The lines in question are the hottest, by that measure; of a line the costliest piece is marked, and no other.
    "$PYPROF" report lines >lines.txt
    awk '$2 == "s" && $4 == "%" { if (count++ && $3 > last) exit 1; last = $3 }' lines.txt || fail "$(cat lines.txt)"
    [[ $VERSION == 3.[89].* || $VERSION == 3.10.* ]] || grep -A 1 -E ' app.py:11 ' lines.txt | grep -qE '^ +\^{15}$' || fail "$(cat lines.txt)"
    grep -qE ' app.py:14 ' lines.txt || fail "$(cat lines.txt)"
    # How many rows have theirs on the screen depends on the rows, of which chance makes some more; the first one has.
    grep -A 1 '  helper (app.py:5)' screen.txt | grep -qE ' of it at app.py:6: return sum' || fail "$(cat screen.txt)"
    "$PYPROF" report --json >report.json
    /usr/bin/python3 -c 'import json; print(json.load(open("report.json"))["hottest"]["lines"][0]["line"])' | grep -qx "$(awk '$2 == "s" && $4 == "%" { sub(".*:", "", $5); print $5; exit }' lines.txt)" ||
        fail "$(cat lines.txt)"
}

@test "long output goes through a pager on a terminal, unless there is none or it is not wanted" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    for arguments in "report" "report --full" "annotate spin.py" info; do
        # shellcheck disable=SC2086 # words
        PAGER="sed s/^/paged:/" on_terminal 100 $arguments >paged.txt
        [ "$(grep -c '^paged:' paged.txt)" -eq "$(wc -l <paged.txt)" ] || fail "$arguments: $(cat paged.txt)"
        for pager in "" cat /nowhere/less; do
            # shellcheck disable=SC2086 # words
            PAGER=$pager on_terminal 100 $arguments | diff - <(sed 's/^paged://' paged.txt) || fail "$arguments: '$pager'"
        done
        # shellcheck disable=SC2086 # words
        ! PAGER="sed s/^/paged:/" on_terminal 100 $arguments --no-pager | grep paged: || fail "$arguments"
        # shellcheck disable=SC2086 # words
        ! PAGER="sed s/^/paged:/" "$PYPROF" $arguments | grep paged: || fail "$arguments: no terminal"
    done
    PAGER="head -n 1" on_terminal 80 report --full >first.txt || true
    [ "$(wc -l <first.txt)" -eq 1 ] || fail "$(cat first.txt)"
}

@test "report: --top cuts every table and says so, --sort sorts every table" {
    served_once
    "$PYPROF" report --full --top 2 >report.txt
    for table in 'PYTHON FUNCTION' 'FUNCTION OF THE APPLICATION'; do
        [ "$(rows_of "$table" | wc -l)" -eq 2 ] || fail "$table: $(cat report.txt)"
    done
    [ "$(grep -cE ' and [0-9]+ more \(--top [0-9]+\)$' report.txt)" -ge 2 ] || fail "$(cat report.txt)"
    # As many as it says, and they are all.
    most=$(sed -n 's/.* and [0-9]* more (--top \([0-9]*\))$/\1/p' report.txt | sort -n | tail -n 1)
    "$PYPROF" report --full --top "$most" >report.txt
    between 99 "$(self_sum 'PYTHON FUNCTION')" 101 "percent in the first table"
    for sort in self total; do
        "$PYPROF" report --full --sort "$sort" --top 1000 >report.txt
        column=$([ "$sort" = self ] && echo 3 || echo 5)
        awk -v column="$column" '/^ +SELF/ { last = 101 } $2 == "s" && $4 == "%" && $6 == "%" { if ($column > last) exit 1; last = $column }' report.txt ||
            fail "not by $sort: $(cat report.txt)"
    done
    ends_with 2 "$PYPROF" report --sort name 2>err.txt
    lines_of err.txt 1 "takes 'self', 'total' or 'cpu-per-request'"
}

@test "report: the lines are those of the function that has the hottest line, whatever its callees" {
    mkdir -p lib/site-packages/alpha
    cat >lib/site-packages/alpha/__init__.py <<'END'
import time
def first(end):
    while time.process_time() < end: pass
def second(end):
    while time.process_time() < end: pass
END
    cat >app.py <<'END'
import sys, time
sys.path.insert(0, "lib/site-packages")
import alpha

def spread(start):
    alpha.first(start + 0.35) or alpha.second(start + 0.7)

def many(start):
    while time.process_time() < start + 0.15: pass
    while time.process_time() < start + 0.3: pass
    while time.process_time() < start + 0.45: pass
    while time.process_time() < start + 0.6: pass

spread(time.process_time())
many(time.process_time())
END
    touch -d '1 hour ago' app.py
    profiled "$PYTHON" app.py
    "$PYPROF" report --full >report.txt
    grep -A 1 'LINE OF THE APPLICATION, libraries included$' report.txt | grep -qE '^ +[0-9.]+ s +[0-9.]+ %  app.py:6 +alpha' ||
        fail "$(cat report.txt)"
    "$PYPROF" report --json >report.json
    judge '
hottest = json.load(open("report.json"))["hottest"]
assert hottest["function"] == "spread" and hottest["lines"][0]["line"] == 6, hottest'
}

@test "lines of a module in a zip file have their text, those of a template say what they are" {
    cat >work.py <<'END'
import time
def slow(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
END
    printf 'import work\nwork.slow(0.3)\n' >__main__.py
    for packing in '' -c; do
        # shellcheck disable=SC2086 # no word, or one
        "$PYTHON" - $packing <<'END'
import sys, zipfile
with open("app.pyz", "wb") as file:
    file.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED if sys.argv[1:] else zipfile.ZIP_STORED) as archive:
        archive.comment = b"PK"
        archive.write("__main__.py")
        archive.write("work.py", "package/work.py")
        archive.writestr("package/__init__.py", "")
        archive.writestr("work.py", "from package.work import *")
END
        touch -d '1 hour ago' app.pyz
        rm -rf pyprof.out
        profiled "$PYTHON" app.pyz
        "$PYPROF" report lines | grep -qE '^ +0\.[0-9]+ s +[0-9.]+ %  work.py:4 +while time.thread_time' || fail "$("$PYPROF" report lines)"
        "$PYPROF" annotate package/work.py | grep -qE ' 4 +while time.thread_time' || fail "$("$PYPROF" annotate package/work.py)"
        # Whatever has become of the archive, it is read without harm.
        for ((size = $(stat -c %s app.pyz); size > 0; size -= 7)); do
            truncate -s "$size" app.pyz
            touch -d '1 hour ago' app.pyz
            ((size % 5)) || "$PYPROF" annotate work.py >/dev/null
        done
    done
    printf '<p>{{ x }}</p>\n<p>{{ y }}</p>\n' >page.html
    touch -d '1 hour ago' page.html
    rm -rf pyprof.out
    profiled "$PYTHON" -c '
exec(compile("""import time
def root():
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
root()""", "page.html", "exec"))'
    for verb in "report lines" "annotate page.html"; do
        # shellcheck disable=SC2086 # words
        "$PYPROF" $verb | unwrapped | grep -q 'a template: lines of the Python code that its engine made of it' || fail "$("$PYPROF" $verb)"
        # shellcheck disable=SC2086 # words
        ! "$PYPROF" $verb | grep -A 2 'a template: lines' | grep -E '.{81}' || fail "wider than 80: $("$PYPROF" $verb)"
    done
}

@test "report: CPU time by package, as a sum and as a table" {
    # A package installed somewhere, and the program that calls it.
    mkdir -p lib/site-packages/alpha lib/site-packages/beta
    printf 'def work(n):\n    return sum(i * i for i in range(n))\n' >lib/site-packages/alpha/__init__.py
    # Code that the package makes is its own.
    cat >lib/site-packages/beta/core.py <<'END'
made = {}
exec(compile("def work(n):\n    return sum(i * i for i in range(n))\n", "<made>", "exec"), made)

def work(n):
    return made["work"](n)
END
    touch lib/site-packages/beta/__init__.py
    cat >app.py <<'END'
import sys, time
sys.path.insert(0, "lib/site-packages")
import alpha, beta.core
end = time.process_time() + 1.5
while time.process_time() < end:
    alpha.work(30000)
    beta.core.work(10000)
END
    until_sampled 'beta/core' profiled "$PYTHON" app.py
    "$PYPROF" report --full >report.txt
    unwrapped <report.txt >flat.txt
    grep -qE 'By package: alpha [0-9.]+ %, beta [0-9.]+ %' flat.txt || fail "$(cat report.txt)"
    "$PYPROF" report --by package >report.txt
    awk '/^ +CPU SAMPLES  PACKAGE/ { on = 1; next } !NF { on = 0 } on' report.txt >packages.txt
    between 99 "$(awk '$2 == "s" { sum += $3 } END { printf "%.0f", sum }' packages.txt)" 101 "percent"
    [ "$(awk '$2 == "s" { print $6 }' packages.txt | head -n 2 | tr '\n' ' ')" = "alpha beta " ] || fail "$(cat report.txt)"
    ! awk '{ print $6 }' packages.txt | grep made || fail "$(cat report.txt)"
    "$PYPROF" report --json | judge '
report = json.load(sys.stdin)
packages = {row["name"]: row["self_ns"] for row in report["packages"]}
assert sum(packages.values()) == report["shown_ns"], packages
assert packages["alpha"] > packages["beta"], packages' || fail "$("$PYPROF" report --json)"
}

@test "report --json: name, file, line, module, class, kind and origin of each function, and all CPU time" {
    cat >app.py <<'END'
import json, time

class Shop:
    def checkout(self):
        return [json.dumps({"n": i}) for i in range(300)]

end = time.process_time() + 1
while time.process_time() < end:
    Shop().checkout()
END
    until_sampled 'checkout.*encode' profiled "$PYTHON" app.py
    "$PYPROF" report --json >report.json
    /usr/bin/python3 - "$VERSION" <<'END' || fail "$(cat report.json)"
import json, os, sys

report = json.load(open("report.json"))
rows = {row["text"].split(" (")[0].split(".")[-1]: row for row in report["python"]}
checkout = rows["checkout"]
assert checkout["line"] == 4 and os.path.basename(checkout["file"]) == "app.py", checkout
assert checkout["module"] == "app" and checkout["origin"] == "application" and checkout["kind"] == "python", checkout
if tuple(map(int, sys.argv[1].split(".")[:2])) >= (3, 11):
    assert checkout["name"] == "Shop.checkout" and checkout["class"] == "Shop", checkout
encode = rows["encode"]
assert encode["module"] == "json.encoder" and encode["origin"] == "standard library", encode
assert encode["file"].startswith("/") and encode["file"].endswith("json/encoder.py"), encode
assert sum(row["self_ns"] for row in report["python"]) == report["shown_ns"], "not all CPU time"
for row in report["functions"]:
    assert row["kind"] == "pseudo" or row["name"] and row["origin"] and row["package"], row
# The work is done in the standard library: the line is the application's.
hottest = report["hottest"]
assert hottest["function"].endswith("checkout") and hottest["lines"][0]["line"] == 5, hottest
END
}

@test "report: a program that waited is told so, one that worked is not" {
    cat >app.py <<'END'
import sys, time
end = time.process_time() + float(sys.argv[2])
while time.process_time() < end:
    sum(range(1000))
time.sleep(float(sys.argv[1]))
END
    until_sampled 'module' profiled "$PYTHON" app.py 6 0.05
    "$PYPROF" report --full | unwrapped >flat.txt
    grep -qE 'Hint: the program waited (8|9)[0-9] % of the [0-9.]+ s' flat.txt || fail "$(cat flat.txt)"
    rm -r pyprof.out
    until_sampled 'module' profiled "$PYTHON" app.py 0 0.5
    "$PYPROF" report --full | unwrapped >flat.txt
    ! grep -q 'the program waited' flat.txt || fail "$(cat flat.txt)"
    # A child that is not profiled used the CPU: the kernel has billed it to the run. On a busy machine it waits itself.
    for _ in 1 2 3 4 5; do
        rm -rf pyprof.out
        "$PYPROF" run -- "$PYTHON" -c 'import subprocess, sys
sum(range(2000000))
subprocess.run([sys.executable, "-c", "sum(range(40000000))"], env={})' 2>err.txt
        "$PYPROF" report --full | unwrapped >flat.txt
        grep -q 'the program waited' flat.txt || return 0
    done
    fail "$(cat flat.txt)"
}

@test "report of several runs: the time between them is none of the program's, in JSON, diff and after a merge too" {
    for seconds in 0.1 0.2; do
        profiled "$PYTHON" "$WORKLOADS/spin.py" "$seconds"
        sleep 0.3
    done
    for verb in info report "diff pyprof.out"; do
        # shellcheck disable=SC2086
        "$PYPROF" $verb pyprof.out --all --json >"${verb%% *}.json"
    done
    "$PYPROF" report --all >report.txt
    "$PYPROF" merge --all -o merged.pyprof
    "$PYPROF" report merged.pyprof >merged.txt
    /usr/bin/python3 - <<'END'
import json
info, report, diff = (json.load(open(name + ".json")) for name in ("info", "report", "diff"))
ran = sum(process["end_unix_ns"] - process["start_unix_ns"] for process in info["processes"])
assert len(info["processes"]) == 2 and report["end_unix_ns"] - report["start_unix_ns"] > ran, info["processes"]
assert [told["wall_ns"] for told in (info["total"], report["total"], diff["a"])] == [ran] * 3, (info["total"], ran)
for name in "report.txt", "merged.txt":
    assert f" s CPU in {ran / 1e9:.2f} s" in open(name).read(), (ran, open(name).read())
END
}

@test "report: native threads that wait in a loop are named, with the setting against it" {
    printf 'void gomp_barrier_wait(long n) { while (n-- > 0) __asm__ volatile("pause"); }\n' >spin.c
    gcc -O2 -shared -fPIC -o spin.so spin.c
    cat >app.py <<'END'
import ctypes, threading, time
spin = ctypes.CDLL("./spin.so").gomp_barrier_wait
spin.argtypes = [ctypes.c_long]

def wait():
    end = time.thread_time() + 0.6
    while time.thread_time() < end:
        spin(1000000)

thread = threading.Thread(target=wait)
thread.start()
sum(i * i for i in range(1000000))
thread.join()
END
    until_sampled 'gomp_barrier_wait' profiled "$PYTHON" app.py
    "$PYPROF" report --full | unwrapped >flat.txt
    grep -qE 'Hint: [0-9.]+ % of the CPU time went to threads .* \(gomp_barrier_wait\)\. With OMP_WAIT_POLICY=passive' flat.txt || fail "$(cat flat.txt)"
    "$PYPROF" report --full --native=none | unwrapped >flat.txt
    grep -qE 'Hint: .* \(gomp_barrier_wait\)\.' flat.txt || fail "without native functions: $(cat flat.txt)"
}

@test "report: how much ran in Python code, in the interpreter's C code and in libraries" {
    /usr/bin/python3 "$ROOT/tests/web/logs.py" example app.pyprof
    "$PYPROF" report --full app.pyprof >report.txt
    unwrapped <report.txt | grep -qF "CPU: Python code 10.1 %, Python's own C code 0.0 %, native libraries 86.7 %, [gc] 3.1 %, [unsampled] 0.1 %" ||
        fail "$(cat report.txt)"
}

@test "report into a pipe: a native name of 300 characters is cut in the middle, --json has the whole" {
    export LC_ALL=C.UTF-8
    name=first_$(printf 'x%.0s' {1..300})_last
    printf 'void %s(long n) { while (n-- > 0) __asm__ volatile("pause"); }\n' "$name" >long.c
    gcc -O2 -shared -fPIC -o long.so long.c
    cat >app.py <<END
import ctypes, time
spin = ctypes.CDLL("./long.so").$name
spin.argtypes = [ctypes.c_long]
end = time.process_time() + 0.5
while time.process_time() < end:
    spin(100000)
END
    until_sampled first_ profiled "$PYTHON" app.py
    "$PYPROF" report --full --native=all >report.txt
    grep -qE '  first_x+…x+_last \(long\.so\)$' report.txt || fail "$(cut -c 1-300 report.txt)"
    [ "$(awk '{ if (length > longest) longest = length } END { print longest }' report.txt)" -le 202 ] || fail "long rows"
    "$PYPROF" report --json | grep -qF "$name" || fail "not in JSON"
    "$PYPROF" top --count 1 --native=all >top.txt
    /usr/bin/python3 "$ROOT/tests/web/logs.py" example other.pyprof
    "$PYPROF" diff --top 100 --native=all other.pyprof pyprof.out >diff.txt
    for text in top diff; do
        grep -qE '  first_x+…x+_last \(long\.so\)$' $text.txt || fail "$text: $(cut -c 1-300 $text.txt)"
        ! awk 'length > 202 && /first_/' $text.txt | grep . || fail "$text: long rows"
    done
}

@test "--ci: the range of each share, in tables, lines and JSON" {
    served_once
    "$PYPROF" report --json >report.json
    /usr/bin/python3 - <<'END' || fail "$(head -c 3000 report.json)"
import json

report = json.load(open("report.json"))
for row in report["functions"] + report["python"] + report["packages"]:
    for what in "self", "total":
        share = row[what + "_ns"] / report["shown_ns"]
        # an estimate has no samples of its own: its interval may be narrower than its share is wide
        assert 0 <= row[what + "_low"] <= share + 1e-6 and row[what + "_high"] >= share - 1e-6, row
first = report["python"][0]
assert 0.02 < first["self_high"] - first["self_low"] < 0.5, first
END
    "$PYPROF" report --full --ci --top 3 >report.txt
    awk '/^ +SELF +95 % RANGE +TOTAL/ { found = 1; next }
        found && split($5, range, "–") == 2 { rows++; if ($3 < range[1] || $3 > range[2]) exit 1 } !NF { found = 0 }
        END { exit rows < 3 }' report.txt || fail "$(cat report.txt)"
    grep -qE '^ +SELF +TOTAL +95 % RANGE  FUNCTION OF THE APPLICATION' report.txt || fail "$(cat report.txt)"
    "$PYPROF" annotate service.py --ci >annotated.txt
    grep -qE ' % +[0-9.]+–[0-9.]+ +[0-9]+  .*pbkdf2' annotated.txt || fail "$(cat annotated.txt)"
}

@test "report: workers name their master; what runs only one thread has no table of threads" {
    cat >app.py <<'END'
import os, time

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

children = []
for _ in range(2):
    pid = os.fork()
    if not pid:
        work(0.4)
        os._exit(0)
    children.append(pid)
work(0.3)
for pid in children:
    os.waitpid(pid, 0)
END
    until_sampled 'work' profiled "$PYTHON" app.py and an argument
    "$PYPROF" report --full >report.txt
    master=$(sed -nE 's/.* ([0-9]+) .*app.py and an argument \(master\)$/\1/p' report.txt)
    [ -n "$master" ] || fail "$(cat report.txt)"
    [ "$(grep -cE " [0-9]+ worker of $master\$" report.txt)" -eq 2 ] || fail "$(cat report.txt)"
    ! grep -q 'THREAD$' report.txt || fail "$(cat report.txt)"
}

@test "report: its program as it was typed, and what to type next with the profile's path" {
    printf 'import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end:\n    sum(range(1000))\n' >app.py
    until_sampled 'module' profiled "$PYTHON" app.py 1
    "$PYPROF" report --full >report.txt
    head -n 1 report.txt | grep -qE '^python[0-9.]* app.py 1$' || fail "$(head -n 2 report.txt)"
    grep -qE '^Next: pyprof annotate app.py  ' report.txt || fail "$(tail -n 3 report.txt)"
    mv pyprof.out 'else where'
    PYPROF_OUT="else where" "$PYPROF" report --full >report.txt
    next=$(sed -nE 's/^(Next:|     ) pyprof (annotate|flame) (.*)   \(.*/\2 \3/p' report.txt)
    [ "$(wc -l <<<"$next")" -eq 2 ] || fail "$(tail -n 3 report.txt)"
    while read -r line; do
        eval "\"$PYPROF\" $line" >out.txt 2>err.txt || fail "$line: $(cat err.txt)"
    done <<<"$next"
}

# sampled FILE SAMPLES PAUSED: samples of 10 ms, and so many seconds in a pause.
sampled() {
    PYTHONPATH="$ROOT/tests/web" /usr/bin/python3 -c '
import logs, sys
log, samples = logs.Log(), int(sys.argv[2])
log.sample("MainThread", [logs.python("f")], samples * 10000000, 0, True, samples)
if int(sys.argv[3]):
    log.sample(None, [logs.pseudo("[paused]")], int(sys.argv[3]) * 1000000000, 3, None, 0)
log.write(sys.argv[1])' "$@"
}

@test "report: the range of a share is that of what was sampled, and few samples tell none; the advice is not cut" {
    sampled all.pprof 50 0
    sampled paused.pprof 50 2
    sampled few.pprof 6 0
    "$PYPROF" report all.pprof >all.txt
    "$PYPROF" report paused.pprof >paused.txt
    grep -q '^Samples: 50: 10 % is from ' all.txt || fail "$(cat all.txt)"
    diff <(grep '^Samples: ' all.txt) <(grep '^Samples: ' paused.txt) || fail "$(cat all.txt paused.txt)"
    "$PYPROF" report few.pprof >few.txt
    ! grep '^Samples: ' few.txt || fail "$(cat few.txt)"
    grep -qx 'Warning: only 6 samples: run longer, or pyprof run --hz 250' few.txt || fail "$(cat few.txt)"
}

@test "report: warnings on the first screen are whole, in lines of 80 columns at most" {
    profiled PYPROF_MAX_DISK=40K PYPROF_HZ=1e2 "$PYTHON" "$WORKLOADS/spin.py" 0.5
    for columns in pipe 60 80 200; do
        if [ $columns = pipe ]; then "$PYPROF" report; else on_terminal $columns report; fi >screen.txt
        [ $columns != 80 ] || one_screen
        ! LC_ALL=C.UTF-8 grep -E '^Warning.{74}' screen.txt || fail "wider than 80: $(cat screen.txt)"
        tr -d '\r' <screen.txt | unwrapped >flat.txt
        grep -qF 'Warning: PYPROF_MAX_DISK=40K is not a size of 1M or more (500M, 2G; 0: no limit): using 1G ' flat.txt || fail "$columns: $(cat screen.txt)"
        grep -qF 'Warning: PYPROF_HZ=1e2 is not a number from 1 to 5000 (samples per CPU second): using 100 ' flat.txt || fail "$columns: $(cat screen.txt)"
    done
}

@test "report: the accounting is one line unless something is missing" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    "$PYPROF" report --full >report.txt 2>err.txt
    [ ! -s err.txt ] || fail "stderr: $(cat err.txt)"
    grep -qE ' spin \(.*spin\.py:[0-9]+\)' report.txt || fail "no function: $(cat report.txt)"
    unwrapped <report.txt >flat.txt
    grep -qE ' [0-9.]+ % of the kernel.s [0-9.]+ s since Python.s start accounted for; the profiler used [0-9.]+ (s|ms|µs) of it \([0-9.]+ %\)' flat.txt || fail "$(cat report.txt)"
    unsampled=$("$PYPROF" info --json | /usr/bin/python3 -c 'import json, sys; total = json.load(sys.stdin)["total"]; print(int(100 * total["unsampled_ns"] / total["cpu_ns"]))')
    [ "$unsampled" -ge 4 ] || ! grep -q 'sampled [0-9.]* + unsampled' report.txt || fail "$(cat report.txt)"
}

lines_have_numbers() {
    cat >app.py <<'END'
import time

def spin(end):
    n = 0
    while time.process_time() < end:
        for i in range(1000):
            n += i
            if n & 1:
                continue
    return n

spin(time.process_time() + 0.6)
END
    touch -d '1 hour ago' app.py
    until_sampled 'spin' profiled "$PYTHON" app.py
    "$PYPROF" annotate app.py >annotated.txt
    ! grep -qE 'line unknown|^.{26} +0  ' annotated.txt || fail "$(cat annotated.txt)"
    "$PYPROF" report --full >report.txt
    ! grep -qE '^ +[0-9.]+ s +[0-9.]+ % +\?' report.txt || fail "$(cat report.txt)"
    # One figure for one function, in the report and as the sum of its lines.
    of_report=$(rows_of_json spin)
    of_lines=$(awk '$2 == "s" && $7 > 2 && $7 < 11 { sum += $3 } END { print int(sum * 10) }' annotated.txt)
    between $((of_report - 5)) "$of_lines" $((of_report + 5)) "thousandths in spin's lines; in the report"
}

# rows_of_json FUNCTION: its share of self time in thousandths.
rows_of_json() {
    "$PYPROF" report --json | judge '
report = json.load(sys.stdin)
print(int(1000 * sum(row["self_ns"] for row in report["python"] if row["text"].startswith(sys.argv[1])) / report["program_ns"]))' "$1"
}

@test "annotate: each line has a number, and its lines sum up to the function's self time in the report" {
    with_each_python lines_have_numbers
}

@test "annotate: without a file, with a directory or an unknown file it names the hottest files" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    for arguments in "" pyprof.out "nosuch.py" "nosuch.py pyprof.out"; do
        status=0
        # shellcheck disable=SC2086
        "$PYPROF" annotate $arguments >out.txt 2>err.txt || status=$?
        [ "$status" -ne 0 ] && [ ! -s out.txt ] || fail "$arguments: status $status"
        grep -qE '^ +[0-9.]+ %  spin.py$' err.txt || fail "$arguments: $(cat err.txt)"
    done
}

@test "--from ready leaves out imports, --to ready leaves these, and both have everything once" {
    echo 'import time
def use(end):
    while time.process_time() < end: pass
use(time.process_time() + 0.4)' >slow_import.py
    echo 'import slow_import
slow_import.use(slow_import.time.process_time() + 0.4)' >app.py
    profiled "$PYTHON" app.py
    "$PYPROF" report | grep -q "pyprof report imports" || fail "$("$PYPROF" report)"
    "$PYPROF" report --from ready >screen.txt
    grep -qE '^After start-up: 0\.[0-9]+ of 0\.[0-9]+ s CPU; the rest: --to ready$' screen.txt || fail "$(cat screen.txt)"
    sums() {
        "$PYPROF" export --format collapsed "$@" | awk '{sum += $NF} /_find_and_load/ {imports += $NF} END {printf "%d %d\n", sum, imports}'
    }
    read -r all imports <<<"$(sums)"
    read -r after in_after <<<"$(sums --from ready)"
    read -r before in_before <<<"$(sums --to ready)"
    [ $((before + after)) -eq "$all" ] && [ "$in_after" -eq 0 ] && [ "$in_before" -eq "$imports" ] && [ "$after" -gt $((all / 4)) ] ||
        fail "all $all $imports, after $after $in_after, before $before $in_before"
    rm -r pyprof.out
    profiled "$PYTHON" -c 'import slow_import'
    ! "$PYPROF" report --from ready 2>err.txt || fail "$("$PYPROF" report --from ready)"
    lines_of err.txt 1 'fits --from ready: no process was ever ready'
}

@test "what fits no sample names the options that were given and what there is" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.5
    refused() {
        ends_with 1 "$PYPROF" report "${@:2}" >out.txt 2>err.txt || fail "${*:2}"
        lines_of err.txt 1 "$1"
    }
    refused '^pyprof: no sample of [0-9.]+ s CPU fits --from 99s; the run took [0-9.]+ s$' --from 99
    refused "fits --pid 1 --thread none; processes: [0-9]+; threads: [^ ]+" --pid 1 --thread none
    refused "fits --focus zzz\$" --focus zzz
    refused "fits --focus foo=bar; no sample has a context or label foo; this profile has: none\$" --focus foo=bar
    refused "no sample has a context or label thread \(--thread selects threads\); this profile has: none\$" --focus '^thread=MainThread'
}

@test "report on a terminal of 80 columns: names and line numbers are whole, paths are cut in the middle" {
    export LC_ALL=C.UTF-8
    directory=a/directory/with/a/rather/long/path/in/which/the/program/lies
    mkdir -p "$directory"
    cat >"$directory/application.py" <<'END'
import time
def work_of_the_program(end):
    while time.process_time() < end:
        sum(range(1000))
work_of_the_program(time.process_time() + 0.5)
END
    until_sampled 'work_of_the_program' profiled "$PYTHON" "$directory/application.py"
    /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" 80 "$PYPROF" report --full | sed 's/\x1b\[[0-9;]*[mK]//g; s/.*\r//' >screen.txt
    grep -qE ' work_of_the_program \([^ ]*…/application\.py:2\)$' screen.txt || fail "$(cat screen.txt)"
    ! grep -vE '^pyprof: ' screen.txt | grep -E '.{81}' || fail "wider than 80: $(cat screen.txt)"
    "$PYPROF" report --full | grep -q "work_of_the_program (.*$directory/application.py:2)" || fail "cut in a pipe: $("$PYPROF" report)"
}

@test "processes of multiprocessing are told by what they do; several launches together are told as such" {
    cat >pool.py <<'CODE'
import multiprocessing
def work(n): return sum(range(n))
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(2) as pool:
        pool.map(work, [3000000] * 20)
        pool.close()
        pool.join()
CODE
    profiled "$PYTHON" pool.py
    "$PYPROF" report --full --top 20 >report.txt
    [ "$(grep -cE "[0-9]+ worker of [0-9]+ \(multiprocessing, spawned\)$" report.txt)" -eq 2 ] || fail "$(cat report.txt)"
    ! grep -q 'spawn_main(tracker' report.txt || fail "$(cat report.txt)"
    # The command that starts a worker is no code of the program.
    collapsed | grep -q '<string>:1' || fail "no worker's start was sampled"
    rows_of 'FUNCTION OF THE APPLICATION' >rows.txt
    grep -q '^work (pool.py:2)' rows.txt && ! grep '<string>' rows.txt || fail "$(cat report.txt)"
    ! grep -q ' of [0-9]* runs,' report.txt || fail "$(cat report.txt)"
    profiled "$PYTHON" -c 'sum(range(3000000))'
    "$PYPROF" report --all | grep -qE '; [0-9]+ processes of 2 runs, ' || fail "$("$PYPROF" report --all | head -n 3)"
}

# calls: writes calls.pyprof, in which callers and imports are known.
calls() {
    PYTHONPATH=$ROOT/tests/web /usr/bin/python3 - <<'END'
import logs

log = logs.Log()


def code(name, line=10, file="/srv/app/app.py"):
    return logs.python(name, file, line)


def module(file):
    return code("<module>", 1, "/usr/lib/python3.12/" + file)


load = code("_find_and_load", 1300, "<frozen importlib._bootstrap>")
main, first, second, walk, leaf = (code(name, 10 * line) for line, name in enumerate("<module> first second walk leaf".split(), 1))
for ms, frames in (
    (300, [main, first, walk]),
    (200, [main, second, walk, walk, leaf]),
    (100, [main, second, walk, walk]),
    (50, [main, second, leaf]),
    (40, [main, load, load]),
    (30, [main, load, module("json/__init__.py")]),
    (80, [main, load, module("json/__init__.py"), load, module("json/decoder.py"), leaf]),
    (20, [main, first, load, module("zipfile.py")]),
):
    log.sample("MainThread", frames, ms * 1000000, 0, True, ms // 10)
log.write("calls.pyprof")
END
}

@test "report --callers and --callees give out all that a function has in total, of a recursive one too" {
    calls
    # "seconds per cent function" of each row
    neighbours() {
        "$PYPROF" report "$@" calls.pyprof | awk '/ in total:$/ { on = 1; next } !NF { on = 0 } on { print $1, $3, $5, $6 }'
    }
    "$PYPROF" report --callers '^walk ' calls.pyprof | grep -qE '^Callers of walk \(.*\): 0.60 s, 73.2 % of the CPU time'
    "$PYPROF" report --callers 'walk (app.py:40)' calls.pyprof | grep -qE '^Callers of walk ' # as a table has it
    "$PYPROF" report --callers nonsuch calls.pyprof | grep -qF "No function matches 'nonsuch'"
    printf '0.30 50.0 first (app.py:20)\n0.30 50.0 second (app.py:30)\n' | diff <(neighbours --callers '^walk ' | sort) -
    printf '0.40 66.7 itself \n0.20 33.3 leaf (app.py:50)\n' | diff <(neighbours --callees '^walk ') -
    printf '0.82 100.0 (none: it\n' | diff <(neighbours --callers '^<module> .app') -
    "$PYPROF" report --json --callees '^walk ' calls.pyprof | judge '
assert [(row["text"], row["cpu_ns"]) for row in json.load(sys.stdin)["callees"]] == [("itself", 400000000), ("leaf (app.py:50)", 200000000)]'
}

@test "report imports: a tree of what modules cost by themselves and with what they import; all of it adds up" {
    calls
    "$PYPROF" report imports calls.pyprof | awk '/  MODULE/ { on = 1; next } !NF { on = 0 } on' >tree.txt
    diff tree.txt - <<'END'
   0.17 s  20.7 %    4.9 %  all imports
   0.11 s  13.4 %    3.7 %    json
   0.08 s   9.8 %    9.8 %      json.decoder
   0.02 s   2.4 %    2.4 %    zipfile
END
    "$PYPROF" report imports --top 1 calls.pyprof | grep -qF 'and 2 more (--top 3)'
    # What the application's own code does is not the import's.
    "$PYPROF" report calls.pyprof | grep -qE '^ +0\.09 s +11\.0 % +11\.0 %  \[imports\] +' || fail "$("$PYPROF" report calls.pyprof)"
}

@test "--hide takes frames out of all stacks, and no CPU time, in every view" {
    calls
    "$PYPROF" export --format collapsed --hide '^(walk|second) ' calls.pyprof | grep -v '^\[accounting' >stacks.txt
    ! grep -E 'walk|second' stacks.txt || fail "$(cat stacks.txt)"
    grep -qxF '<module> (app.py:10);leaf (app.py:50) 250000000' stacks.txt || fail "$(cat stacks.txt)"
    [ "$(awk '{ sum += $NF } END { print sum }' stacks.txt)" -eq 820000000 ]
    "$PYPROF" report --json --hide . calls.pyprof | judge '
report = json.load(sys.stdin)
assert [row["text"] for row in report["functions"]] == ["[code of others]"] and report["shown_ns"] == 820000000, report["functions"]'
    "$PYPROF" report --hide walk calls.pyprof 2>said.txt | grep -qF 'pyprof flame --hide walk calls.pyprof'
    [ ! -s said.txt ] || fail "$(cat said.txt)"
    "$PYPROF" report --hide waalk calls.pyprof 2>&1 >all.txt | grep -qxF "pyprof: --hide: no frame matches 'waalk'" || fail "a pattern without a match says nothing"
}

@test "--fold-recursion shows repeats of a stack once, with the innermost lines; totals and CPU stay, in every view" {
    cat >app.py <<'END'
import sys
def spin(): return sum(range(2000))
def deep(n): return spin() if n == 0 else deep(n - 1)
def even(n): return spin() if n == 0 else odd(n - 1)
def odd(n): return spin() if n == 0 else even(n - 1)
for _ in range(3000): deep(50); even(51)
END
    profiled "$PYTHON" app.py
    for fold in '' --fold-recursion; do
        # shellcheck disable=SC2086
        "$PYPROF" export --format collapsed $fold >stacks$fold.txt
        # shellcheck disable=SC2086
        "$PYPROF" report --json $fold | jq -S '[.functions[] | {text, total_ns}] | sort_by(.text)' >totals$fold.json
    done
    cmp totals.json totals--fold-recursion.json || fail "$(diff totals.json totals--fold-recursion.json)"
    [ "$(awk '{ sum += $NF } END { print sum }' stacks.txt)" -eq "$(awk '{ sum += $NF } END { print sum }' stacks--fold-recursion.txt)" ]
    grep -qE ';deep \(app\.py:3\);deep ' stacks.txt || fail "$(cat stacks.txt)"
    ! grep -E ';deep \(app\.py:3\);deep |even [^;]*;odd [^;]*;even [^;]*;odd' stacks--fold-recursion.txt || fail "a repeat"
    grep -qE '^<module> \(app\.py:1\);deep \(app\.py:3\);spin ' stacks--fold-recursion.txt || fail "$(cat stacks--fold-recursion.txt)"
    "$PYPROF" flame --fold-recursion -o flame.svg
    [ "$(grep -c 'deep (app' flame.svg)" -lt "$("$PYPROF" flame -o - --fold-recursion >/dev/null && "$PYPROF" export --format svg | grep -c 'deep (app')" ]
    "$PYPROF" report --fold-recursion >report.txt
    grep -qF 'pyprof flame --fold-recursion' report.txt || fail "$(cat report.txt)"
    ! grep -F 'annotate' report.txt | grep -F -- '--fold-recursion' || fail "annotate does not take it"
}

@test "--by line: the application's lines, with all that they call elsewhere; they and (none) add up, in every view" {
    served_once
    "$PYPROF" report --json --by line | jq -e '([.by[].cpu_ns] | add) == .shown_ns and ([.by[].value | select(. != null) | test("^(server|service)\\.py:[0-9]+$")] | all and length > 1)' >/dev/null ||
        fail "$("$PYPROF" report --json --by line | jq -c .by)"
    hottest=$("$PYPROF" report --json --by line | jq -r '.by[0].value')
    grep -qF "  $hottest " <("$PYPROF" report --by line) || fail "$hottest: $("$PYPROF" report --by line)"
    "$PYPROF" top --count 1 --by line | grep -qF "  $hottest" || fail "top: $("$PYPROF" top --count 1 --by line)"
    "$PYPROF" export --format collapsed --by line | grep -qF "$hottest;" || fail "export"
    "$PYPROF" diff --by line --top 1000 pyprof.out pyprof.out | grep -qF " $hottest" || fail "diff"
}
