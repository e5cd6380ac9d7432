# The wheel and the source distribution: what they contain, and that they work as pip, pipx and uv install them.
load lib/helper

setup_file() {
    make -C "$ROOT" -s BUILD="$BUILD" wheel sdist >"$BATS_FILE_TMPDIR/make.log" 2>&1 || fail "$(tail -n 20 "$BATS_FILE_TMPDIR/make.log")"
    DIST=$BUILD/dist
    WHEEL=$(echo "$DIST"/libpyprof-*x86_64.whl)
    SDIST=$(echo "$DIST"/libpyprof-*.tar.gz)
    export DIST WHEEL SDIST
}

# needs_python VERSION: sets PYTHON to it.
needs_python() {
    PYTHON=$(matching_pythons "$1" 2>others.txt | cut -d' ' -f1)
    [ -n "$PYTHON" ] || skip "no Python $1"
    VERSION=$("$PYTHON" -c 'import platform; print(platform.python_version())')
}

# installed DIRECTORY: an environment that has the wheel, by the line that README shows, without a network.
installed() {
    "$PYTHON" -m venv --without-pip "$1"
    PIP_NO_INDEX=1 PIP_FIND_LINKS=$DIST pip_of "$1" install -q libpyprof
}

# pip_of DIRECTORY ARGUMENTS...: the interpreter's pip, in the environment: to unpack one there takes five seconds.
pip_of() {
    "$PYTHON" -m pip --disable-pip-version-check --python "$1/bin/python" "${@:2}"
}

# profiles PYPROF COMMAND...: by `pyprof run`; the report names the function.
profiles() {
    local tool=$1
    shift
    until_sampled spin env PYPROF_OUT=pyprof.out "$tool" run -- "$@" "$WORKLOADS/spin.py" 0.3
    "$tool" report pyprof.out >report.txt
    grep -q 'spin ' report.txt || fail "$(cat report.txt)"
}

# static FILE: it needs no library and no loader.
static() {
    ! readelf -lW "$1" | grep -q INTERP || fail "$1 needs a loader"
    ! readelf -d "$1" | grep -q NEEDED || fail "$1 needs libraries"
}

# for_old_glibc FILE: it needs libc.so alone, and of that nothing newer than glibc 2.17.
for_old_glibc() {
    [ "$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')" = libc.so.6 ] || fail "$1 needs $(readelf -d "$1" | grep NEEDED)"
    ! readelf -d "$1" | grep -E 'RPATH|RUNPATH|TEXTREL' || fail "$1"
    newest=$(readelf -V "$1" | grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | tail -n 1)
    [ "$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "$1 needs $newest"
}

@test "the wheel: its program is static, its library needs glibc 2.17 only, auditwheel agrees, twine has no objection, 3 MB at most" {
    [ "$(stat -c %s "$WHEEL")" -le 3000000 ] || fail "$(ls -l "$WHEEL")"
    /usr/bin/python3 -m zipfile -e "$WHEEL" wheel
    cmp wheel/*.data/data/include/pyprof.h "$ROOT/preload/pyprof.h"
    static wheel/*.data/scripts/pyprof
    for_old_glibc wheel/*.data/data/libexec/pyprof/libpyprof.so
    PYTHON=/usr/bin/python3 VERSION=any
    venv=$(venv_with auditwheel twine) || fail "$venv"
    "$venv/bin/twine" check --strict "$WHEEL" "$SDIST" >twine.txt || fail "$(cat twine.txt)"
    "$venv/bin/auditwheel" show "$WHEEL" | unwrapped >audit.txt
    grep -q 'consistent with the following platform tag: "manylinux_2_17_x86_64"' audit.txt || fail "$(cat audit.txt)"
}

@test "the wheel names what is linked into it: licences and a bill of materials" {
    /usr/bin/python3 -m zipfile -e "$WHEEL" wheel
    /usr/bin/python3 - wheel/*.dist-info <<'END'
import email, json, pathlib, sys

info = pathlib.Path(sys.argv[1])
metadata = email.message_from_string((info / "METADATA").read_text())
licences = {path.name for path in (info / "licenses").iterdir()}
assert set(metadata.get_all("License-File")) == licences, licences
bill = json.loads((info / "sboms/libpyprof.cdx.json").read_text())
parts = {part["name"]: part for part in bill["components"]}
assert set(parts) == {"libdw", "libelf", "libiberty", "libz", "liblzma", "libbz2", "libc"}, set(parts)
notice = (info / "licenses/NOTICE").read_text()
for name, part in parts.items():
    assert "copyright." + name in licences and part["version"] in notice and part["purl"].startswith("pkg:deb/"), part
    assert part["licenses"][0]["expression"] in metadata["License-Expression"], part
assert {"LICENSE", "GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3"} <= licences, licences
END
}

@test "packed once more, wheel and source distribution have the same bytes" {
    cp "$WHEEL" "$SDIST" .
    sleep 1.1 # another second in what holds times
    rm -r "$BUILD/wheel/static"
    make -C "$ROOT" -s BUILD="$BUILD" wheel sdist
    for file in "$WHEEL" "$SDIST"; do
        cmp "$file" "$(basename "$file")"
    done
}

readme_in_environment() {
    [[ $VERSION == 3.8.* || $VERSION == 3.13.* ]] || return 0
    grep -qE '^    pip install libpyprof( |$)' "$ROOT/README.md"
    installed env
    head -c 4 env/bin/pyprof | grep -q ELF || fail "pyprof is no program of its own"
    cp "$ROOT/contrib/example/app.py" .
    PATH=$PWD/env/bin:$PATH
    pyprof run -- python app.py 2>run.err || fail "$(cat run.err)"
    pyprof report functions >report.txt
    grep -q 'iterencode (json/encoder.py:' report.txt || fail "$(cat report.txt)"
    pyprof export -o app.pb.gz
    gunzip -t app.pb.gz
    python -m libpyprof flame -o app.html
    head -c 15 app.html | grep -qi doctype
    # shellcheck disable=SC2031
    LD_PRELOAD=$(pyprof library) PYPROF_OUT=preloaded python "$WORKLOADS/spin.py" 0.3
    pyprof info preloaded >info.txt
    grep -q "Python ${VERSION%.*}" info.txt || fail "$(cat info.txt)"
    [ -s env/share/man/man1/pyprof.1 ]
    mv env moved
    profiles moved/bin/pyprof "$PYTHON"
    moved/bin/python -m libpyprof info pyprof.out >/dev/null
    pip_of moved uninstall -q -y libpyprof
    ! find moved | grep -i pyprof || fail "left"
}

@test "README's lines in clean environments of 3.8 and 3.13; moved, it works; uninstalled, nothing is left" {
    with_each_python readme_in_environment
}

@test "from a path with spaces, run profiles another environment's interpreter; library says what to use" {
    needs_python 3.13
    installed "my environment"
    other=$(matching_pythons 3.8 2>others.txt) || other=$PYTHON
    profiles "my environment/bin/pyprof" "$other"
    LD_LIBRARY_PATH=/nowhere profiles "my environment/bin/pyprof" "$PYTHON"
    ! "my environment/bin/pyprof" library >out.txt 2>err.txt || fail "$(cat out.txt)"
    [ ! -s out.txt ] || fail "$(cat out.txt)"
    lines_of err.txt 1 'LD_PRELOAD cannot hold a path with a space; use: pyprof run -- COMMAND$'
}

@test "on musl pip installs the same wheel; its program runs there and profiles both libcs" {
    musl=$("$ROOT/tests/roots.sh" musl 2>err.txt) || { [ -z "${CI:-}" ] && skip "$(tail -n 1 err.txt)" || fail "$(cat err.txt)"; }
    "$musl/bin/python3.11" -m venv --without-pip env
    env/bin/python "$(echo /usr/share/python-wheels/pip-*.whl)/pip" --disable-pip-version-check install -q --no-index --find-links "$DIST" libpyprof
    profiles env/bin/pyprof env/bin/python
    profiles env/bin/pyprof "${PYTHON:-/usr/bin/python3}"
    PYPROF_OUT=module env/bin/python -m libpyprof run -- env/bin/python "$WORKLOADS/spin.py" 0.3
    env/bin/python -m libpyprof report module >report.txt
    grep -q ' spin ' report.txt || fail "$(cat report.txt)"
}

@test "pip install --target" {
    needs_python 3.12
    "$PYTHON" -m pip --disable-pip-version-check install -q --no-index --find-links "$DIST" --target target libpyprof
    profiles target/bin/pyprof "$PYTHON"
    PYTHONPATH=target "$PYTHON" -m libpyprof library >library.txt
    lines_of library.txt 1 "^$PWD/target/libexec/pyprof/libpyprof.so$"
}

@test "pip install --user" {
    needs_python 3.12
    export PYTHONUSERBASE=$PWD/user
    PIP_NO_INDEX=1 PIP_FIND_LINKS=$DIST "$PYTHON" -m pip install -q --user --no-warn-script-location libpyprof
    profiles user/bin/pyprof "$PYTHON"
    "$PYTHON" -m libpyprof library >library.txt
    lines_of library.txt 1 "^$PWD/user/libexec/pyprof/libpyprof.so$"
}

# bats test_tags=long
@test "pipx and uv: the command profiles interpreters of other environments" {
    needs_python 3.12
    venv=$(venv_with pipx uv) || fail "$venv"
    grep -q 'pipx install libpyprof, uv tool install libpyprof' "$ROOT/README.md"
    export PIPX_HOME=$PWD/pipx PIPX_BIN_DIR=$PWD/pipx-bin PATH=$venv/bin:$PATH
    pipx install -q --python "$PYTHON" "$WHEEL" >pipx.txt 2>&1 || fail "$(cat pipx.txt)"
    profiles pipx-bin/pyprof "$PYTHON"
    export UV_TOOL_DIR=$PWD/uv UV_TOOL_BIN_DIR=$PWD/uv-bin UV_CACHE_DIR=$PWD/uv-cache
    UV_NO_INDEX=1 UV_FIND_LINKS=$DIST uv tool install -q --python "$PYTHON" libpyprof >uv.txt 2>&1 || fail "$(cat uv.txt)"
    profiles uv-bin/pyprof "$PYTHON"
    uv tool uninstall -q libpyprof
    [ -z "$(ls uv-bin)" ] || fail "$(ls uv-bin)"
}

# tested OPTION...: pytest of the environment, on tests of which one fails.
tested() {
    local status=0
    PYTHONPATH=$packages env/bin/python -m pytest -p no:cacheprovider "$@" >tested.txt 2>tested.err || status=$?
    [ "$status" -eq 1 ] || fail "status $status: $(cat tested.txt tested.err)"
    grep -qE '^(=+ )?1 failed, 2 passed' tested.txt || fail "$(cat tested.txt tested.err)"
}

@test "pytest --pyprof prints the costliest tests and their hottest functions, with xdist too, and nothing unless asked" {
    needs_python 3.12
    venv=$(venv_with pytest pytest-xdist) || fail "$venv"
    packages=$(echo "$venv"/lib/python*/site-packages)
    installed env
    echo 'import sys; print("conftest is read", "ctypes" in sys.modules)' >conftest.py
    cat >test_work.py <<'END'
import time
import pytest


def spin(seconds):
    used = time.process_time()
    while time.process_time() - used < seconds:
        sum(range(1000))


@pytest.fixture
def prepared():
    spin(0.3)


def test_fixture(prepared):
    pass


def test_call():
    spin(0.3)


def test_failure():
    assert False
END
    tested -s
    grep -q 'conftest is read False' tested.txt || fail "the plugin loads more than it needs: $(cat tested.txt)"
    [ ! -e pyprof.out ] || fail "profiled unasked"
    ! grep pyprof: tested.txt tested.err || fail "a word unasked"
    tested --pyprof -s
    [ "$(grep -c 'conftest is read' tested.txt)" -eq 1 ] || fail "$(cat tested.txt)"
    grep -A2 '^=* pyprof: hottest functions of the tests =*$' tested.txt | grep -qE '^ +0\.[0-9]+ s .* spin \(test_work.py:5\)$' || fail "$(cat tested.txt)"
    grep -A2 '^=* pyprof: costliest tests =*$' tested.txt | grep -qE '^ +0\.[0-9]+ s +[0-9.]+ %  test_work.py::test_(fixture|call)$' || fail "$(cat tested.txt)"
    tested --pyprof -n 2
    grep -qE '^ +0\.[0-9]+ s +[0-9.]+ %  test_work.py::test_call$' tested.txt || fail "$(cat tested.txt)"
    grep -A2 '^=* pyprof: hottest functions of the tests =*$' tested.txt | grep -qE ' spin \(test_work.py:5\)$' || fail "$(cat tested.txt)"
    [ "$(env/bin/pyprof info --json | grep -c '"pid":')" -ge 3 ] || fail "no workers"
    PYTHONPATH=$packages env/bin/python -m pytest -p no:cacheprovider --pyprof --collect-only >tested.txt 2>&1 || fail "$(cat tested.txt)"
    grep -q '^none: no test was running' tested.txt || fail "$(cat tested.txt)"
    # What pytest.main was called by is not started again.
    ! PYTHONPATH=$packages env/bin/python -c 'import sys, pytest; print("once"); sys.exit(pytest.main(["--pyprof"]))' >main.txt 2>&1 || fail "$(cat main.txt)"
    [ "$(grep -c once main.txt)" -eq 1 ] || fail "$(cat main.txt)"
    grep -q 'pyprof run -- COMMAND' main.txt || fail "$(cat main.txt)"
}

# bats test_tags=long
@test "pyprof run -- jupyter: functions of a notebook's cells have their CPU time" {
    needs_python 3.12
    venv=$(venv_with nbclient ipykernel) || fail "$venv"
    cat >work.ipynb <<'END'
{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": [
"import time\n", "def spin(seconds):\n", "    used = time.process_time()\n",
"    while time.process_time() - used < seconds:\n", "        sum(range(1000))\n"]},
{"cell_type": "code", "execution_count": null, "id": "b", "metadata": {}, "outputs": [], "source": ["spin(0.5)"]}],
"metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}
END
    PATH=$venv/bin:$PATH IPYTHONDIR=$PWD/ipython "$PYPROF" run -- jupyter execute work.ipynb >run.txt 2>&1 || fail "$(cat run.txt)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 500000000 15 "the notebook's function"
}

# backend PYTHON-STATEMENTS: in a process in which the backend of the source distribution is imported.
backend() {
    /usr/bin/python3 -c "import sys; sys.path.insert(0, '$ROOT/contrib/python'); sys.dont_write_bytecode = True
import backend, platform
$1
backend.get_requires_for_build_wheel()"
}

@test "the source distribution says in one line what is missing, and which platforms are supported" {
    backend ''
    printf '#!/bin/sh\nexec gcc -nostdinc -I%s "$@"\n' "$PWD/include" >cc
    chmod +x cc
    mkdir -p include/elfutils
    touch include/stdio.h include/libelf.h include/zlib.h
    ! CC=$PWD/cc backend '' 2>err.txt || fail "did not miss anything"
    lines_of err.txt 1 ' lacks libdw-dev, libiberty-dev \('
    ! CC=no-such-compiler backend '' 2>err.txt || fail "did not miss anything"
    lines_of err.txt 1 ' lacks no-such-compiler '
    for other in 'sys.platform = "darwin"' 'sys.platform = "win32"' 'platform.machine = lambda: "riscv64"' 'platform.libc_ver = lambda: ("", "")'; do
        ! backend "$other" 2>err.txt || fail "$other: no word"
        lines_of err.txt 1 '^libpyprof: supported is Linux on x86-64 and AArch64 with glibc, not '
    done
    # The headers are those of the Debian packages that a build from a clone needs, but for ISA-L.
    # shellcheck disable=SC2016
    sed -n '/^if \[ "$want" != build/q; s/^need \([^ ]*-dev\) .*/\1/p' "$ROOT/tests/deps.sh" | grep -v isal | sort >needed.txt
    /usr/bin/python3 -c "import sys; sys.path.insert(0, '$ROOT/contrib/python'); sys.dont_write_bytecode = True
import backend; print(*sorted(backend.HEADERS.values()), sep='\n')" | sort | diff needed.txt -
}

# bats test_tags=long
@test "pip builds the source distribution; the program works" {
    needs_python 3.12
    "$PYTHON" -m venv env
    env/bin/pip install -q --no-index "$SDIST" >pip.txt 2>&1 || fail "$(tail -n 30 pip.txt)"
    profiles env/bin/pyprof "$PYTHON"
}

# bats test_tags=long
@test "a build in another directory gives the same wheel and source distribution" {
    git -C "$ROOT" stash create >stash.txt
    git clone -q "$ROOT" clone
    git -C clone fetch -q "$ROOT" "$(cat stash.txt)"
    git -C clone checkout -q "$(if [ -s stash.txt ]; then cat stash.txt; else echo HEAD; fi)"
    make -C clone -s -j2 BUILD=build wheel sdist
    for file in "$WHEEL" "$SDIST"; do
        cmp "$file" "clone/build/dist/$(basename "$file")"
    done
}

# bats test_tags=long
@test "the wheel for AArch64: programs of that processor, which profile Pythons of both libcs and show them under qemu-user" {
    make -C "$ROOT" -s BUILD="$BUILD" wheel-aarch64 >make.log 2>&1 || fail "$(tail -n 20 make.log)"
    /usr/bin/python3 -m zipfile -e "$DIST"/libpyprof-*aarch64.whl wheel
    debian=$("$ROOT/tests/roots.sh" arm64 | tail -n 1)
    musl=$("$ROOT/tests/roots.sh" arm64-musl | tail -n 1)
    [[ $(echo "$DIST"/libpyprof-*aarch64.whl) == *manylinux_2_17_aarch64.musllinux_1_2_aarch64.whl ]] || fail "$(ls "$DIST")"
    library=$(echo "$PWD"/wheel/*.data/data/libexec/pyprof/libpyprof.so)
    tool=$(echo wheel/*.data/scripts/pyprof)
    for file in "$tool" "$library"; do
        readelf -h "$file" | grep -q 'Machine: *AArch64' || fail "$file"
    done
    static "$tool"
    for_old_glibc "$library"
    chmod +x "$tool"
    for python in "$debian/usr/bin/python3.11" "$musl/bin/python3.13"; do
        rm -rf out
        qemu-aarch64-static -E LD_PRELOAD="$library" -E PYPROF_OUT=out "$python" "$WORKLOADS/spin.py" 1 >spin.txt
        qemu-aarch64-static "$tool" report out >report.txt
        grep -qE '^ +[0-9.]+ s +[5-9][0-9]\.. %.*  spin ' report.txt || fail "$(cat report.txt)"
    done
}
