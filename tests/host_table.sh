#!/bin/sh
# Whether every test that tests/host.md names is there, and every suite is in tests/README.md.
set -eu
cd "$(dirname "$0")/.."

status=0
# shellcheck disable=SC2016 # the backquotes are those of the table
grep -E '^\| T[0-9]+ ' tests/host.md | grep -oE '`[^`]+`' | tr -d '`' | sort -u | {
    while read -r name; do
        case $name in
        make\ * | torture) ;;
        tests/*) [ -e "$name" ] || { echo "tests/host.md names $name, which is not there" && status=1; } ;;
        *)
            grep -qF "@test \"${name#*: }" "tests/bats/${name%%: *}.bats" ||
                { echo "tests/host.md names a test that is not there: $name" && status=1; }
            ;;
        esac
    done
    for name in tests/bats/*.bats; do
        grep -q "^| $(basename "$name" .bats) |" tests/README.md || { echo "tests/README.md has no row for $name" && status=1; }
    done
    exit $status
}
