#!/bin/sh
# Profiles black, the formatter, over a part of Python's standard library, and shows where its CPU went. `make demo`.
set -eu
cd "$(dirname "$0")/.."

BUILD=${BUILD:-build}
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
PYPROF=$(realpath "$BUILD/pyprof")
unset LD_PRELOAD

# From source: black's wheels are compiled by mypyc, and then most of its Python functions are C functions.
echo "== installing black into a private environment ($BUILD/venv/demo)"
venv=$(tests/venv.sh "$BUILD/venv/demo" "$python" --no-binary=black black)
venv=$(realpath "$venv")

# Outside the checkout: black leaves alone what the .gitignore above it names.
work=$(mktemp -d "${TMPDIR:-/tmp}/pyprof-demo.XXXXXX")
mkdir "$work/source"
library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
for part in argparse.py ast.py asyncio concurrent configparser.py difflib.py; do
    cp -r "$library/$part" "$work/source/"
done
cd "$work"

echo "== pyprof run -- black --quiet --workers 2 source"
"$PYPROF" run -- "$venv/bin/black" --quiet --workers 2 source

echo
echo "== pyprof report"
"$PYPROF" report

echo
echo "Look further, in $work:"
echo "    $PYPROF flame -o black.html   # open it in a browser"
echo "    $PYPROF export -o black.pb.gz && go tool pprof -http=: black.pb.gz"
echo "    $PYPROF export --format collapsed | flamegraph.pl > black.svg"
