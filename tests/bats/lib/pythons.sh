# shellcheck shell=bash
# Which interpreters the tests run on.

pythons_directory=$(dirname "${BASH_SOURCE[0]}")

# Those that the tests are meant to run on, whether they are here or not: lines "PATH<TAB>NAME", oldest first, PATH being
# empty when there is no such file to name. CHECK_LONG=1 is `make check-long`.
expected_pythons() {
    local minor roots=${XDG_CACHE_HOME:-$HOME/.cache}/pyprof-tests
    for minor in 3.8 3.9 3.10 3.11 3.12 3.13; do
        printf '%s\t%s\n' "$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/$minor.*/bin/python$minor" | sort -V | tail -n 1)" \
            "CPython $minor of pyenv"
    done
    printf '%s\t%s\n' /usr/bin/python3.11 "Debian 12's static python3.11"
    # See tests/roots.sh.
    if [ -n "${CHECK_LONG:-}" ]; then
        printf '%s\t%s\n' "$roots/trixie/usr/bin/python3.13" "Debian trixie's python3.13" \
            "$roots/3.13t/bin/python3.13t" "free-threaded python3.13t" \
            "$roots/sid/usr/bin/python3.14-jit" "Debian sid's python3.14 with PYTHON_JIT=1" \
            "$roots/sid/usr/bin/python3.15-jit" "Debian sid's python3.15 with PYTHON_JIT=1"
    fi
    printf '%s\t%s\n' "$roots/sid/usr/bin/python3.14" "Debian sid's python3.14" \
        "$roots/sid/usr/bin/python3.15" "Debian sid's python3.15"
}

# One line "PATH VERSION BUILD" for each that is here, like "/usr/bin/python3.11 3.11.2 static,stripped": those of $PYTHONS (a
# list separated by spaces), else those expected. $PYTHON_LINES is the answer of an earlier call, which took a second.
list_pythons() {
    local candidate candidates=()
    if [ -n "${PYTHON_LINES:-}" ] && [ -z "${PYTHONS:-}" ]; then
        echo "$PYTHON_LINES"
        return
    fi
    if [ -n "${PYTHONS:-}" ]; then
        read -ra candidates <<<"$PYTHONS"
    else
        while IFS=$'\t' read -r candidate _; do
            [ -x "$candidate" ] && candidates+=("$candidate")
        done < <(expected_pythons)
        if [ "${#candidates[@]}" -eq 0 ]; then
            candidate=$(command -v python3) && candidates+=("$candidate")
        fi
    fi
    for candidate in "${candidates[@]}"; do
        "$candidate" "$pythons_directory/python_build.py" "$candidate"
    done
}

# Of these lines of list_pythons the one for a test in which hardly anything depends on the interpreter: by the test's name,
# so that each interpreter has its share of such tests. `make check-long` runs every test on each of them.
one_for_this_test() {
    awk -v sum="$(cksum <<<"$BATS_TEST_DESCRIPTION" | cut -d' ' -f1)" '
        { line[NR - 1] = $0 }
        END { if (NR) print line[sum % NR] }'
}

# two_for_this_test: of the lines of stdin, by the test's name one of CPython up to 3.11 and one since; all if there are but three.
two_for_this_test() {
    awk -v sum="$(cksum <<<"$BATS_TEST_DESCRIPTION" | cut -d' ' -f1)" '
        { line[NR] = $0; split($2, version, "."); new = version[2] >= 12; of[new, count[new]++] = NR }
        END { for (i = 1; i <= NR; i++) if (NR < 4 || count[0] && i == of[0, sum % count[0]] || count[1] && i == of[1, sum % count[1]]) print line[i] }'
}

# matching_pythons WORDS: of those that are here, the paths of these: "3.12", "3.11.2", a path. A path may be another's.
matching_pythons() {
    local word found paths=()
    for word in $1; do
        if [[ $word == */* ]] && [ -x "$word" ]; then
            found=$word
        else
            found=$(list_pythons | awk -v word="$word" 'index($2 ".", word ".") == 1 || $1 == word { print $1 }')
        fi
        if [ -z "$found" ]; then
            printf 'no interpreter %s; there are:\n%s\n' "$word" "$(list_pythons)" >&2
            return 1
        fi
        paths+=("$found")
    done
    xargs <<<"${paths[*]}"
}
