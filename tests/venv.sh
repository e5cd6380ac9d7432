#!/bin/sh
# Makes a private Python environment with the named packages and prints its directory:
#     tests/venv.sh DIRECTORY PYTHON PACKAGE...
# Does nothing when that has been done before. What is kept for every checkout, beside the interpreters of roots.sh, is made
# again after two weeks, with the packages of that day.
set -eu

directory=$(realpath -m "$1") # its scripts name it
python=$2
shift 2
stamp=$directory/installed

# Whether a script of the environment names an interpreter that is gone: it was made elsewhere.
is_moved() {
    for script in "$directory"/bin/*; do
        [ ! -L "$script" ] || continue
        read -r line <"$script" || true
        case $line in
        '#!'/*python*) [ -x "${line#??}" ] || return 0 ;;
        esac
    done
    return 1
}

is_old() {
    case $directory in
    */pyprof-tests/venv/*) [ -n "$(find "$stamp" -mtime +13)" ] ;;
    *) false ;;
    esac
}

# Two suites may want the same one at once.
mkdir -p "$(dirname "$directory")"
exec 9>"$directory.lock"
flock 9

if [ "$(cat "$stamp" 2>/dev/null || true)" != "$python $*" ] || is_moved || is_old; then
    rm -rf "$directory"
    mkdir -p "$directory"
    log=$directory.log
    # The interpreter's own pip, where it has one that can: to unpack another takes five seconds.
    pip="$python -m pip --python $directory/bin/python"
    without=--without-pip
    if ! "$python" -m pip --python "$python" --version >"$log" 2>&1; then
        pip="$directory/bin/python -m pip"
        without=
    fi
    # shellcheck disable=SC2086 # words
    if ! { "$python" -m venv $without "$directory" &&
        $pip install --quiet --disable-pip-version-check "$@"; } >"$log" 2>&1 9>&-; then
        tail -n 20 "$log" >&2
        echo "tests/venv.sh: could not install into $directory: $*" >&2
        exit 1
    fi
    echo "$python $*" >"$stamp"
fi
echo "$directory"
