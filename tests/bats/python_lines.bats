# Where instructions are in the source: tables decoded by the library against the interpreter's own answer for every
# instruction, and what is made of the columns.
load lib/helper

# places FILE...: compares, and prints the sums. The interpreter's options are in $OPTIONS.
places() {
    # shellcheck disable=SC2086
    "$PYTHON" ${OPTIONS:-} "$ROOT/tests/oracles/line_table.py" "$@" >lines.txt
    "$BUILD/oracles/line_table" <lines.txt | tee sums.txt
}

has_columns() {
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}

every_instruction() {
    library=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    modules=()
    for name in ast asyncio/tasks contextlib dataclasses email/message enum functools http/client pickle traceback; do
        modules+=("$library/$name.py")
    done
    places "${modules[@]}"
    units=$(grep -oE '[0-9]+ units' sums.txt | cut -d' ' -f1)
    columns=$(grep -oE '[0-9]+ of them with columns' sums.txt | cut -d' ' -f1)
    if has_columns; then
        [ "$columns" -gt $((units * 9 / 10)) ] || fail "only $columns of $units instructions have columns"
    else
        [ "$columns" -eq 0 ] || fail "$columns instructions have columns: $VERSION keeps none"
    fi
}

@test "lines and columns of every instruction of ten stdlib modules equal the interpreter's" {
    with_each_python every_instruction
}

odd_source() {
    places "$WORKLOADS/positions.py"
    if has_columns; then
        OPTIONS="-X no_debug_ranges" places "$WORKLOADS/positions.py"
        grep -q ' 0 of them with columns' sums.txt || fail "columns that the interpreter was told not to keep: $(cat sums.txt)"
    fi
}

@test "lines and columns of long, multi-line and non-ASCII expressions; without columns when there are none" {
    with_each_python odd_source
}

hot_expression() {
    cat >app.py <<'END'
import hashlib
import time

BLOCK = bytes(1 << 20)

def digest(until):
    while time.process_time() < until:
        é = len("字"); é += len(hashlib.sha256(BLOCK).hexdigest())

digest(time.process_time() + 0.5)
END
    touch -d '1 hour ago' app.py
    until_sampled 'digest' profiled "$PYTHON" app.py
    "$PYPROF" report --full >report.txt
    grep -qF 'app.py:8  é = len("字"); é += len(hashlib.sha256(BLOCK).hexdigest())' report.txt || fail "no source: $(cat report.txt)"
    # Below it, in the columns of a terminal: "字" takes two there.
    sed -n '/é = len/{n;p;}' report.txt >below.txt
    if has_columns; then
        grep -qE '^ {53}\^{21}$' below.txt || fail "hashlib.sha256(BLOCK) is not marked: $(sed -n '/LINE OF THE APP/,/^$/p' report.txt)"
    else
        ! grep -q '\^' below.txt || fail "carets without columns: $(cat below.txt)"
    fi
    # The same source, but edited since: no line of it may be shown for another.
    touch app.py
    "$PYPROF" report lines >newer.txt
    ! grep -qF 'hashlib.sha256(BLOCK)' newer.txt || fail "text of a newer file: $(cat newer.txt)"
    sed -n '/LINE OF THE APP/,/^$/p' newer.txt | grep -q newer || fail "it does not say why: $(cat newer.txt)"
    # Of two expressions of a line the costlier is marked.
    sed 's/        é = .*/        hashlib.sha256(BLOCK), hashlib.sha1(BLOCK)/' app.py >two.py
    touch -d '1 hour ago' two.py
    PYPROF_OUT=two.out profiled "$PYTHON" two.py
    "$PYPROF" report lines two.out >two.txt
    ! has_columns || sed -n '/two\.py:8 /{n;p;}' two.txt | grep -qE '^ +\^{19,21}$' || fail "$(cat two.txt)"
    # As many rows by line as there are lines.
    collapsed --lines >lines.txt
    [ "$(grep -cE 'digest \(app.py:8\) [0-9]+$' lines.txt)" -le 1 ] || fail "one line, several rows: $(cat lines.txt)"
}

@test "report marks the expression that uses CPU, from columns, unless the source is not what ran" {
    with_each_python hot_expression
}

@test "functions that cloudpickle has sent are the script's own, with its lines; without their source the application's" {
    cat >sends.py <<'END'
import time
import types

def sent(function):
    """As cloudpickle sends it: with name and lines, without its file."""
    return types.FunctionType(function.__code__.replace(co_filename="<dynamic-code>"), function.__globals__)

def fit(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(200))

fit(0.2)
sent(fit)(0.4)
exec("\n\ndef of_notebook(seconds):\n    sent(fit)(seconds)\n    fit(seconds)")
sent(of_notebook)(0.2)
END
    profiled "$PYTHON" sends.py
    "$PYPROF" report --json | judge '
rows = [row for row in json.load(sys.stdin)["functions"] if row.get("origin") == "application" and row["name"] != "<module>"]
fit, notebook = sorted(rows, key=lambda row: row["name"])
assert fit["file"].endswith("sends.py") and fit["package"] == "sends", fit
assert notebook["file"] == "<dynamic-code>", notebook'
    "$PYPROF" annotate sends.py | unwrapped >lines.txt
    grep -q 'sends.py: .* s CPU in its own lines, 9[0-9]\.[0-9] % of' lines.txt || fail "$(cat lines.txt)"
    # The script is another one by now: nothing is said of its lines.
    printf '\n%s\n' "$(cat sends.py)" >sends.py
    touch -d '1 hour ago' sends.py
    "$PYPROF" report --json | grep -q 'fit (<dynamic-code>:8)' || fail "$("$PYPROF" report)"
}

# profile_templates PACKAGE PROGRAM SECONDS: lines.txt has its stacks.
profile_templates() {
    with_packages "$1"
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$VENV/bin/python" "$WORKLOADS/$2" "$3"
    collapsed --lines --native=none >lines.txt
}

# Each function that a template calls has the template and the line of the call in its name.
of_templates() {
    profile_templates jinja2 templates.py 3
    ${READ%% *} - lines.txt <<'END'
import collections, re, sys
met = collections.Counter()
for line in open(sys.argv[1]):
    stack = re.sub(r";use \(.*| \d+\n", "", line)
    called = re.search(r";at_(\w+?)_(\d+) \([^;]*$", stack)
    caller = called and re.findall(r"[^;]+ \((?:\./)?(\w+\.html|<template>):(\d+)\)", stack)
    if called:
        assert caller and (caller[-1][0].replace(".", "_").replace("<template>", "text"), caller[-1][1]) == called.groups(), line
        # what extends a template calls it in no line that says another thing
        assert all(of == ("page.html", "1") for of, next in zip(caller, caller[1:]) if next[0] == "base.html"), line
        met[called.groups()] += 1
wanted = {("page_html", "3"), ("page_html", "6"), ("page_html", "7"), ("page_html", "11"), ("page_html", "15"), ("page_html", "19"),
          ("page_html", "21"), ("base_html", "3"), ("base_html", "5"), ("macros_html", "4"), ("part_html", "2"), ("text", "2"), ("text", "5")}
assert not wanted - set(met), wanted - set(met)
END
    # Its text is beside the lines.
    "$PYPROF" annotate page.html >page.txt
    grep -qE '^ +[0-9.]+ s .* 15 +\{\{ at_page_html_15\(\) }}' page.txt || fail "$(cat page.txt)"
    "$PYPROF" report functions | grep -qF "block 'body' (page.html:10)" || fail "$("$PYPROF" report functions)"
}

@test "lines of Jinja's templates: of blocks, macros, loops, calls, of templates that are extended or included" {
    with_pythons "$(list_pythons | grep -E ' 3\.(10|12)\.')" of_templates
}

of_mako() {
    profile_templates mako mako_templates.py 2
    ${READ%% *} - lines.txt <<'END'
import re, sys
met = set()
for line in open(sys.argv[1], encoding="utf-8"):
    stack = re.sub(r";use \(.*| \d+\n", "", line)
    called = re.search(r";at_([a-z_]+)_(\d+) \([^;]*$", stack)
    if called:
        caller = re.search(r"[( ](?:\./|déjà/)?(\w+(?:\.html)?):(\d+)\);[^;]*$", stack)
        assert caller and (caller[1].replace(".", "_"), caller[2]) == called.groups(), line
        met.add(called.groups())
wanted = {("page_html", str(line)) for line in (5, 8, 10, 13, 16, 23, 27, 28, 31, 34)} | {("base_html", "3"), ("macros_html", "4"), ("part", "2")}
assert not wanted - met, wanted - met
END
    "$PYPROF" annotate page.html >page.txt
    grep -qE '^ +[0-9.]+ s .* 10 +\$\{at_page_html_10\(\)}' page.txt || fail "$(cat page.txt)"
    "$PYPROF" report functions | grep -qF "row (page.html:7)" || fail "$("$PYPROF" report functions)"
}

@test "lines of Mako's templates, where it keeps its code in a directory" {
    with_pythons "$(list_pythons | grep -E ' 3\.(10|12)\.')" of_mako
}

# bats test_tags=long
@test "lines of Jinja's templates in each version of Python" {
    with_each_python of_templates
}

# bats test_tags=long
@test "lines of Mako's templates in each version of Python" {
    with_each_python of_mako
}
